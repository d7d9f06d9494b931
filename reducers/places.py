"""Places: what a declared type says of the parts of a value, so that a part can be read and written by itself.

A state's type is walked along with the state: a list of items, a struct's field, a member of a union that the value at
hand decides on. Where the type does not say what is inside (or says it in a way that is not known here), the value is
one whole.
"""

import types as python_types
from collections.abc import Mapping, MutableMapping, MutableSequence, MutableSet, Sequence
from collections.abc import Set as AbstractSet
from functools import cache, cached_property
from typing import Annotated, Any, Final, NewType, TypeAlias, TypeVar, Union, get_args, get_origin, is_typeddict

import msgspec

from looms.reducers.codec import Codec

_UNIONS = (Union, python_types.UnionType)
_LISTS = (list, Sequence, MutableSequence)
_DICTS = (dict, Mapping, MutableMapping)
_SETS: dict[type, tuple[Any, ...]] = {set: (set, AbstractSet, MutableSet), frozenset: (frozenset, AbstractSet)}
_ANY_OF: dict[type, Any] = {
    list: list[Any],
    dict: dict[Any, Any],
    tuple: tuple[Any, ...],
    set: set[Any],
    frozenset: frozenset[Any],
}


class Place:
    """Somewhere in a value, with the type that is declared there.

    Args:
        type: the type, anything that msgspec can check.
    """

    def __init__(self, type: Any) -> None:
        self.type = type
        self._inside: dict[type, Inside | None] = {}

    @cached_property
    def codec(self) -> Codec[Any]:
        """Reads and writes what stands here."""
        return Codec(self.type, "a part of a state")

    def inside(self, kind: type) -> "Inside | None":
        """How a value of a kind is looked into here; None where it is one whole."""
        try:
            return self._inside[kind]
        except KeyError:
            found = self._inside[kind] = _inside(self.type, kind)
            return found


class Fields:
    """A struct's fields, by the keys that they are stored under.

    Attributes:
        of: for each key, the attribute and its place.
    """

    def __init__(self, type: Any, cls: type[msgspec.Struct]) -> None:
        fields = msgspec.structs.fields(type)
        config = cls.__struct_config__
        first = 0 if config.tag is None else 1  # of an array: the tag stands before the fields
        self.of: dict[str | int, tuple[str, Place]] = {
            number if config.array_like else field.encode_name: (field.name, place(field.type))
            for number, field in enumerate(fields, first)
        }


class Slots:
    """A tuple of a fixed length, each item with a type of its own."""

    def __init__(self, items: tuple[Any, ...]) -> None:
        self.of = tuple(place(item) for item in items)


class Items:
    """A list, or a tuple of any length; ``whole`` reads several of them at once."""

    def __init__(self, type: Any, item: Any) -> None:
        self.whole = place(type)
        self.item = place(item)


class Entries:
    """A dict; ``whole`` reads several entries at once."""

    def __init__(self, type: Any, key: Any, value: Any) -> None:
        self.whole = place(type)
        self.key = place(key)
        self.value = place(value)


class Members:
    """A set; ``whole`` reads several members at once."""

    def __init__(self, type: Any, member: Any) -> None:
        self.whole = place(type)
        self.member = place(member)


Inside: TypeAlias = Fields | Slots | Items | Entries | Members


@cache
def _shared(type: Any) -> Place:
    return Place(type)


def place(type: Any) -> Place:
    """The place of a type; one for all that are declared with it."""
    try:
        return _shared(type)
    except TypeError:  # it is not hashable, as an annotation with a dict in it
        return Place(type)


ANYTHING = place(Any)
"""Where nothing is declared: plain data."""


def _inside(type: Any, kind: type) -> Inside | None:
    declared = _declared(type, kind)
    if declared is None:
        return None
    arguments = get_args(declared)
    if issubclass(kind, msgspec.Struct):
        return Fields(declared, kind)
    if kind is tuple:
        if len(arguments) == 2 and arguments[1] is ...:
            return Items(declared, arguments[0])
        return Slots(arguments)
    if kind is list:
        return Items(declared, arguments[0])
    if kind is dict:
        return Entries(declared, *arguments)
    return Members(declared, arguments[0])


def _declared(type: Any, kind: type) -> Any:
    """The part of a declared type that a value of a kind is, with what it is made of; None: it is one whole."""
    while True:
        origin = get_origin(type)
        if origin in (Annotated, Final):
            type = get_args(type)[0]
        elif isinstance(type, NewType):
            type = type.__supertype__
        elif isinstance(type, TypeVar):
            type = type.__bound__ or Any
        elif hasattr(type, "__value__"):  # `type X = ...`
            type = type.__value__
        else:
            break
    if origin in _UNIONS:
        found = [part for member in get_args(type) if (part := _declared(member, kind)) is not None]
        return found[0] if len(found) == 1 else None
    if type in (Any, object):
        return _ANY_OF.get(kind)
    cls = origin or type
    if is_typeddict(cls):
        return None
    if isinstance(kind, _STRUCT_META):
        return type if cls is kind else None
    if kind not in _ANY_OF or not _is(cls, kind):
        return None
    return type if get_args(type) or (cls is tuple and origin is tuple) else _ANY_OF[kind]


def _is(cls: Any, kind: type) -> bool:
    if kind is list:
        return cls in _LISTS
    if kind is dict:
        return cls in _DICTS
    if kind is tuple:
        return cls is tuple
    return cls in _SETS[kind]


_STRUCT_META = type(msgspec.Struct)
