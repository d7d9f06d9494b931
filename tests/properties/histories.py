"""Histories of runs of the scripted application: generated as moves, and played turn by turn.

A move says which of the run's waits or effects it is about by a number, so that it means something whatever the run
has by then: `Fire(3)` is the timer of the fourth wait, counted around.
"""

from collections.abc import Callable
from random import Random
from typing import Any, Literal, TypeAlias, TypeVar

import msgspec
from hypothesis import strategies as st

from looms.reducers.codec import encode
from looms.reducers.entries import Entry, unpack_entry
from looms.reducers.events import Event
from looms.reducers.fold import fold
from looms.reducers.folded import FoldedRun
from looms.reducers.items import (
    CancelAsked,
    Delivery,
    EffectAnswer,
    EffectGaveUp,
    Found,
    GraceOver,
    Item,
    Letter,
    Look,
    SignalReturned,
    Start,
    TimerFired,
)
from looms.reducers.plan import Accepted, Limits, Turn, plan
from looms.reducers.registry import Registry
from tests.properties.exact import exact
from tests.properties.scripted import (
    CODE,
    REACTIONS,
    TOPICS,
    Ask,
    Botch,
    Drop,
    Finish,
    GiveUp,
    LookFor,
    Order,
    Raise,
    Say,
    Script,
    Shout,
    Sleep,
    SpawnOne,
    Tell,
    Topic,
    WaitFor,
    Withdraw,
)

T = TypeVar("T")

BEGIN = 1_700_000_000_000
TIGHT = Limits(mailbox=3, records=40)


class Deliver(msgspec.Struct, frozen=True):
    events: tuple[Event, ...]
    key: str | None = None
    to_caller: bool = True


class Fire(msgspec.Struct, frozen=True):
    wait: int
    early: bool = False


class Find(msgspec.Struct, frozen=True):
    """A joint turn finds what a wait looks for; with ``nothing`` it only looks."""

    wait: int
    value: Any = None
    nothing: bool = False
    of_a_run: bool = True


class Answer(msgspec.Struct, frozen=True):
    effect: int
    events: tuple[Event, ...]
    final: bool = True
    again: bool = False


class Break(msgspec.Struct, frozen=True):
    effect: int


class Cancel(msgspec.Struct, frozen=True):
    grace: float
    at_once: bool = False


class EndGrace(msgspec.Struct, frozen=True):
    right: bool


class Return(msgspec.Struct, frozen=True):
    thread: int


Move: TypeAlias = Deliver | Fire | Find | Answer | Break | Cancel | EndGrace | Return


class History(msgspec.Struct, frozen=True):
    """How a run starts, and the moves of each turn, with the milliseconds that pass before it."""

    kind: Literal["teller", "listener"]
    script: Script
    turns: tuple[tuple[int, tuple[Move, ...]], ...]


# Writing. With a `Random` and weights, not with strategies for each part: these lean to what is small and to
# repetition, and then most runs are over before anything meets.


class Author:
    """Writes histories.

    Args:
        random: where its ideas come from.
    """

    def __init__(self, random: Random) -> None:
        self._random = random
        self._one = random.choice

    def history(self, turns: int) -> History:
        """A history of so many turns."""
        return History(
            self._one(("teller", "teller", "teller", "listener")),
            Script(self.orders(2, 4), self.reactions(1, 5)),
            tuple((self._one((-5, 0, 1, 1_000)), self._some(self.move, 1, 3)) for _ in range(turns)),
        )

    def orders(self, depth: int, most: int = 3) -> tuple[Order, ...]:
        """What a thread is to do, nested no deeper than that."""
        asked = self._some(lambda: self.order(depth), 0, most)
        if depth > 0 and self._rare(12):
            asked = (*asked, *self.successor(depth - 1))
        return asked if self._random.random() < 0.96 else (*asked, self.ending())

    def order(self, depth: int) -> Order:
        """One order that ends nothing."""
        writers: list[tuple[int, Callable[[], Order]]] = [
            (8, self.wait),
            (3, lambda: Sleep(self._one(SECONDS), self.id())),
            (3, lambda: LookFor(self._one(ABOUT), self._one(("x", "y", "p", "q", "s")), self._one((None, *SECONDS)))),
            (3, lambda: Ask("fetch", self.body())),
            (1, lambda: Ask("weigh", self._one((0, 1, 2)))),
            (2, lambda: Drop(self._one(("x", "x", "y", "y", "1:0", "1.0")), self._one(ABOUT))),
            (1, lambda: Tell(self._one(("r2", "r3")), self.body())),
            (1, lambda: Shout(self.body())),
        ]
        if depth > 0:
            writers += [(5, lambda: self.saying(depth - 1)), (5, lambda: self.child(depth - 1))]
        return self._weighted(writers)()

    def ending(self) -> Order:
        """An order that ends a thread, or that cannot be followed."""
        return self._one(
            (Finish(self.body()), Finish(self.body()), GiveUp("tired"), Withdraw("no"), Raise("boom"), Botch())
        )

    def wait(self) -> Order:
        """A wait, seldom for what a teller does not handle."""
        handled: tuple[tuple[Topic, ...], ...] = (("said",), ("noted",), ("said", "noted"), ("said", "said"))
        topics: tuple[Topic, ...] = ("hummed",) if self._rare(25) else self._one(handled)
        match: dict[str, Any] = {}
        if self._random.random() < 0.7:
            match["about"] = self._one(ABOUT)
        if self._random.random() < 0.2:
            match["body"] = self.body()
        timeout = self._one((None, *SECONDS))
        return WaitFor(topics, match, timeout, self.id(), self._one((None, None, "g")))

    def saying(self, depth: int) -> Order:
        """An event that is emitted."""
        return Say(self.topic(), self._one(ABOUT), self.body(), self.orders(depth))

    def child(self, depth: int) -> SpawnOne:
        """A child; half of them end at once."""
        begin = self.orders(depth)
        if self._random.random() < 0.4:
            begin = (*begin, self._one((Finish(self.body()), Finish(self.body()), GiveUp("small"), Withdraw("shy"))))
        return SpawnOne(self._one(("teller", "listener")), Script(begin, self.reactions(depth, 2)), self.id())

    def successor(self, depth: int) -> tuple[Order, ...]:
        """A child in place of one of the same id, which may be just as new."""
        first, second = (msgspec.structs.replace(self.child(depth), id="x") for _ in range(2))
        return self._one(((Drop("x"), first), (first, Drop("x"), second)))

    def reactions(self, depth: int, most: int) -> dict[str, tuple[Order, ...]]:
        """What to do on events of the runtime."""
        return {name: self.orders(depth, 2) for name in self._some(lambda: self._one(REACTIONS), 0, most)}

    def event(self, depth: int) -> Event:
        """An event that is sent."""
        return TOPICS[self.topic()](self._one(ABOUT), self.body(), self.orders(depth))

    def move(self) -> Move:
        """Something that happens to a run."""
        number = self._random.randrange(4)
        writers: list[tuple[int, Callable[[], Move]]] = [
            (12, lambda: Deliver((self.event(2),))),
            (
                3,
                lambda: Deliver(
                    self._some(lambda: self.event(1), 1, 3), self._one((None, "k1", "k2")), self._one(BOTH)
                ),
            ),
            (8, lambda: Fire(number, self._rare(5) == 1)),
            (5, lambda: Find(number, self.body(), self._rare(4) == 1, self._one(BOTH))),
            (6, lambda: Answer(number, self._some(lambda: self.event(1), 0, 2), self._one(BOTH), self._rare(3) == 1)),
            (2, lambda: Break(number)),
            (1, lambda: Return(number)),
            (1, lambda: EndGrace(self._one(BOTH))),
        ]
        if self._rare(40):
            return Cancel(self._one((0, 30)), self._one(BOTH))
        return self._weighted(writers)()

    def topic(self) -> Topic:
        return self._one(("said", "said", "noted", "noted", "hummed"))

    def id(self) -> str | None:
        return self._one((None, None, None, None, "x", "y"))

    def body(self) -> Any:
        return self._one(BODIES)

    def _some(self, write: Callable[[], T], least: int, most: int) -> tuple[T, ...]:
        return tuple(write() for _ in range(self._random.randint(least, most)))

    def _weighted(self, writers: list[tuple[int, Callable[[], T]]]) -> Callable[[], T]:
        return self._random.choices([write for _, write in writers], [weight for weight, _ in writers])[0]

    def _rare(self, of: int) -> int:
        """1 once in so many times, else 0."""
        return int(self._random.randrange(of) == 0)


ABOUT = ("a", "b")
BOTH = (True, False)
SECONDS = (-1, 0, 0.001, 1, 2.5)
BODIES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, 1.0, 1.5, "1", "", "é"),
    *({}, [], {"k": 1}, {"k": True}, {"k": {"n": None}}, [1], [True], [{"k": 1}], [[], {}]),
)

histories: st.SearchStrategy[History] = st.builds(
    lambda random, turns: Author(random).history(turns), st.randoms(use_true_random=True), st.integers(2, 16)
)


# Playing


def letter(event: Event, code: Registry = CODE) -> Letter:
    """An event as it is sent."""
    kind = code.event_of(event)
    return Letter(kind.name, kind.version, kind.pack(event)[0])


def item(move: Move, run: FoldedRun) -> Item:
    """What a move is to a run as it stands now."""
    match move:
        case Deliver(events=events, key=key, to_caller=to_caller):
            letters = tuple(letter(event) for event in events)
            if to_caller:
                return Delivery(letters, key=key, to_caller=True)
            return Delivery(letters, "run", sender=("r9", 7), sender_thread="root")
        case Fire(wait=number):
            return TimerFired(_pick([w.key for w in run.waits.by_key.values() if w.due is not None], number))
        case Find(wait=number, value=value, nothing=nothing, of_a_run=of_a_run):
            wait = _pick([wait.key for wait in run.waits.by_key.values() if wait.joint is not None], number)
            return Look(wait) if nothing else Found(wait, value, ("r9", 7) if of_a_run else None)
        case Answer(effect=number, events=events, final=final, again=again):
            effect = _pick(list(run.effects), number)
            emitted = len(run.effects[effect].emitted) if effect in run.effects else 0
            return EffectAnswer(
                effect, tuple(letter(event) for event in events), final, 0 if again else emitted, to_caller=again
            )
        case Break(effect=number):
            return EffectGaveUp(_pick(list(run.effects), number), "Flood", "too much water", 3)
        case Cancel(grace=grace, at_once=at_once):
            return CancelAsked("closing", grace, at_once)
        case EndGrace(right=right):
            return GraceOver(run.cancelling.seq if run.cancelling is not None and right else 99)
        case Return(thread=number):
            threads = sorted(run.threads)
            return SignalReturned(run.seq, threads[number % len(threads)], "r2", "talk.said", "it is over")


def time_of(moves: tuple[Move, ...], run: FoldedRun, now: int) -> int:
    """When these moves happen: a timer that is not early fires at its time or later."""
    due = [
        wait.due
        for move in moves
        if isinstance(move, Fire) and not move.early
        for wait in run.waits.by_key.values()
        if wait.due is not None
    ]
    return max([now, *due])


def _pick(keys: list[tuple[int, int]], number: int) -> tuple[int, int]:
    return sorted(keys)[number % len(keys)] if keys else (99, 0)


class Played:
    """A run that a history is played on.

    Attributes:
        run: the run as it was planned.
        log: its records as bytes.
        entries: its records as they were planned.
        now: the time.
        known: the idempotency keys that are taken.
    """

    def __init__(self, history: History) -> None:
        self.history = history
        self.run = new_run(history)
        self.log: list[bytes] = []
        self.entries: list[Entry] = []
        self.now = BEGIN
        self.known: dict[str, int] = {}

    def start(self) -> Turn:
        """The turn in which the run begins; when it is refused there is no run."""
        return self.turn([Start(encode(self.history.script))])

    def turn(self, items: list[Item]) -> Turn:
        """Plan a turn, and put its records into the log."""
        turn = plan(self.run, items, CODE, self.now, TIGHT, self.known)
        self.log += [entry.pack() for entry in turn.entries]
        self.entries += turn.entries
        for one, outcome in zip(items, turn.outcomes, strict=False):
            if isinstance(one, Delivery) and one.key is not None and isinstance(outcome, Accepted):
                self.known[one.key] = outcome.seq
        return turn

    def items(self, passed: int, moves: tuple[Move, ...]) -> list[Item]:
        """The items of the next turn, and let its time come."""
        self.now = time_of(moves, self.run, self.now + passed)
        return [item(move, self.run) for move in moves]

    def play(self) -> bool:
        """Play the whole history. Returns whether there is a run."""
        if not isinstance(self.start().outcomes[0], Accepted):
            return False
        for passed, moves in self.history.turns:
            self.turn(self.items(passed, moves))
        return True


def new_run(history: History) -> FoldedRun:
    """The run of a history, before its first record."""
    return FoldedRun("r1", 1, f"talk.{history.kind}")


def folded(log: list[bytes], run: FoldedRun, code: Registry | None = CODE) -> FoldedRun:
    """Fold what is in a log into a run."""
    for data in log:
        fold(run, unpack_entry(data, code), code)
    return run


def normal(run: FoldedRun) -> Any:
    """All that is true of a run, in one order: two runs with equal normal forms are the same."""
    return {
        "seq": run.seq,
        "at": run.at,
        "threads": {id: exact(thread) for id, thread in sorted(run.threads.items())},
        "waits": {key: exact(wait) for key, wait in sorted(run.waits.by_key.items())},
        "effects": {key: exact(effect) for key, effect in sorted(run.effects.items())},
        "mailbox": {seq: entry.pack() for seq, entry in sorted(run.mailbox.items())},
        "cancelling": exact(run.cancelling),
        "end": exact(run.end),
    }
