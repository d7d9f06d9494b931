"""Tracking: a state that notes what of it is read, and lets nobody change it.

A scalar is handed out as it is, and noted as a value that was read; anything else as a stand-in, noted as a look: it is
there, and of this type. Length, order, truth, membership, slices, equality, text, hash: they read all of a part.
"""

from collections.abc import Callable, Iterator, MappingView
from functools import cache
from typing import Any

from looms.reducers.changes import Path, path_of
from looms.stores.errors import NotPure, ReadAfterwards
from looms.stores.kinds import fields_of, is_scalar, own
from looms.stores.overlap import Read
from looms.stores.purity import refuse_change
from looms.stores.stand_ins import (
    DictStandIn,
    ListStandIn,
    RecordStandIn,
    SetStandIn,
    StandIn,
    TupleStandIn,
    is_stand_in,
    standing_for,
)


class Reading:
    """One selector's look at one state.

    Args:
        what: who reads, for errors.
    """

    def __init__(self, what: str) -> None:
        self.what = what
        self.over = False
        self.reads: set[Read] = set()
        self.refused: NotPure | None = None

    def stand_in(self, state: Any) -> Any:
        """What stands for a state; asking for it is a look at it."""
        self.reads.add(Read((), look=True))
        kind: Any = type(state)
        return _tracked(kind)(self, state, ())

    def check(self) -> None:
        """Refuse to go on when the selector has returned.

        Raises:
            NotPure: it has.
        """
        if self.over:
            raise NotPure(f"{self.what} is over, and a part of the state was read afterwards", _AFTERWARDS)

    def refuse(self, path: Path) -> Any:
        """Refuse a change; also when the selector says nothing of it."""
        try:
            refuse_change(self.what, path_of(path))
        except NotPure as refused:
            self.refused = refused
            raise


_AFTERWARDS = "what it selects should be values: a list rather than a generator or a view of a dict"


class Tracked(StandIn):
    """A stand-in that notes what is read of it."""

    __slots__ = ("_looms_all", "_looms_parts_of", "_looms_path", "_looms_reading", "_looms_value")
    _looms_reading: Reading
    _looms_value: Any
    _looms_path: Path
    _looms_all: bool  # all of it is noted already
    _looms_parts_of: dict[Any, Any]

    def __init__(self, reading: Reading, value: Any, path: Path, *, all: bool = False) -> None:
        _put_reading(self, reading)
        _put_value(self, value)
        _put_path(self, path)
        _put_all(self, all)
        _put_parts(self, {})

    @property
    def _looms_kind(self) -> Any:
        return type(self._looms_value)

    def __repr__(self) -> str:
        return "<a part of a state, no longer to be read>" if self._looms_reading.over else super().__repr__()

    def _looms_plain(self) -> Any:
        return self._looms_whole()

    def _looms_whole(self) -> Any:
        reading = self._looms_reading
        reading.check()
        if not self._looms_all:
            _put_all(self, True)
            reading.reads.add(Read(self._looms_path))
        return self._looms_value

    def _looms_shown(self, key: Any, value: Any) -> Any:
        """A part as it is handed out."""
        reading = self._looms_reading
        reading.check()
        kind: Any = type(value)
        if is_scalar(kind):
            if not self._looms_all:
                reading.reads.add(Read((*self._looms_path, key)))
            return bytearray(value) if kind is bytearray else value
        if key not in self._looms_parts_of:
            path = (*self._looms_path, key)
            if not self._looms_all:
                reading.reads.add(Read(path, look=True))
            self._looms_parts_of[key] = _tracked(kind)(reading, value, path, all=self._looms_all)
        return self._looms_parts_of[key]

    def _looms_missing(self, key: Any) -> None:
        """Note that there is nothing at a key."""
        self._looms_reading.check()
        if not self._looms_all:
            self._looms_reading.reads.add(Read((*self._looms_path, key), look=True))

    def __setattr__(self, name: str, value: Any) -> None:
        self._looms_reading.refuse((*self._looms_path, name))

    def __delattr__(self, name: str) -> None:
        self._looms_reading.refuse((*self._looms_path, name))


# Its own attributes are set past `__setattr__`, which refuses.
_put_reading: Any = Tracked.__dict__["_looms_reading"].__set__
_put_value: Any = Tracked.__dict__["_looms_value"].__set__
_put_path: Any = Tracked.__dict__["_looms_path"].__set__
_put_all: Any = Tracked.__dict__["_looms_all"].__set__
_put_parts: Any = Tracked.__dict__["_looms_parts_of"].__set__


class TrackedRecord(Tracked, RecordStandIn):
    """A struct or a dataclass that is read."""

    __slots__ = ()

    def _looms_part(self, name: str) -> Any:
        return self._looms_shown(fields_of(self._looms_kind)[name], getattr(self._looms_value, name))


class _Listed(Tracked):
    __slots__ = ()

    def _looms_part(self, key: int) -> Any:
        value = self._looms_value
        if key >= len(value):
            self._looms_missing(key)
        return self._looms_shown(key, value[key])


class TrackedList(_Listed, ListStandIn):
    """A list that is read."""

    __slots__ = ()

    def copy(self) -> list[Any]:
        return self._looms_parts()

    __copy__ = copy


class TrackedTuple(_Listed, TupleStandIn):
    """A tuple that is read."""

    __slots__ = ()


class TrackedDict(Tracked, DictStandIn):
    """A dict that is read."""

    __slots__ = ()

    def _looms_part(self, key: Any) -> Any:
        value = self._looms_value
        key = own(key, _stood_for) if is_stand_in(key) else key
        if key not in value:
            self._looms_missing(key)
        return self._looms_shown(key, value[key])

    def _looms_has(self, key: Any) -> bool:
        key = own(key, _stood_for) if is_stand_in(key) else key
        found = key in self._looms_value
        self._looms_missing(key)
        return found


class TrackedSet(Tracked, SetStandIn):
    """A set that is read."""

    __slots__ = ()

    def _looms_plain(self) -> Any:
        return self._looms_whole()


def _stood_for(part: Any) -> Any:
    """What a stand-in stands for: all of it is read."""
    return part._looms_plain() if is_stand_in(part) else part


def selected(value: Any, what: str) -> Any:
    """What a selector selected, without stand-ins, for somebody who may change it.

    Args:
        value: what it returned.
        what: the selector, for errors.

    Raises:
        ReadAfterwards: it would be read when the selector is over.
    """

    def read(part: Any) -> Any:
        kind: Any = type(part)
        if _is_read_afterwards(kind):
            raise ReadAfterwards(f"{what} selected a {kind.__name__}, which would be read afterwards", _AFTERWARDS)
        return _stood_for(part)

    return own(value, read)


@cache
def _is_read_afterwards(kind: type) -> bool:
    return issubclass(kind, Iterator | MappingView)


def _refusing(name: str) -> Callable[..., Any]:
    def refuse(self: Any, *_: Any, **__: Any) -> Any:
        return self._looms_reading.refuse(self._looms_path)

    refuse.__name__ = name
    return refuse


_CHANGES = {
    TrackedList: "__setitem__ __delitem__ __iadd__ __imul__ append extend insert remove pop clear sort reverse",
    TrackedDict: "__setitem__ __delitem__ __ior__ pop popitem clear update setdefault",
    TrackedSet: "__ior__ __iand__ __isub__ __ixor__ add discard remove pop clear update intersection_update "
    "difference_update symmetric_difference_update",
}
for _cls, _names in _CHANGES.items():
    for _name in _names.split():
        setattr(_cls, _name, _refusing(_name))

_OF: dict[type, Any] = {list: TrackedList, dict: TrackedDict, set: TrackedSet, tuple: TrackedTuple}


@cache
def _tracked(kind: type) -> Any:
    return _OF.get(kind) or standing_for(kind, TrackedTuple if issubclass(kind, tuple) else TrackedRecord)
