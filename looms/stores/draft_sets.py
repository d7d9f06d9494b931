"""Drafts of sets."""

from collections.abc import Iterable, Iterator, MutableSet
from typing import Any, Self

from looms.reducers.changes import Path
from looms.reducers.sameness import same
from looms.stores.drafting import Draft, Drafting
from looms.stores.kinds import own
from looms.stores.stand_ins import SetStandIn, is_stand_in, plain


class SetDraft(Draft, SetStandIn, MutableSet[Any]):
    """A set, with all that a set can do. Its members are values: a draft that is added counts as it is then."""

    __slots__ = ("_looms_now", "_looms_put")

    def __init__(self, work: Drafting, base: set[Any], *, given: bool) -> None:
        super().__init__(work, base, given=given)
        self._looms_now: set[Any] | None = base if given else None
        self._looms_put = False

    def _looms_whole(self) -> set[Any]:
        self._looms_work.check()
        now = self._looms_now
        return self._looms_base if now is None else now

    def _looms_own(self) -> set[Any]:
        self._looms_work.check()
        if self._looms_now is None:
            self._looms_now = set(self._looms_base)
        self._looms_put = True
        return self._looms_now

    def __iter__(self) -> Iterator[Any]:
        put = self._looms_put
        own = self._looms_own()  # so that Python sees it when it grows meanwhile
        self._looms_put = put
        return iter(own)

    def add(self, member: Any) -> None:
        self._looms_own().add(_value(member))

    def discard(self, member: Any) -> None:
        self._looms_own().discard(_value(member))

    def remove(self, member: Any) -> None:
        self._looms_own().remove(_value(member))

    def pop(self) -> Any:
        return self._looms_own().pop()

    def clear(self) -> None:
        self._looms_own().clear()

    def update(self, *others: Iterable[Any]) -> None:
        self._looms_own().update(*map(_values, others))

    def intersection_update(self, *others: Iterable[Any]) -> None:
        self._looms_own().intersection_update(*map(_values, others))

    def difference_update(self, *others: Iterable[Any]) -> None:
        self._looms_own().difference_update(*map(_values, others))

    def symmetric_difference_update(self, other: Iterable[Any]) -> None:
        self._looms_own().symmetric_difference_update(_values(other))

    def __ior__(self, other: Any) -> Self:
        now = self._looms_own()
        now |= plain(other)
        return self

    def __iand__(self, other: Any) -> Self:
        now = self._looms_own()
        now &= plain(other)
        return self

    def __isub__(self, other: Any) -> Self:
        now = self._looms_own()
        now -= plain(other)
        return self

    def __ixor__(self, other: Any) -> Self:
        now = self._looms_own()
        now ^= plain(other)
        return self

    def _looms_plain(self) -> set[Any]:
        return self._looms_whole()

    def _looms_become(self, path: Path | None) -> Any:
        now = self._looms_now
        return self._looms_base if now is None or same(now, self._looms_base) else now

    def _looms_written(self, path: Path) -> list[Path]:
        return [path] if self._looms_put else []


def _value(member: Any) -> Any:
    return own(plain(member)) if is_stand_in(member) else member


def _values(members: Iterable[Any]) -> list[Any]:
    return [_value(member) for member in members]
