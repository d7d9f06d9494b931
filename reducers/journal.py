"""Mappings that can be taken back.

A run's folded state is large and a turn changes little of it. It is changed in place, and each change leaves what
undoes it in a journal: a refused event, or a commit that failed, is taken back to a mark, at the cost of what it
changed. (An undo log, as in databases with in-place updates; the other way, copying what is about to change, costs a
copy of the largest mapping a turn.)
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeAlias, TypeVar

K = TypeVar("K")
V = TypeVar("V")

_ABSENT: Any = object()


Change: TypeAlias = tuple[dict[Any, Any], Any, Any]
"""A mapping, a key that is about to change in it, and what stands under that key before."""


class Journal:
    """The changes since it was last cleared, newest last.

    Attributes:
        note: takes a ``Change``, just before it is made.
    """

    __slots__ = ("_changes", "note")

    def __init__(self) -> None:
        # Three items for each, not a tuple of them: the garbage collector has nothing to look at.
        self._changes: list[Any] = []
        self.note: Callable[[Change], None] = self._changes.extend

    def mark(self) -> int:
        """Where the journal stands now."""
        return len(self._changes)

    def undo(self, mark: int = 0) -> None:
        """Take back every change since a mark. The order of keys in a mapping may differ afterwards."""
        changes = self._changes
        for at in range(len(changes) - 3, mark - 1, -3):
            mapping, key, before = changes[at : at + 3]
            if before is _ABSENT:
                dict.__delitem__(mapping, key)
            else:
                dict.__setitem__(mapping, key, before)
        del changes[mark:]

    def clear(self) -> None:
        """Forget the changes: they hold."""
        self._changes.clear()

    def concerns(self, since: int, *tables: dict[Any, Any]) -> bool:
        """Whether any of some tables was changed since a mark."""
        for mapping in self._changes[since::3]:
            for table in tables:
                if mapping is table:
                    return True
        return False

    def changed(self, table: "Table[K, V]", since: int = 0) -> Iterator[tuple[K, V | None, V | None]]:
        """Each key of a table that differs from what it held at a mark, with that and what it holds (None: nothing)."""
        first: dict[K, Any] = {}
        changes = self._changes
        for at in range(since, len(changes), 3):
            if changes[at] is table:
                first.setdefault(changes[at + 1], changes[at + 2])
        for key, before in first.items():
            old = None if before is _ABSENT else before
            new = table.get(key)
            if old is not new:
                yield key, old, new


class Table(dict[K, V], Generic[K, V]):
    """A dict that notes its changes. Only ``put`` and ``drop`` change it."""

    __slots__ = ("_note",)

    def __init__(self, journal: Journal) -> None:
        super().__init__()
        self._note = journal.note

    def put(self, key: K, value: V) -> None:
        """Set a key."""
        self._note((self, key, self.get(key, _ABSENT)))
        dict.__setitem__(self, key, value)

    def drop(self, key: K) -> V:
        """Remove a key that is there, and return what it held."""
        value = self[key]
        self._note((self, key, value))
        dict.__delitem__(self, key)
        return value


class Groups(Table[K, Table[V, None]], Generic[K, V]):
    """Sets of values by key, that note their changes; an empty set is not there. Copy one before changing anything."""

    __slots__ = ("_journal",)

    def __init__(self, journal: Journal) -> None:
        super().__init__(journal)
        self._journal = journal

    def add(self, key: K, value: V) -> None:
        """Put a value into the set of a key."""
        members = self.get(key)
        if members is None:
            members = Table(self._journal)
            self.put(key, members)
        members.put(value, None)

    def discard(self, key: K, value: V) -> None:
        """Take a value that is there out of the set of a key."""
        members = self[key]
        members.drop(value)
        if not members:
            self.drop(key)

    def of(self, key: K) -> Iterable[V]:
        """The values of a key, which may be none."""
        return self.get(key, ())
