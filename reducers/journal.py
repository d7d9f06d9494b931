"""Mappings that can be taken back.

A run's folded state is large and a turn changes little of it. It is changed in place, and each change leaves what
undoes it in a journal: a refused event, or a commit that failed, is taken back to a mark, at the cost of what it
changed. (An undo log, as in databases with in-place updates; the other way, copying what is about to change, costs a
copy of the largest mapping a turn.)
"""

from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

_ABSENT: Any = object()


class Journal:
    """The changes since it was last cleared, newest last."""

    __slots__ = ("_changes",)

    def __init__(self) -> None:
        self._changes: list[tuple[dict[Any, Any], Any, Any]] = []

    def note(self, mapping: dict[Any, Any], key: Any, before: Any) -> None:
        """Note what stood under a key, just before it changes."""
        self._changes.append((mapping, key, before))

    def mark(self) -> int:
        """Where the journal stands now."""
        return len(self._changes)

    def undo(self, mark: int = 0) -> None:
        """Take back every change since a mark. The order of keys in a mapping may differ afterwards."""
        while len(self._changes) > mark:
            mapping, key, before = self._changes.pop()
            if before is _ABSENT:
                dict.__delitem__(mapping, key)
            else:
                dict.__setitem__(mapping, key, before)

    def clear(self) -> None:
        """Forget the changes: they hold."""
        self._changes.clear()

    def changed(self, table: "Table[K, V]", since: int = 0) -> Iterator[tuple[K, V | None, V | None]]:
        """Each key of a table that differs from what it held at a mark, with that and what it holds (None: nothing)."""
        first: dict[K, Any] = {}
        for mapping, key, before in self._changes[since:]:
            if mapping is table:
                first.setdefault(key, before)
        for key, before in first.items():
            old = None if before is _ABSENT else before
            new = table.get(key)
            if old is not new:
                yield key, old, new


class Table(dict[K, V], Generic[K, V]):
    """A dict that notes its changes. Only ``put`` and ``drop`` change it."""

    __slots__ = ("_journal",)

    def __init__(self, journal: Journal) -> None:
        super().__init__()
        self._journal = journal

    def put(self, key: K, value: V) -> None:
        """Set a key."""
        self._journal.note(self, key, self.get(key, _ABSENT))
        dict.__setitem__(self, key, value)

    def drop(self, key: K) -> V:
        """Remove a key that is there, and return what it held."""
        value = self[key]
        self._journal.note(self, key, value)
        dict.__delitem__(self, key)
        return value


class Groups(Generic[K, V]):
    """Sets of values by key, that note their changes; an empty set is not there."""

    __slots__ = ("_journal", "_sets")

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._sets: Table[K, Table[V, None]] = Table(journal)

    def add(self, key: K, value: V) -> None:
        """Put a value into the set of a key."""
        members = self._sets.get(key)
        if members is None:
            members = Table(self._journal)
            self._sets.put(key, members)
        members.put(value, None)

    def discard(self, key: K, value: V) -> None:
        """Take a value that is there out of the set of a key."""
        members = self._sets[key]
        members.drop(value)
        if not members:
            self._sets.drop(key)

    def __getitem__(self, key: K) -> Iterable[V]:
        """The values of a key, which may be none. Copy them before changing anything."""
        return self._sets.get(key, ())

    def __contains__(self, key: K) -> bool:
        return key in self._sets
