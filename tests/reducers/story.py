"""A run told as a story: planned item by item, each turn held to what folding its records gives."""

from collections.abc import Iterable
from typing import Any

from looms.reducers.definitions import Definition
from looms.reducers.entries import Entry, unpack_entry
from looms.reducers.events import Event
from looms.reducers.fold import fold
from looms.reducers.folded import FoldedRun
from looms.reducers.items import Delivery, EffectAnswer, EffectGaveUp, Item, Letter, Start, TimerFired
from looms.reducers.modules import Module
from looms.reducers.plan import Accepted, Limits, Outcome, Refused, plan
from looms.reducers.records import Record, record
from looms.reducers.registry import Registry
from looms.reducers.views import RunState, view

BEGIN = 1_700_000_000_000


class Story:
    """One run, and what happens to it.

    Args:
        definition: what the run is of.
        modules: the code.
        input: what it starts with.
        limits: how much it may hold.

    Attributes:
        log: its records, as bytes.
        now: the time; a test moves it.
        run: the run as planned.
    """

    def __init__(
        self,
        definition: Definition[Any, Any, Any],
        modules: Iterable[Module],
        input: Any = None,
        limits: Limits | None = None,
    ) -> None:
        self.code = Registry(modules)
        self.definition = definition
        self.limits = limits or Limits()
        self.now = BEGIN
        self.log: list[bytes] = []
        self.known: dict[str, int] = {}
        self.run = FoldedRun("r1", 1, definition.name)
        self.begun = self.give(Start(definition.pack_input(input)[0]))

    def give(self, *items: Item) -> Outcome:
        """Plan a turn of these items. Returns what became of the last one that was tried."""
        turn = plan(self.run, items, self.code, self.now, self.limits, self.known)
        self.log += [entry.pack() for entry in turn.entries]
        for item, outcome in zip(items, turn.outcomes, strict=False):
            if isinstance(item, Delivery) and item.key is not None and isinstance(outcome, Accepted):
                self.known[item.key] = outcome.seq
        if self.log:
            assert view(self.folded()) == view(self.run)
        return turn.outcomes[-1]

    def tell(self, *events: Event, key: str | None = None) -> Outcome:
        """Somebody signals events, and waits for the answer."""
        return self.give(Delivery(tuple(self.letter(event) for event in events), key=key, to_caller=True))

    def refusal(self, *events: Event) -> Exception:
        """Somebody signals events that are refused. Returns the error that they get; nothing has changed."""
        before = view(self.run)
        outcome = self.tell(*events)
        assert isinstance(outcome, Refused), outcome
        assert view(self.run) == before
        return outcome.error

    def answer(self, effect: tuple[int, int], *events: Event, final: bool = True, position: int = 0) -> Outcome:
        """An effect's handler answers, or emits on the way."""
        return self.give(EffectAnswer(effect, tuple(self.letter(event) for event in events), final, position))

    def give_up(self, effect: tuple[int, int]) -> Outcome:
        """An effect uses up its attempts."""
        return self.give(EffectGaveUp(effect, "Flood", "too much water", 3))

    def fire(self, thread: str, id: str) -> Outcome:
        """The deadline of a wait comes."""
        key = self.run.waits.with_id(thread, id)
        assert key is not None
        due = self.run.waits.by_key[key].due
        assert due is not None
        self.now = max(self.now, due)
        return self.give(TimerFired(key))

    def letter(self, event: Event) -> Letter:
        """An event as it is sent."""
        kind = self.code.event_of(event)
        return Letter(kind.name, kind.version, kind.pack(event)[0])

    def entries(self) -> list[Entry]:
        """The log, read back."""
        return [unpack_entry(data, self.code) for data in self.log]

    @property
    def records(self) -> list[Record]:
        """The log, as users see it."""
        return [record(entry, self.run.run_id) for entry in self.entries()]

    @property
    def state(self) -> RunState:
        """The run, as users see it."""
        return view(self.run)

    def folded(self, upto: int | None = None) -> FoldedRun:
        """The run as its log folds it."""
        run = FoldedRun(self.run.run_id, self.run.number, self.definition.name)
        for entry in self.entries()[:upto]:
            fold(run, entry, self.code)
        return run

    @property
    def types(self) -> list[str]:
        """The types of the records."""
        return [entry.row.type for entry in self.entries()]

    @property
    def open(self) -> list[tuple[str, str]]:
        """The open waits, oldest first: thread and id."""
        return [(wait.thread, wait.id) for wait in self.state.waits]
