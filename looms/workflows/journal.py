"""The journal: what a workflow asked for, in order, and what became of it. It is the state of a workflow's thread."""

from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import field

from looms.reducers.state import State
from looms.workflows import chunks
from looms.workflows.chunks import Chunks

Kind: TypeAlias = Literal[
    "run",
    "wait",
    "sleep",
    "emit",
    "signal",
    "publish",
    "spawn",
    "store",
    "get",
    "select",
    "update",
    "update_from",
    "delete_from",
    "when",
    "take",
]

Status: TypeAlias = Literal["open", "done", "failed", "cancelled"]


class JournalEntry(msgspec.Struct, frozen=True, gc=False):
    """A step: what was asked for, and how it ended.

    Attributes:
        key: what tells it from the others of its generation.
        kind: what was asked for.
        name: of the function, effect, definition or store, or the types of the events.
        status: ``open`` until it has ended.
        value: what it gave, as plain data; of one that failed its error, message and attempts.
        error: ``NAME: MESSAGE`` of one that failed.
        form: of what a selector selected, what its plain data does not tell (``looms.stores.values``).
    """

    key: str
    kind: Kind
    name: str
    status: Status = "open"
    value: Any = None
    error: str | None = None
    form: Any = None


CANCELLING = -1
"""The place of what is no step: the run was asked to end."""


class Settled(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A step that ended, and when: ``place`` in the journal, from 0, ``at`` in milliseconds since 1970."""

    place: int
    at: int


class Journal(State, frozen=True, dict=True):
    """What a workflow has asked for in this generation.

    Attributes:
        generation: from 1; 0 before it begins.
        ids: the run's id, and from how many settled steps on: a fork has an id of its own.
        input: what this generation began with, as plain data.
        seed: what its random numbers come from.
        began: when it did, in milliseconds since 1970.
        asked: the entries, in chunks.
        settled: which of them ended, in the order in which they did, in chunks; what ends as it is asked, and what the
            workflow itself cancels, is left out. ``CANCELLING`` where the run was asked to end.
        versions: what ``ctx.version`` answered.
        cancelled: why the run is to end, when it was asked to.
    """

    generation: int = 0
    ids: tuple[tuple[int, str], ...] = ()
    input: Any = None
    seed: str = ""
    began: int = 0
    asked: Chunks[JournalEntry] = ()
    settled: Chunks[Settled] = ()
    versions: dict[str, int] = field(default_factory=dict)
    cancelled: str | None = None

    def __shown__(self) -> Any:
        return _Shown(self.generation, self.input, self.entries, self.versions, self.cancelled)

    def __compared__(self) -> Any:
        entries = {e.key: _ComparedEntry(e.kind, e.name, e.status, e.value, e.error) for e in self.entries}
        return _Compared(self.generation, self.input, entries, self.versions, self.cancelled)

    @property
    def entries(self) -> tuple[JournalEntry, ...]:
        """The steps, in the order in which they were asked."""
        return tuple(chunks.things(self.asked))


class _Shown(msgspec.Struct, frozen=True):
    generation: int
    input: Any
    entries: tuple[JournalEntry, ...]
    versions: dict[str, int]
    cancelled: str | None


class _ComparedEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    kind: Kind
    name: str
    status: Status
    value: Any = None
    error: str | None = None


class _Compared(msgspec.Struct, frozen=True):
    generation: int
    input: Any
    entries: dict[str, _ComparedEntry]
    versions: dict[str, int]
    cancelled: str | None


class AskedStep(msgspec.Struct, frozen=True, array_like=True):
    """A step as it is asked."""

    kind: Kind
    key: str
    name: str

    @property
    def entry(self) -> JournalEntry:
        """Its entry: what only has to be decided is done as it is asked."""
        return JournalEntry(self.key, self.kind, self.name, "done" if self.kind in AT_ONCE else "open")


AT_ONCE = ("emit", "signal", "publish")


class Asked(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a workflow asked for in one decision; it is the note that the decision is recorded with.

    Attributes:
        steps: the new steps.
        cancelled: the places of those that it cancelled.
        versions: what ``ctx.version`` answered.
    """

    steps: tuple[AskedStep, ...] = ()
    cancelled: tuple[int, ...] = ()
    versions: dict[str, int] = field(default_factory=dict)


NOTHING = Asked()


def begun(before: Journal, run_id: str, input: Any, seed: str, at: int) -> Journal:
    """The journal of the next generation, or of the first."""
    return Journal(before.generation + 1, ((0, run_id),), input, seed, at)


def of_run(journal: Journal, run_id: str) -> Journal:
    """The journal when the run has this id from its next record on."""
    if journal.ids[-1][1] == run_id:
        return journal
    return _after(journal, ids=(*journal.ids, (chunks.count(journal.settled) + 1, run_id)))


def settled(journal: Journal, place: int, entry: JournalEntry, at: int) -> Journal:
    """The journal when a step of it has ended.

    Args:
        journal: the journal before.
        place: of the step, from 0.
        entry: as it is now.
        at: when, in milliseconds since 1970.
    """
    return _after(
        journal,
        asked=chunks.changed(journal.asked, place, entry),
        settled=chunks.added(journal.settled, Settled(place, at)),
    )


def changed(journal: Journal, place: int, entry: JournalEntry) -> Journal:
    """The journal when there is more to say of a step that has not ended."""
    return _after(journal, asked=chunks.changed(journal.asked, place, entry))


def cancelling(journal: Journal, reason: str, at: int) -> Journal:
    """The journal when the run was asked to end."""
    return _after(journal, cancelled=reason, settled=chunks.added(journal.settled, Settled(CANCELLING, at)))


def asking(journal: Journal, asked: Asked) -> Journal:
    """The journal when the workflow has asked for more."""
    if asked == NOTHING:
        return journal
    entries, places = journal.asked, journal.__dict__.get(_PLACES, {})
    for place, step in enumerate(asked.steps, chunks.count(entries)):
        entries = chunks.added(entries, step.entry)
        places[step.key] = place
    for place in asked.cancelled:
        entries = chunks.changed(entries, place, msgspec.structs.replace(chunks.at(entries, place), status="cancelled"))
    return _after(journal, asked=entries, versions={**journal.versions, **asked.versions})


def place_of(journal: Journal, key: str) -> int | None:
    """Where a step that is open stands; None where there is none of that key.

    Which key stands where is remembered beside the journal, and goes on from each journal to the next. What it says is
    looked at before it is believed, for a turn that is taken back leaves its own there.
    """
    places: dict[str, int] | None = journal.__dict__.get(_PLACES)
    place = None if places is None else places.get(key)
    if place is None or place >= chunks.count(journal.asked) or chunks.at(journal.asked, place).key != key:
        places = {entry.key: place for place, entry in enumerate(chunks.things(journal.asked))}
        journal.__dict__[_PLACES] = places
        place = places.get(key)
    return place if place is not None and chunks.at(journal.asked, place).status == "open" else None


_PLACES = "places"


def _after(journal: Journal, **changes: Any) -> Journal:
    after = msgspec.structs.replace(journal, **changes)
    if _PLACES in journal.__dict__:
        after.__dict__[_PLACES] = journal.__dict__[_PLACES]
    return after
