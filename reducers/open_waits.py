"""The open waits of a run: found by id, by thread, and by what an event holds, never by scanning."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

import msgspec

from looms.reducers.entries import Entry
from looms.reducers.journal import Groups, Journal, Table
from looms.reducers.matching import Shape, Values, contains, shape_of, todays_match, todays_shape, values_at

WaitKey: TypeAlias = tuple[int, int]
"""Where a wait was made: the seq of the record, and the index of the instruction in it. Older waits are smaller."""


NOTHING_RENAMED: Mapping[str, str] = MappingProxyType({})


class OpenWait(msgspec.Struct, frozen=True):
    """A condition that a thread is parked on."""

    key: WaitKey
    thread: str
    id: str
    types: tuple[str, ...]
    match: dict[str, Any]
    due: int | None
    group: str | None

    def shape(self) -> tuple[Shape, Values]:
        """The paths that its match names, and the values at them."""
        return shape_of(self.match)


class OpenWaits:
    """All open waits of one run.

    Args:
        journal: where changes are noted.
    """

    def __init__(self, journal: Journal) -> None:
        self.by_key: Table[WaitKey, OpenWait] = Table(journal)
        self._by_id: Table[tuple[str, str], WaitKey] = Table(journal)
        self._by_thread: Groups[str, WaitKey] = Groups(journal)
        self._by_group: Groups[tuple[str, str], WaitKey] = Groups(journal)
        self._naming: Groups[tuple[str, str], WaitKey] = Groups(journal)
        self._shapes: Groups[str, Shape] = Groups(journal)
        self._shaped: Groups[tuple[str, Shape], WaitKey] = Groups(journal)
        self._meeting: Groups[tuple[str, Shape, Values], WaitKey] = Groups(journal)

    def add(self, wait: OpenWait) -> None:
        """Open a wait whose id is free in its thread."""
        self.by_key.put(wait.key, wait)
        self._by_id.put((wait.thread, wait.id), wait.key)
        self._by_thread.add(wait.thread, wait.key)
        if wait.group is not None:
            self._by_group.add((wait.thread, wait.group), wait.key)
        shape, values = wait.shape()
        for type in set(wait.types):
            self._naming.add((wait.thread, type), wait.key)
            if (type, shape) not in self._shaped:
                self._shapes.add(type, shape)
            self._shaped.add((type, shape), wait.key)
            self._meeting.add((type, shape, values), wait.key)

    def retire(self, key: WaitKey) -> None:
        """Close a wait that is open."""
        wait = self.by_key.drop(key)
        self._by_id.drop((wait.thread, wait.id))
        self._by_thread.discard(wait.thread, key)
        if wait.group is not None:
            self._by_group.discard((wait.thread, wait.group), key)
        shape, values = wait.shape()
        for type in set(wait.types):
            self._naming.discard((wait.thread, type), key)
            self._meeting.discard((type, shape, values), key)
            self._shaped.discard((type, shape), key)
            if (type, shape) not in self._shaped:
                self._shapes.discard(type, shape)

    def settle(self, key: WaitKey) -> None:
        """Close a wait that was met or timed out, and with it the others of its group."""
        wait = self.by_key[key]
        alternatives = [key] if wait.group is None else list(self._by_group[(wait.thread, wait.group)])
        for other in alternatives:
            self.retire(other)

    def of_thread(self, thread: str) -> list[WaitKey]:
        """The waits of a thread."""
        return list(self._by_thread[thread])

    def with_id(self, thread: str, id: str) -> WaitKey | None:
        """The wait of a thread with that id."""
        return self._by_id.get((thread, id))

    def names(self, thread: str, types: tuple[str, ...]) -> bool:
        """Whether a wait of the thread names one of these event types."""
        return any((thread, type) in self._naming for type in types)

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
        for type in types:
            for shape in self._shapes[type]:
                payload = given.current
                values = values_at(payload, todays_shape(shape, called))
                if values is None:
                    continue
                for key in self._meeting[(type, shape, values)]:
                    wait = self.by_key[key]
                    other = found.get(wait.thread)
                    if (other is None or key < other.key) and contains(payload, todays_match(wait.match, called)):
                        found[wait.thread] = wait
        return found
