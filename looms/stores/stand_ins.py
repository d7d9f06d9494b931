"""Stand-ins: what an updater or a selector is given for a part of a state.

A stand-in is taken for what it stands for: by ``isinstance`` and ``match``, in comparisons, by everything that can be
read. How a part is read is decided below, by a draft (``drafting.py``) or by what notes the reading (``tracking.py``).
They answer a few questions, all of them named ``_looms_...`` so that no field of a struct is hidden by one:

| question | |
|---|---|
| ``_looms_kind`` | the class that it stands for |
| ``_looms_plain()`` | the value as it is now, without stand-ins; all of it is read, and it is not handed out |
| ``_looms_whole()`` | a list, tuple, dict or set that has its length, order and keys, and is not handed out |
| ``_looms_part(key)`` | the part at a key, for the user |
| ``_looms_has(key)`` | whether there is one |
"""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache, cached_property
from operator import index as whole_number
from typing import Any, ClassVar, SupportsIndex

import msgspec

from looms.stores.kinds import fields_of, own, with_fields


class StandIn:
    """Something that stands for a part of a state."""

    __slots__ = ()
    _looms_kind: Any

    def _looms_plain(self) -> Any:
        raise NotImplementedError

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return self._looms_kind

    def __eq__(self, other: object) -> bool:
        return bool(self._looms_plain() == plain(other))

    def __ne__(self, other: object) -> bool:
        return bool(self._looms_plain() != plain(other))

    def __lt__(self, other: Any) -> bool:
        return bool(self._looms_plain() < plain(other))

    def __le__(self, other: Any) -> bool:
        return bool(self._looms_plain() <= plain(other))

    def __gt__(self, other: Any) -> bool:
        return bool(self._looms_plain() > plain(other))

    def __ge__(self, other: Any) -> bool:
        return bool(self._looms_plain() >= plain(other))

    def __hash__(self) -> int:
        return hash(self._looms_plain())

    def __repr__(self) -> str:
        return repr(self._looms_plain())

    def __str__(self) -> str:
        return str(self._looms_plain())

    def __format__(self, spec: str) -> str:
        return format(self._looms_plain(), spec)

    def __deepcopy__(self, memo: object) -> Any:
        return own(self._looms_plain())

    def __reduce_ex__(self, protocol: object) -> Any:
        return _the_same, (own(self._looms_plain()),)


def _the_same(value: Any) -> Any:
    return value


def is_stand_in(value: object) -> bool:
    """Whether this is a stand-in; ``isinstance`` would ask what it stands for."""
    return issubclass(type(value), StandIn)


def plain(value: Any) -> Any:
    """What a value stands for."""
    return value._looms_plain() if issubclass(type(value), StandIn) else value


class RecordStandIn(StandIn):
    """Stands for a struct or a dataclass. Its methods and properties are those of the class, on the stand-in."""

    __slots__ = ()

    def _looms_part(self, name: str) -> Any:
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        kind = self._looms_kind
        if name.startswith("__struct_"):
            return getattr(kind, name)
        return _of_class(self, kind, name)

    def __copy__(self) -> Any:
        return self.__replace__()

    def __replace__(self, **changes: Any) -> Any:
        parts = {name: getattr(self, name) for name in fields_of(self._looms_kind) if name not in changes}
        return with_fields(self._looms_plain(), parts | changes)

    def __dir__(self) -> list[str]:
        return dir(self._looms_kind)


def _of_class(stand_in: Any, kind: type, name: str) -> Any:
    """What a class has under a name: a method, a property, a constant; for the stand-in."""
    for cls in kind.__mro__:
        if name in cls.__dict__:
            found = cls.__dict__[name]
            if isinstance(found, cached_property):
                return found.func(stand_in)  # there is no place to keep it
            return found.__get__(stand_in, kind) if hasattr(type(found), "__get__") else found
    if hasattr(kind, "__getattr__"):
        return kind.__getattr__(stand_in, name)
    raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}")


_NOT_TAKEN_OVER = frozenset(
    [
        *("__init__", "__new__", "__post_init__", "__init_subclass__", "__class_getitem__", "__class__", "__slots__"),
        *("__getattribute__", "__getattr__", "__setattr__", "__delattr__", "__dir__", "__del__"),
        *("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__", "__repr__", "__str__", "__format__"),
        *("__copy__", "__deepcopy__", "__replace__", "__reduce__", "__reduce_ex__", "__getstate__", "__setstate__"),
    ]
)


@cache
def standing_for(kind: type, base: type) -> type:
    """The class of stand-ins for one class of structs, dataclasses or named tuples.

    What a user's class has for operators and the like (``__len__``, ``__contains__``, ``__add__``), Python looks for in
    the class alone; so they are taken over.
    """
    taken: dict[str, Any] = {"__slots__": (), "__module__": kind.__module__, "__doc__": kind.__doc__}
    for cls in reversed(kind.__mro__):
        if cls in (object, tuple, msgspec.Struct):
            continue
        taken |= {
            name: function
            for name, function in cls.__dict__.items()
            if name.startswith("__") and name not in _NOT_TAKEN_OVER and hasattr(function, "__code__")
        }
    for name in fields_of(kind):  # found at once; `__getattr__` is asked when all else has failed
        taken[name] = _field(name)
    for number, name in enumerate(getattr(kind, "_fields", ())):  # of a named tuple
        taken[name] = _item(number)
    return type(kind.__name__, (base,), taken)


def _field(name: str) -> property:
    return property(lambda self: self._looms_part(name))


def _item(number: int) -> property:
    return property(lambda self: self[number])


class ListStandIn(StandIn, Sequence[Any]):
    """Stands for a list or a tuple."""

    __slots__ = ()
    _looms_make: ClassVar[Any] = list

    def _looms_whole(self) -> Any:
        raise NotImplementedError

    def _looms_part(self, key: int) -> Any:
        raise NotImplementedError

    def _looms_parts(self) -> list[Any]:
        return [self._looms_part(at) for at in range(len(self))]

    def __len__(self) -> int:
        return len(self._looms_whole())

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return self._looms_make([self._looms_part(one) for one in range(*at.indices(len(self)))])
        try:
            number = whole_number(at)
        except TypeError:
            return self._looms_whole()[at]  # which says what is wrong
        return self._looms_part(number if number >= 0 else self._looms_from_end(number))

    def _looms_from_end(self, number: int) -> int:
        found = len(self) + number
        if found < 0:
            raise IndexError(f"{self._looms_kind.__name__} index out of range")
        return found

    def __iter__(self) -> Iterator[Any]:
        at = 0
        while at < len(self):
            yield self._looms_part(at)
            at += 1

    def __reversed__(self) -> Iterator[Any]:
        for at in range(len(self) - 1, -1, -1):
            yield self._looms_part(at)

    def __contains__(self, item: object) -> bool:
        return item in self._looms_whole()

    def index(self, item: Any, *bounds: SupportsIndex) -> int:
        return int(self._looms_whole().index(item, *bounds))

    def count(self, item: Any) -> int:
        return int(self._looms_whole().count(item))

    def __add__(self, other: Any) -> Any:
        return self._looms_make(self._looms_parts()) + _same_kind(self, other)

    def __radd__(self, other: Any) -> Any:
        return _same_kind(self, other) + self._looms_make(self._looms_parts())

    def __mul__(self, times: SupportsIndex) -> Any:
        return self._looms_make(self._looms_parts()) * times

    __rmul__ = __mul__


def _same_kind(one: Any, other: Any) -> Any:
    """The parts of what is added: a list's to a list, a tuple's to a tuple. Else Python says what is wrong."""
    return one._looms_make(other) if is_stand_in(other) and isinstance(other, one._looms_make) else other


class TupleStandIn(ListStandIn):
    """Stands for a tuple, also one with names."""

    __slots__ = ()
    _looms_make = tuple

    def __getattr__(self, name: str) -> Any:
        return _of_class(self, self._looms_kind, name)

    def __copy__(self) -> Any:
        parts = self._looms_parts()
        return self._looms_kind._make(parts) if hasattr(self._looms_kind, "_make") else tuple(parts)

    def __getnewargs__(self) -> Any:
        return tuple(self._looms_parts())


class DictStandIn(StandIn, Mapping[Any, Any]):
    """Stands for a dict."""

    __slots__ = ()

    def _looms_whole(self) -> dict[Any, Any]:
        raise NotImplementedError

    def _looms_part(self, key: Any) -> Any:
        raise NotImplementedError

    def _looms_has(self, key: Any) -> bool:
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self._looms_whole())

    def __iter__(self) -> Iterator[Any]:
        return iter(self._looms_whole())

    def __reversed__(self) -> Iterator[Any]:
        yield from reversed(self._looms_whole())

    def __contains__(self, key: object) -> bool:
        return self._looms_has(key)

    def __getitem__(self, key: Any) -> Any:
        return self._looms_part(key)

    def copy(self) -> dict[Any, Any]:
        return {key: self._looms_part(key) for key in self._looms_whole()}

    __copy__ = copy

    def __or__(self, other: Any) -> Any:
        return self.copy() | (other.copy() if is_stand_in(other) else other)

    def __ror__(self, other: Any) -> Any:
        return (other.copy() if is_stand_in(other) else other) | self.copy()


class SetStandIn(StandIn, AbstractSet[Any]):
    """Stands for a set. Its members are handed out as they are: what is in a set cannot change."""

    __slots__ = ()

    def _looms_whole(self) -> set[Any]:
        raise NotImplementedError

    def _looms_plain(self) -> set[Any]:
        return self._looms_whole()

    def __len__(self) -> int:
        return len(self._looms_whole())

    def __iter__(self) -> Iterator[Any]:
        return iter(self._looms_whole())

    def __contains__(self, member: object) -> bool:
        return member in self._looms_whole()

    def copy(self) -> set[Any]:
        return set(self._looms_whole())

    __copy__ = copy

    def __and__(self, other: Any) -> Any:
        return self._looms_whole() & plain(other)

    def __or__(self, other: Any) -> Any:
        return self._looms_whole() | plain(other)

    def __sub__(self, other: Any) -> Any:
        return self._looms_whole() - plain(other)

    def __xor__(self, other: Any) -> Any:
        return self._looms_whole() ^ plain(other)

    def __rand__(self, other: Any) -> Any:
        return plain(other) & self._looms_whole()

    def __ror__(self, other: Any) -> Any:
        return plain(other) | self._looms_whole()

    def __rsub__(self, other: Any) -> Any:
        return plain(other) - self._looms_whole()

    def __rxor__(self, other: Any) -> Any:
        return plain(other) ^ self._looms_whole()

    def union(self, *others: Any) -> set[Any]:
        return self._looms_whole().union(*map(plain, others))

    def intersection(self, *others: Any) -> set[Any]:
        return self._looms_whole().intersection(*map(plain, others))

    def difference(self, *others: Any) -> set[Any]:
        return self._looms_whole().difference(*map(plain, others))

    def symmetric_difference(self, other: Any) -> set[Any]:
        return self._looms_whole().symmetric_difference(plain(other))

    def isdisjoint(self, other: Any) -> bool:
        return self._looms_whole().isdisjoint(plain(other))

    def issubset(self, other: Any) -> bool:
        return self._looms_whole().issubset(plain(other))

    def issuperset(self, other: Any) -> bool:
        return self._looms_whole().issuperset(plain(other))
