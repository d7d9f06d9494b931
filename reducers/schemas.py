"""What a type is made of: walks over the description that msgspec gives of a type."""

import hashlib
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, get_origin

from msgspec import inspect as types

_NAMED = (types.StructType, types.DataclassType, types.TypedDictType, types.NamedTupleType)


def schema(type: Any) -> types.Type:
    """msgspec's description of a type."""
    return types.type_info(type)


def children(info: types.Type) -> list[tuple[str, types.Type]]:
    """The types that a type is made of, each with its place in a path."""
    match info:
        case types.StructType(fields=fields) | types.DataclassType(fields=fields) | types.TypedDictType(fields=fields):
            return [(f".{field.encode_name}", field.type) for field in fields]
        case types.NamedTupleType(fields=fields):
            return [(f".{field.name}", field.type) for field in fields]
        case types.UnionType(types=members):
            return [("", member) for member in members]
        case types.TupleType(item_types=members):
            return [(f"[{n}]", member) for n, member in enumerate(members)]
        case types.DictType(key_type=key, value_type=value) | types.FrozenDictType(key_type=key, value_type=value):
            return [("[...]", key), ("[...]", value)]
        case types.CollectionType(item_type=item):
            return [("[...]", item)]
        case types.Metadata(type=inner):
            return [("", inner)]
    return []


def walk(info: types.Type) -> Iterator[tuple[str, types.Type]]:
    """Every type that a type is made of, itself included, with the path to it; a type that contains itself, once."""
    seen: set[int] = set()
    todo = [("$", info)]
    while todo:
        path, part = todo.pop(0)
        yield path, part
        if isinstance(part, _NAMED):
            if id(part) in seen:
                continue
            seen.add(id(part))
        todo += [(path + place, inner) for place, inner in children(part)]


def first_unknown(info: types.Type, *, objects: bool = False) -> str | None:
    """The first type in it that msgspec cannot check, with its path, or None.

    Args:
        info: msgspec's description of a type.
        objects: an ``object`` in it is any plain data.
    """
    for path, part in walk(info):
        if isinstance(part, types.CustomType) and not (objects and part.cls is object):
            return f"{getattr(part.cls, '__qualname__', part.cls)} (at `{path}`)"
    return None


def first_omitting(info: types.Type) -> str | None:
    """The first struct in it that does not store what is as by default, with its path, or None."""
    for path, part in walk(info):
        if isinstance(part, types.StructType) and (cls := class_of(part)).__struct_config__.omit_defaults:
            return f"{cls.__qualname__} (at `{path}`)"
    return None


def class_of(info: types.StructType | types.DataclassType) -> Any:
    """The class that a description is of; of a generic one, without what its parameters stand for."""
    return get_origin(info.cls) or info.cls


_ANY = (types.AnyType, types.CustomType)
_CHANGEABLE = (types.ListType, types.DictType, types.SetType, types.TypedDictType, types.ByteArrayType, *_ANY)


def is_changeable(info: types.Type) -> bool:
    """Whether values of a type hold something that can be changed in place."""
    return any(isinstance(part, _CHANGEABLE) or _is_not_frozen(part) for _, part in walk(info))


def _is_not_frozen(info: types.Type) -> bool:
    match info:
        case types.StructType():
            return not class_of(info).__struct_config__.frozen
        case types.DataclassType():
            cls = class_of(info)
            return not cls.__dataclass_params__.frozen if hasattr(cls, "__dataclass_params__") else True
    return False


def fingerprint(type: Any, version: int, events: Mapping[str, int] = MappingProxyType({})) -> str:
    """What tells a stored state of this type from one of another shape, or that was folded from other events.

    Defaults do not count: a state that was stored holds its values.

    Args:
        type: the state's type; its field names and types count.
        version: what the user says of the state's meaning.
        events: the versions of the events that it is folded from, by name, of those that have had another one.
    """
    lines = [f"version {version}", *(f"event {name} {number}" for name, number in sorted(events.items()))]
    for path, part in walk(schema(type)):
        lines.append(f"{path} {_label(part)}")
    return hashlib.blake2b("\n".join(lines).encode(), digest_size=8).hexdigest()


def _label(info: types.Type) -> str:
    """One line for a type, without the parts that are listed on their own."""
    kind = info.__class__.__name__
    match info:
        case types.StructType(tag=tag, array_like=array_like):
            return f"{kind} tag={tag!r} array={array_like}"
        case types.EnumType(cls=cls):
            return f"{kind} {[member.value for member in cls]!r}"
        case types.LiteralType(values=values):
            return f"{kind} {values!r}"
        case types.TupleType(item_types=members) | types.UnionType(types=members):
            return f"{kind} {len(members)}"
    return kind
