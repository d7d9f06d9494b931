"""A run as its log folds it: its threads and their states, waits, outstanding effects, mailbox, and how it ended.

It is changed in place by ``fold`` and ``plan`` alone, through a journal that can take everything back.
"""

from typing import Any, Literal, TypeAlias

import msgspec

from looms.reducers.entries import Entry
from looms.reducers.forks import Forks, held_at, whose
from looms.reducers.journal import Groups, Journal, Table
from looms.reducers.open_waits import OpenWaits
from looms.reducers.records import effect_id

ROOT = "root"

BEGINNING = (0, 0)
"""Where the root is born: before anything that a record could ask for."""

EffectKey: TypeAlias = tuple[int, int]
"""Where an effect was asked for: the seq of the record, and the index of the instruction in it."""

Ending: TypeAlias = Literal["completed", "failed", "cancelled"]


class Thread(msgspec.Struct, frozen=True, gc=False):
    """A state machine inside a run."""

    id: str
    kind: str
    parent: str | None
    born: tuple[int, int]  # where it was spawned: they are told in this order, and apart from later ones of their id
    state: Any  # None where today's code was not asked for it


class Outstanding(msgspec.Struct, frozen=True, gc=False):
    """An effect that was asked for and has not ended."""

    key: EffectKey
    effect: str
    thread: str
    request: Any
    emitted: tuple[int, ...] = ()  # the seqs of what its handler has emitted
    held: bool = False
    id: str | None = None  # what its thread calls it


class Cancelling(msgspec.Struct, frozen=True, gc=False):
    """A run that was asked to end, and ends by itself or at ``due``."""

    seq: int
    due: int
    reason: str


class End(msgspec.Struct, frozen=True, gc=False):
    """How a run ended."""

    status: Ending
    output: Any = None
    error: str | None = None


class FoldedRun:
    """The state of one run.

    Attributes:
        run_id: the run's id.
        number: the run's number in its store.
        definition: the root's definition.
        forks: where its past is from, when that is another run's.
        again: another run had its id before, and was deleted.
        seq: the last record's seq; 0 before the first.
        at: the last record's time, in milliseconds since 1970.
        end: how the run ended, once it has.
        cancelling: the grace that the run was given, while it lasts.
    """

    def __init__(self, run_id: str, number: int, definition: str, forks: Forks = (), *, again: bool = False) -> None:
        self.run_id = run_id
        self.number = number
        self.definition = definition
        self.forks = forks
        self.again = again
        self.journal = Journal()
        self.threads: Table[str, Thread] = Table(self.journal)
        self.children: Groups[str, str] = Groups(self.journal)
        self.waits = OpenWaits(self.journal)
        self.effects: Table[EffectKey, Outstanding] = Table(self.journal)
        self.effects_of: Groups[str, EffectKey] = Groups(self.journal)
        self.effects_called: Table[tuple[str, str], EffectKey] = Table(self.journal)  # by thread and its id for it
        self.mailbox: Table[int, Entry] = Table(self.journal)
        self.seq = 0
        self.at = 0
        self.end: End | None = None
        self.cancelling: Cancelling | None = None

    def _set(self, name: str, value: Any) -> None:
        """Change an attribute so that the journal can take it back, as it does with what is in a table."""
        self.journal.note((self.__dict__, name, getattr(self, name)))
        setattr(self, name, value)

    def effect_id(self, key: EffectKey) -> str:
        """The id of an effect that it asked for."""
        return effect_id(self.run_id, *key, self.number if self.again else None)

    @property
    def root(self) -> Thread:
        """The root thread; it stays when the run is over."""
        return self.threads[ROOT]

    @property
    def status(self) -> str:
        """``running``, ``waiting``, or how it ended."""
        if self.end is not None:
            return self.end.status
        if self.effects and not all(effect.held for effect in self.effects.values()):
            return "running"
        return "waiting"

    def advance(self, seq: int, at: int) -> None:
        """Note the next record's place and time."""
        note, mine = self.journal.note, self.__dict__
        note((mine, "seq", self.seq))
        note((mine, "at", self.at))
        self.seq, self.at = seq, at

    def finish(self, end: End) -> None:
        """End the run: all that still waits, runs or is a child ends with it."""
        self.clear(ROOT)
        self.set_cancelling(None)
        self._set("end", end)

    def restore_end(self, end: End) -> None:
        """Note how a run ended whose waits, effects and children are gone already."""
        self._set("end", end)

    def set_cancelling(self, cancelling: Cancelling | None) -> None:
        """Begin a grace, or end it."""
        if cancelling is not self.cancelling:
            self._set("cancelling", cancelling)

    def add_thread(self, thread: Thread) -> None:
        """Begin a thread."""
        self.threads.put(thread.id, thread)
        if thread.parent is not None:
            self.children.add(thread.parent, thread.id)

    def child(self, parent: str, id: str) -> Thread | None:
        """The child of a thread that was spawned under an id."""
        found = self.threads.get(f"{parent}/{id}")
        return found if found is not None and found.parent == parent else None

    def is_alive(self, thread: Thread) -> bool:
        """Whether a thread is not over; one that has its id since then is another."""
        now = self.threads.get(thread.id)
        return now is not None and now.born == thread.born

    def set_state(self, id: str, state: Any) -> None:
        """Give a thread its next state."""
        thread = self.threads[id]
        if state is not thread.state:
            self.threads.put(id, msgspec.structs.replace(thread, state=state))

    def clear(self, id: str) -> None:
        """End all that a thread waits for and has begun."""
        for child in list(self.children.of(id)):
            self.remove(child)
        self._clear(id)

    def remove(self, id: str) -> None:
        """End a child: its waits, its effects, its mail and its own children go with it."""
        self.clear(id)
        for seq in [seq for seq, entry in self.mailbox.items() if entry.more.thread == id]:
            self.mailbox.drop(seq)  # nobody else may take it
        thread = self.threads.drop(id)
        if thread.parent is not None:
            self.children.discard(thread.parent, id)

    def add_effect(self, effect: Outstanding) -> None:
        """Begin an effect."""
        self.effects.put(effect.key, effect)
        self.effects_of.add(effect.thread, effect.key)
        if effect.id is not None:
            self.effects_called.put((effect.thread, effect.id), effect.key)

    def hold_effect(self, key: EffectKey, held: bool) -> None:
        """Hold an outstanding effect, or let it go."""
        effect = self.effects[key]
        if effect.held is not held:
            self.effects.put(key, msgspec.structs.replace(effect, held=held))

    def hold_as_forked(self) -> None:
        """Hold all effects, or let them go, where this is the seq that the run was forked at."""
        held = held_at(self.forks, self.seq)
        if held is not None:
            for key in self.effects:
                self.hold_effect(key, held)

    def become_fork(self, run_id: str, number: int, forks: Forks, *, again: bool = False) -> None:
        """Go on as a fork of this run, from its last record on."""
        self.run_id, self.number, self.forks, self.again = run_id, number, forks, again
        self.hold_as_forked()
        self.journal.clear()

    def whose(self, seq: int) -> tuple[str, int | None]:
        """The run in which the record at a seq happened: its id, and its number where its effects' ids end in it."""
        return whose(self.forks, self.run_id, self.number if self.again else None, seq)

    def id_at(self, seq: int) -> str:
        """The id of the run in which the record at a seq happened: of a fork's past, that of another run."""
        return self.whose(seq)[0] if self.forks else self.run_id

    def effect_called(self, thread: str, id: str) -> EffectKey | None:
        """The effect of a thread that it calls by an id."""
        return self.effects_called.get((thread, id))

    def end_effect(self, key: EffectKey) -> None:
        """End an effect."""
        effect = self.effects.drop(key)
        self.effects_of.discard(effect.thread, key)
        if effect.id is not None:
            self.effects_called.drop((effect.thread, effect.id))

    def _clear(self, thread: str) -> None:
        for wait in self.waits.of_thread(thread):
            self.waits.retire(wait)
        for effect in list(self.effects_of.of(thread)):
            self.end_effect(effect)
