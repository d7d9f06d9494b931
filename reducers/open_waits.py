"""The open waits of a run: found by id, by thread, and by what an event holds, without looking at the others."""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

import msgspec

from looms.reducers.entries import Entry
from looms.reducers.journal import Groups, Journal, Table
from looms.reducers.matching import Shape, Values, contains, shape_of, todays_match, todays_shape, values_at

WaitKey: TypeAlias = tuple[int, int]
"""Where a wait was made: the seq of the record, and the index of the instruction in it. Older waits are smaller."""


NOTHING_RENAMED: Mapping[str, str] = MappingProxyType({})


FEW = 8
"""So many waits are looked through as fast as they are found by an index."""


class OpenWait(msgspec.Struct, frozen=True, gc=False):
    """A condition that a thread is parked on."""

    key: WaitKey
    thread: str
    id: str
    types: tuple[str, ...]
    match: dict[str, Any]
    due: int | None
    group: str | None
    joint: str | None = None  # what it looks at, where it is met in a joint turn

    def is_for(self, types: tuple[str, ...]) -> bool:
        """Whether it names one of these event types."""
        return any(type in types for type in self.types)

    def shape(self) -> tuple[Shape, Values]:
        """The paths that its match names, and the values at them."""
        return shape_of(self.match)


class Index:
    """What many waits are found by."""

    __slots__ = ("by_group", "by_id", "by_thread", "meeting", "naming", "shaped", "shapes")

    def __init__(self, journal: Journal) -> None:
        self.by_id: Table[tuple[str, str], WaitKey] = Table(journal)
        self.by_thread: Groups[str, WaitKey] = Groups(journal)
        self.by_group: Groups[tuple[str, str], WaitKey] = Groups(journal)
        self.naming: Groups[tuple[str, str], WaitKey] = Groups(journal)
        self.shapes: Groups[str, Shape] = Groups(journal)
        self.shaped: Groups[tuple[str, Shape], WaitKey] = Groups(journal)
        self.meeting: Groups[tuple[str, Shape, Values], WaitKey] = Groups(journal)

    def add(self, wait: OpenWait) -> None:
        """Have a wait found."""
        self.by_id.put((wait.thread, wait.id), wait.key)
        self.by_thread.add(wait.thread, wait.key)
        if wait.group is not None:
            self.by_group.add((wait.thread, wait.group), wait.key)
        shape, values = wait.shape()
        for type in set(wait.types):
            self.naming.add((wait.thread, type), wait.key)
            if (type, shape) not in self.shaped:
                self.shapes.add(type, shape)
            self.shaped.add((type, shape), wait.key)
            self.meeting.add((type, shape, values), wait.key)

    def discard(self, wait: OpenWait) -> None:
        """Have it found no more."""
        self.by_id.drop((wait.thread, wait.id))
        self.by_thread.discard(wait.thread, wait.key)
        if wait.group is not None:
            self.by_group.discard((wait.thread, wait.group), wait.key)
        shape, values = wait.shape()
        for type in set(wait.types):
            self.naming.discard((wait.thread, type), wait.key)
            self.meeting.discard((type, shape, values), wait.key)
            self.shaped.discard((type, shape), wait.key)
            if (type, shape) not in self.shaped:
                self.shapes.discard(type, shape)

    def meeting_values(self, types: tuple[str, ...], given: Entry, called: Mapping[str, str]) -> Iterator[WaitKey]:
        """The waits with the values that an event has at the paths of their match."""
        for type in types:
            for shape in self.shapes.of(type):
                values = values_at(given.current, todays_shape(shape, called))
                if values is not None:
                    yield from self.meeting.of((type, shape, values))


class OpenWaits:
    """All open waits of one run.

    A few are looked through. From so many on that this would be felt they are found by an index, which costs memory
    that most runs can do without.

    Args:
        journal: where changes are noted.
        few: how many are looked through.
    """

    def __init__(self, journal: Journal, few: int = FEW) -> None:
        self._journal = journal
        self._few = few
        self.by_key: Table[WaitKey, OpenWait] = Table(journal)
        self._index: Index | None = None

    def add(self, wait: OpenWait) -> None:
        """Open a wait whose id is free in its thread."""
        self.by_key.put(wait.key, wait)
        if self._index is not None:
            self._index.add(wait)
        elif len(self.by_key) > self._few:
            self._journal.note((self.__dict__, "_index", None))  # taken back as a whole
            self._index = Index(self._journal)
            for one in self.by_key.values():
                self._index.add(one)

    def retire(self, key: WaitKey) -> None:
        """Close a wait that is open."""
        wait = self.by_key.drop(key)
        if self._index is not None:
            self._index.discard(wait)

    def settle(self, key: WaitKey) -> None:
        """Close a wait that was met or timed out, and with it the others of its group."""
        wait = self.by_key[key]
        for other in [key] if wait.group is None else self._alternatives(wait.thread, wait.group):
            self.retire(other)

    def _alternatives(self, thread: str, group: str) -> list[WaitKey]:
        if self._index is not None:
            return list(self._index.by_group.of((thread, group)))
        return [key for key, wait in self.by_key.items() if wait.thread == thread and wait.group == group]

    def of_thread(self, thread: str) -> list[WaitKey]:
        """The waits of a thread."""
        if self._index is not None:
            return list(self._index.by_thread.of(thread))
        return [key for key, wait in self.by_key.items() if wait.thread == thread]

    def with_id(self, thread: str, id: str) -> WaitKey | None:
        """The wait of a thread with that id."""
        if self._index is not None:
            return self._index.by_id.get((thread, id))
        for key, wait in self.by_key.items():
            if wait.id == id and wait.thread == thread:
                return key
        return None

    def names(self, thread: str, types: tuple[str, ...]) -> bool:
        """Whether a wait of the thread names one of these event types."""
        if not self.by_key:
            return False
        if self._index is not None:
            return any((thread, type) in self._index.naming for type in types)
        return any(wait.thread == thread and wait.is_for(types) for wait in self.by_key.values())

    def met_by(
        self, types: tuple[str, ...], given: Entry, called: Mapping[str, str] = NOTHING_RENAMED
    ) -> dict[str, OpenWait]:
        """By thread, the oldest of its waits that a record's event meets.

        Args:
            types: the event's name, and those it had before: a wait that was made then is for the same event.
            given: the record.
            called: the fields of the event that were renamed, and what they are called today.
        """
        found: dict[str, OpenWait] = {}
        if not self.by_key:
            return found
        for wait in self._candidates(types, given, called):
            other = found.get(wait.thread)
            if (other is None or wait.key < other.key) and contains(given.current, todays_match(wait.match, called)):
                found[wait.thread] = wait
        return found

    def _candidates(self, types: tuple[str, ...], given: Entry, called: Mapping[str, str]) -> Iterable[OpenWait]:
        """The waits that an event of a type may meet."""
        if self._index is None:
            return [wait for wait in self.by_key.values() if wait.is_for(types)]
        return [self.by_key[key] for key in self._index.meeting_values(types, given, called)]
