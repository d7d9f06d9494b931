"""Drafts of dicts."""

from collections.abc import Iterator, MutableMapping
from operator import is_
from typing import Any, Self

from looms.reducers.changes import Path
from looms.stores.drafting import Draft, Drafting, became
from looms.stores.kinds import own
from looms.stores.stand_ins import DictStandIn, is_stand_in, plain

_NOTHING: Any = object()


class DictDraft(Draft, DictStandIn, MutableMapping[Any, Any]):
    """A dict, with all that a dict can do. Its keys are values: a draft that is used as one counts as it is then."""

    __slots__ = ("_looms_moved", "_looms_now", "_looms_put")

    def __init__(self, work: Drafting, base: dict[Any, Any], *, given: bool) -> None:
        super().__init__(work, base, given=given)
        self._looms_now: dict[Any, Any] | None = base if given else None
        self._looms_put: dict[Any, None] = {}
        self._looms_moved = False

    def _looms_whole(self) -> dict[Any, Any]:
        self._looms_work.check()
        now = self._looms_now
        return self._looms_base if now is None else now

    def _looms_own(self) -> dict[Any, Any]:
        self._looms_work.check()
        if self._looms_now is None:
            self._looms_now = dict(self._looms_base)
        return self._looms_now

    def __iter__(self) -> Iterator[Any]:
        return iter(self._looms_own())  # so that Python sees it when it grows meanwhile

    def _looms_has(self, key: Any) -> bool:
        return key in self._looms_whole()

    def _looms_part(self, key: Any) -> Any:
        value = self._looms_whole()[key]
        part = self._looms_work.part(value, self._looms_given)
        if part is not value and not self._looms_given:
            self._looms_own()[key] = part
        return part

    def __setitem__(self, key: Any, value: Any) -> None:
        key = own(plain(key)) if is_stand_in(key) else key
        self._looms_own()[key] = self._looms_taken(value)
        self._looms_put[key] = None

    def __delitem__(self, key: Any) -> None:
        del self._looms_own()[key]
        self._looms_put[key] = None

    def popitem(self) -> tuple[Any, Any]:
        if not self._looms_whole():
            raise KeyError("popitem(): dictionary is empty")
        key = next(reversed(self._looms_whole()))
        return key, self.pop(key)

    def clear(self) -> None:
        self._looms_own().clear()
        self._looms_moved = True

    def __ior__(self, other: Any) -> Self:
        self.update(other)
        return self

    def _looms_become(self, path: Path | None) -> Any:
        base, now, work = self._looms_base, self._looms_now, self._looms_work
        if now is None:
            return base
        new = {
            key: became(work.part(value, given=True), base.get(key, _NOTHING), path, key) for key, value in now.items()
        }
        alike = len(new) == len(base) and all(map(is_, new, base)) and all(map(is_, new.values(), base.values()))
        return base if alike else new

    def _looms_written(self, path: Path) -> list[Path]:
        return [*([path] if self._looms_moved else []), *((*path, key) for key in self._looms_put)]
