"""Drafts of lists, and of tuples with something in them that can be changed."""

from collections.abc import Iterable
from itertools import chain, repeat
from operator import is_
from typing import Any, Self, SupportsIndex

from looms.reducers.changes import Path
from looms.stores.drafting import Draft, Drafting, became
from looms.stores.stand_ins import ListStandIn, TupleStandIn


class ListDraft(Draft, ListStandIn):
    """A list, with all that a list can do."""

    __slots__ = ("_looms_moved", "_looms_now", "_looms_put")

    def __init__(self, work: Drafting, base: list[Any], *, given: bool) -> None:
        super().__init__(work, base, given=given)
        self._looms_now: list[Any] | None = base if given else None  # what the updater has made is changed itself
        self._looms_put: set[int] = set()
        self._looms_moved = False

    def _looms_raw(self) -> list[Any]:
        """Its items: scalars, drafts, and what nobody has looked into."""
        self._looms_work.check()
        now = self._looms_now
        return self._looms_base if now is None else now

    def _looms_own(self) -> list[Any]:
        """The same, to be changed."""
        self._looms_work.check()
        if self._looms_now is None:
            self._looms_now = list(self._looms_base)
        return self._looms_now

    def _looms_whole(self) -> list[Any]:
        if not self._looms_given:
            return self._looms_raw()
        return [self._looms_work.part(item, given=True) for item in self._looms_raw()]

    def _looms_part(self, key: int) -> Any:
        item = self._looms_raw()[key]
        part = self._looms_work.part(item, self._looms_given)
        if part is not item and not self._looms_given:
            self._looms_own()[key] = part
        return part

    def __len__(self) -> int:
        return len(self._looms_raw())

    def __setitem__(self, at: Any, value: Any) -> None:
        own = self._looms_own()
        if isinstance(at, slice):
            own[at] = [self._looms_taken(item) for item in value]
            self._looms_moved = True
        else:
            own[at] = self._looms_taken(value)
            self._looms_put.add(range(len(own))[at])

    def __delitem__(self, at: Any) -> None:
        own = self._looms_own()
        before = len(own)
        del own[at]
        if isinstance(at, slice) or range(before)[at] != before - 1:
            self._looms_moved = True
        else:
            self._looms_put.add(before - 1)

    def append(self, item: Any) -> None:
        own = self._looms_own()
        self._looms_put.add(len(own))
        own.append(self._looms_taken(item))

    def extend(self, items: Iterable[Any]) -> None:
        for item in list(items):
            self.append(item)

    def insert(self, at: SupportsIndex, item: Any) -> None:
        self._looms_own().insert(at, self._looms_taken(item))
        self._looms_moved = True

    def pop(self, at: SupportsIndex = -1) -> Any:
        if not self._looms_raw():
            raise IndexError("pop from empty list")
        item = self[at]
        del self[at]
        return item

    def remove(self, item: Any) -> None:
        del self[self.index(item)]

    def clear(self) -> None:
        self._looms_own().clear()
        self._looms_moved = True

    def reverse(self) -> None:
        self._looms_own().reverse()
        self._looms_moved = True

    def sort(self, *, key: Any = None, reverse: bool = False) -> None:
        parts = self._looms_parts()
        order = sorted(range(len(parts)), key=lambda at: parts[at] if key is None else key(parts[at]), reverse=reverse)
        own = self._looms_own()
        own[:] = [own[at] for at in order]
        self._looms_moved = True

    def copy(self) -> list[Any]:
        return self._looms_parts()

    __copy__ = copy

    def __iadd__(self, items: Iterable[Any]) -> Self:  # type: ignore[misc]
        self.extend(items)
        return self

    def __imul__(self, times: SupportsIndex) -> Self:
        self[:] = self * times
        return self

    def _looms_become(self, path: Path | None) -> Any:
        base, now, work = self._looms_base, self._looms_now, self._looms_work
        if now is None:
            return base
        if self._looms_given:
            new = [became(work.part(item, given=True), item, path, at) for at, item in enumerate(now)]
        else:
            olds = chain(base, repeat(None))
            new = [
                item if item is old else became(item, old, path, at)
                for at, (item, old) in enumerate(zip(now, olds, strict=False))
            ]
        return base if len(new) == len(base) and all(map(is_, new, base)) else new

    def _looms_written(self, path: Path) -> list[Path]:
        return [*([path] if self._looms_moved else []), *((*path, at) for at in self._looms_put)]


class TupleDraft(Draft, TupleStandIn):
    """A tuple: its parts can be changed, but no other one put in their place."""

    __slots__ = ("_looms_open",)

    def __init__(self, work: Drafting, base: tuple[Any, ...], *, given: bool) -> None:
        super().__init__(work, base, given=given)
        self._looms_open: dict[int, Any] = {}

    def _looms_part(self, key: int) -> Any:
        self._looms_work.check()
        item = self._looms_base[key]
        if self._looms_given:
            return self._looms_work.part(item, given=True)
        if key not in self._looms_open:
            self._looms_open[key] = self._looms_work.part(item, given=False)
        return self._looms_open[key]

    def _looms_whole(self) -> tuple[Any, ...]:
        return tuple(self._looms_part(at) for at in range(len(self)))

    def __len__(self) -> int:
        self._looms_work.check()
        return len(self._looms_base)

    def _looms_become(self, path: Path | None) -> Any:
        base = self._looms_base
        parts = dict(enumerate(map(self._looms_part, range(len(base))))) if self._looms_given else self._looms_open
        new = list(base)
        for at, part in parts.items():
            new[at] = became(part, base[at], path, at)
        if all(map(is_, new, base)):
            return base
        return type(base)._make(new) if hasattr(type(base), "_make") else tuple(new)

    def _looms_written(self, path: Path) -> list[Path]:
        return []
