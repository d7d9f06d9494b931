"""When does a payload contain a match, and how is a wait found without looking at the others?

A match is a part of a payload: a mapping matches when each of its keys is there and matches, a list when the other
is a list of the same length that matches item by item, a scalar by value *and* kind (``True`` is not ``1``, ``1`` is
``1.0``, ``None`` is only ``None``).

To find waits, a match is taken apart into its *leaves*: the paths to its scalars, and their values. The paths alone
are its *shape*. Waits made by one piece of code have one shape, so for an event there are few shapes to try: the values
at a shape's paths are taken from the payload, and name exactly the waits with those values (this is a hash join on
the event; content-based publish/subscribe systems call it predicate indexing). What a shape does not say, such as
the length of a list, is checked by ``contains`` afterwards.
"""

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import inspect as types

from looms.reducers.codec import encode, plain
from looms.reducers.errors import InvalidMatch, closest
from looms.reducers.events import EventType
from looms.reducers.exactness import is_deeper
from looms.reducers.messages import shown
from looms.reducers.moments import is_seconds

Path = tuple[str | int, ...]
Shape = tuple[Path, ...]
Values = tuple[str, ...]

_NOTHING: Any = object()

DEEPEST = 100
"""How deeply a match may be nested: it is compared by recursion, wherever in a program that happens."""

MOST_LEAVES = 1_000
"""How many scalars a match may have: each is looked up in every event that might meet it."""

MOST_BYTES = 1 << 16
"""How many bytes a match may have as it is stored."""

# What never holds a mapping or a list
_LEAVES = (
    *(types.NoneType, types.BoolType, types.IntType, types.FloatType, types.StrType, types.BytesType),
    *(types.ByteArrayType, types.MemoryViewType, types.DateTimeType, types.DateType, types.TimeType),
    *(types.TimeDeltaType, types.UUIDType, types.DecimalType, types.EnumType, types.LiteralType),
)


def contains(payload: Any, match: Any) -> bool:
    """Whether a plain payload contains a plain match."""
    if isinstance(match, dict):
        return isinstance(payload, dict) and all(k in payload and contains(payload[k], v) for k, v in match.items())
    if isinstance(match, list):
        return (
            isinstance(payload, list)
            and len(payload) == len(match)
            and all(contains(a, b) for a, b in zip(payload, match, strict=True))
        )
    return not isinstance(payload, dict | list) and scalar(payload) == scalar(match)


def scalar(value: Any) -> str:
    """A text that two scalars share exactly when they are the same by value and kind."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return "s" + value
        case int():
            return f"n{value}"
        case float():
            return f"n{int(value)}" if value.is_integer() else f"n{value!r}"
        case bytes():
            return "b" + value.hex()
        case datetime():
            return "d" + value.astimezone(UTC).isoformat()
    return f"{type(value).__name__} {value!r}"


def leaves(match: Any, path: Path = ()) -> dict[Path, str]:
    """The scalars of a plain match, by path."""
    items: Any = match.items() if isinstance(match, dict) else enumerate(match) if isinstance(match, list) else None
    if items is None:
        return {path: scalar(match)}
    return {leaf: value for key, part in items for leaf, value in leaves(part, (*path, key)).items()}


def shape_of(match: dict[str, Any]) -> tuple[Shape, Values]:
    """A plain match's shape, and the values at its paths, both in one order."""
    found = sorted(leaves(match).items(), key=lambda leaf: encode(leaf[0]))
    return tuple(path for path, _ in found), tuple(value for _, value in found)


def values_at(payload: Any, shape: Shape) -> Values | None:
    """The values of a plain payload at a shape's paths, or None if it has no scalar at one of them."""
    found = []
    for path in shape:
        part = _part(payload, path)
        if part is _NOTHING or isinstance(part, dict | list):
            return None
        found.append(scalar(part))
    return tuple(found)


def _part(payload: Any, path: Path) -> Any:
    """What a plain payload holds at a path, or _NOTHING."""
    for key in path:
        if isinstance(payload, list):
            there = isinstance(key, int) and key < len(payload)
        else:
            there = isinstance(payload, dict) and key in payload
        if not there:
            return _NOTHING
        payload = payload[key]
    return payload


def todays_match(match: dict[str, Any], called: Mapping[str, str]) -> dict[str, Any]:
    """A plain match, as an event has it whose fields were renamed since.

    Args:
        match: what a wait was made with.
        called: by the names of fields that were renamed, what they are called today.
    """
    return {called.get(field, field): part for field, part in match.items()} if called else match


def todays_shape(shape: Shape, called: Mapping[str, str]) -> Shape:
    """The paths of a match, as an event has them whose fields were renamed since."""
    return tuple((called.get(str(field), field), *path) for field, *path in shape) if called else shape


def digest(type: str, shape: Shape, values: Values) -> bytes:
    """16 bytes that stand for all waits for a type with these values at these paths."""
    return hashlib.blake2b(encode((type, shape, values)), digest_size=16).digest()


def plain_match(match: Any, among: tuple[EventType[Any], ...]) -> dict[str, Any]:
    """A user's match as plain data, checked against the event types that it is for.

    Raises:
        InvalidMatch: it is no mapping, cannot be encoded, is nested too deeply, holds nan, or has a key that one of the
            types does not have.
    """
    if not isinstance(match, dict):
        raise InvalidMatch(f"{_said(match, among)} is no mapping; give the fields to match, as a dict")
    try:
        data = encode(match)
        plainly: dict[str, Any] = plain(data)
        too_deep = is_deeper(plainly, DEEPEST)
    except RecursionError:
        too_deep = True
    except (TypeError, ValueError, OverflowError, msgspec.MsgspecError) as error:
        raise InvalidMatch(f"{_said(match, among)} cannot be encoded: {error}") from error
    if too_deep:
        raise InvalidMatch(f"{_said(match, among)} is nested deeper than {DEEPEST} levels")
    if len(data) > MOST_BYTES:
        raise InvalidMatch(f"{_said(match, among)} has {len(data):,} bytes; a match has at most {MOST_BYTES:,}")
    found = leaves(plainly)
    if len(found) > MOST_LEAVES:
        raise InvalidMatch(f"{_said(match, among)} has {len(found):,} values; a match has at most {MOST_LEAVES:,}")
    for path, value in found.items():
        if value == "nnan":
            raise InvalidMatch(
                f"{_said(match, among)}: nan at {_dotted(path)} equals nothing, so it could never be met"
            )
    for kind in among:
        _check_keys(plainly, kind.schema, kind.name, ())
    return plainly


def _said(match: Any, among: tuple[EventType[Any], ...]) -> str:
    return f"wait for {', '.join(kind.name for kind in among)}: match={shown(match)}"


def _check_keys(match: Any, info: types.Type, event: str, path: Path) -> None:
    """Every key of the match is one that the type may have, and every scalar of a kind that it may be."""
    if not _may_be(match, info):
        raise InvalidMatch(
            f"{event} can never hold {shown(match)} at {_dotted(path) or 'its top'}, "
            "so a wait for it could never be met"
        )
    match info:
        case types.Metadata(type=inner):
            _check_keys(match, inner, event, path)
        case types.UnionType():
            _check_member(match, info, event, path)
        case types.StructType(array_like=False) | types.DataclassType() | types.TypedDictType():
            _check_fields(match, info, event, path)
        case types.DictType(value_type=inner) if isinstance(match, dict):
            for key, part in match.items():
                _check_keys(part, inner, event, (*path, key))
        case types.ListType(item_type=inner) | types.VarTupleType(item_type=inner) if isinstance(match, list):
            for place, part in enumerate(match):
                _check_keys(part, inner, event, (*path, place))
        case types.TupleType(item_types=inners) if isinstance(match, list):
            for place, (part, inner) in enumerate(zip(match, inners, strict=False)):
                _check_keys(part, inner, event, (*path, place))
        case _:
            pass


def _may_be(value: Any, info: types.Type) -> bool:
    """Whether a part of a payload of some type could be met by this part of a match, as far as kinds tell."""
    match info:
        case types.Metadata(type=inner):
            return _may_be(value, inner)
        case types.UnionType(types=members):
            return any(_may_be(value, member) for member in members)
        case types.NoneType():
            return value is None
        case types.BoolType():
            return isinstance(value, bool)
        case types.IntType():
            return is_seconds(value) and value == int(value)
        case types.FloatType():
            return isinstance(value, int | float) and not isinstance(value, bool)
        case types.StrType():
            return isinstance(value, str)
        case types.ListType() | types.VarTupleType() | types.TupleType() | types.SetType() | types.FrozenSetType():
            return isinstance(value, list)
        case types.DictType() | types.StructType(array_like=False) | types.DataclassType() | types.TypedDictType():
            return isinstance(value, dict)
    return True


def _check_fields(
    match: Any, info: types.StructType | types.DataclassType | types.TypedDictType, event: str, path: Path
) -> None:
    if not isinstance(match, dict):
        return
    fields = {field.encode_name: field.type for field in info.fields}
    if isinstance(info, types.StructType) and info.tag_field:
        fields[info.tag_field] = types.AnyType()
    for key, part in match.items():
        if key not in fields:
            raise InvalidMatch(
                f"{event} has no field {shown(_dotted((*path, key)))}, so a wait for it could never be met"
                f"{closest(str(key), fields) or '.'} It has: {', '.join(fields) or 'no fields'}"
            )
        _check_keys(part, fields[key], event, (*path, key))


def _check_member(match: Any, info: types.UnionType, event: str, path: Path) -> None:
    """A match on a union fits when it fits one of its members."""
    if not isinstance(match, dict | list):
        return
    refused: list[InvalidMatch] = []
    for member in info.types:
        if isinstance(member, _LEAVES):
            continue
        try:
            return _check_keys(match, member, event, path)
        except InvalidMatch as error:
            refused.append(error)
    if refused:
        raise refused[0]


def _dotted(path: Path) -> str:
    return ".".join(str(key) for key in path)
