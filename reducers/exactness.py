"""Is what came back from its bytes the very value that was given?

What a declared type asks for is no difference: a list given for a tuple, an int for a float, a name for an enum. What
only looks alike is one: a tuple that comes back as a list, an enum as text, a struct as its base.
"""

import dataclasses
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import msgspec

from looms.reducers.messages import shown

DEEPEST = 200
"""How deeply a value may be nested: reading it back needs as much of the stack, wherever in a program that happens."""

TOO_DEEP = f"nested deeper than {DEEPEST} levels"

_astuple = msgspec.structs.astuple

_LEAVES = frozenset({str, int, bool, float, bytes, type(None)})
_READ_FROM_TEXT = (Enum, datetime, date, time, timedelta, Decimal, UUID)  # or from a number


def is_exactly(given: Any, decoded: Any, depth: int = 0) -> bool:
    """Whether two equal values are of the same types at every depth.

    Every event comes by here, and the answer is usually yes. So leaves are looked at many at a time, and no is said to
    whatever is worth a closer look.
    """
    kind = type(decoded)
    if type(given) is not kind:
        return False
    if kind in _LEAVES:
        return True
    if depth >= DEEPEST:
        return False
    if isinstance(decoded, msgspec.Struct):
        given, decoded = _astuple(given), _astuple(decoded)
    elif kind is dict:
        given, decoded = (*given, *given.values()), (*decoded, *decoded.values())
    elif isinstance(decoded, datetime | time):
        return given.tzinfo is decoded.tzinfo
    elif not isinstance(decoded, list | tuple):
        return isinstance(decoded, _READ_FROM_TEXT)
    kinds = tuple(map(type, decoded))
    if tuple(map(type, given)) != kinds:
        return False
    return _LEAVES.issuperset(kinds) or all(
        is_exactly(one, other, depth + 1)
        for one, other, kind in zip(given, decoded, kinds, strict=True)
        if kind not in _LEAVES
    )


def first_difference(given: Any, decoded: Any, *, declared: bool = True, dicts: bool = False) -> str | None:
    """Where a value comes back as something else than it was, with what is there, or None.

    Args:
        given: the value.
        decoded: what comes back.
        declared: what a declared type asks for is no difference.
        dicts: neither is a struct for a dict of its fields.
    """
    todo: list[tuple[Any, Any, str, int]] = [(given, decoded, "$", 0)]
    while todo:
        given, decoded, path, depth = todo.pop()
        if dicts and type(given) is dict and (fields := _fields(decoded)) is not None:
            if unknown := [name for name in given if name not in fields]:
                return f"{type(decoded).__name__} has no field {shown(unknown[0])} - at `{path}`"
        elif not _alike(given, decoded, declared):
            return f"{_told(given, decoded)} - at `{path}`"
        inner = [(a, b, path + place, depth + 1) for place, a, b in _pairs(given, decoded)]
        if inner and depth >= DEEPEST:
            return f"{TOO_DEEP} - at `{path[:60]}...`"
        todo += reversed(inner)
    return None


def _alike(given: Any, decoded: Any, declared: bool) -> bool:
    """Whether two values are the same, but for what is inside."""
    kind = type(decoded)
    if type(given) is not kind:
        return declared and _asked_for(given, decoded)
    if isinstance(decoded, dict | list | tuple | set | frozenset):
        return len(given) == len(decoded)
    if isinstance(decoded, msgspec.Struct) or dataclasses.is_dataclass(decoded):
        return True
    return _same(given, decoded) and (declared or _in_one_zone(given, decoded))


def _asked_for(given: Any, decoded: Any) -> bool:
    """Whether a declared type has turned what was given into its own kind."""
    kind = type(given)
    if isinstance(decoded, float):
        return kind is int and given == decoded
    if isinstance(decoded, tuple):
        return kind in (list, tuple) and len(given) == len(decoded)
    if isinstance(decoded, set | frozenset):
        return kind in (set, frozenset) and len(given) == len(decoded)
    return kind in (str, int, float) and isinstance(decoded, _READ_FROM_TEXT)


def _fields(decoded: Any) -> dict[str, str] | None:
    """How each field of a struct or dataclass is called where it is stored, with its own name; its tag has none."""
    if isinstance(decoded, msgspec.Struct):
        tag = decoded.__struct_config__.tag_field
        names = dict(zip(decoded.__struct_encode_fields__, decoded.__struct_fields__, strict=True))
        return names if tag is None else {**names, tag: ""}
    if dataclasses.is_dataclass(decoded):
        return {field.name: field.name for field in dataclasses.fields(decoded)}
    return None


def _pairs(given: Any, decoded: Any) -> list[tuple[str, Any, Any]]:
    """The parts of two values that are alike, each with its place."""
    if type(given) is dict and (fields := _fields(decoded)) is not None:
        return [
            (f".{name}", given[name], getattr(decoded, own)) for name, own in fields.items() if own and name in given
        ]
    if isinstance(decoded, msgspec.Struct):
        return [(f".{name}", getattr(given, name), getattr(decoded, name)) for name in decoded.__struct_fields__]
    if isinstance(decoded, dict):
        items = list(zip(given.items(), decoded.items(), strict=True))
        return [("[...]", a, b) for (a, _), (b, _) in items] + [
            (f"[{repr(a) if type(a) is str else shown(a)}]", v, w) for (a, v), (_, w) in items
        ]
    if isinstance(decoded, list | tuple):
        return [(f"[{n}]", a, b) for n, (a, b) in enumerate(zip(given, decoded, strict=True))]
    if isinstance(decoded, set | frozenset):
        own = {item: item for item in given}
        others = iter([item for item in given if item not in decoded])
        return [("[...]", own[item] if item in own else next(others), item) for item in decoded]
    if dataclasses.is_dataclass(decoded):
        return [(f".{f.name}", getattr(given, f.name), getattr(decoded, f.name)) for f in dataclasses.fields(decoded)]
    return []


def _same(given: Any, decoded: Any) -> bool:
    """Whether two leaves of a type are the same."""
    if isinstance(decoded, datetime):
        return _instant(given) == _instant(decoded)
    if isinstance(decoded, Decimal):
        return str(given) == str(decoded)  # there are several zeros, and nan is no error
    if isinstance(decoded, float):
        return repr(given) == repr(decoded)  # there are two zeros, and nan is nan
    return bool(given == decoded)


def _instant(moment: datetime) -> datetime:
    """A moment in UTC: in the hour that a zone repeats, two equal moments of different zones do not compare equal."""
    return moment if moment.tzinfo is None else moment.astimezone(UTC)


def _in_one_zone(given: Any, decoded: Any) -> bool:
    """Whether two moments that are the same tell the same days and hours, now and when something is added to them."""
    if not isinstance(decoded, datetime | time):
        return True
    return given.tzinfo == decoded.tzinfo or (decoded.tzinfo is UTC and getattr(given.tzinfo, "key", "") == "UTC")


def _told(given: Any, decoded: Any) -> str:
    """What comes back instead, and what would be right."""
    name = type(given).__name__
    if type(given) is not type(decoded):
        return f"{name} would come back as {type(decoded).__name__}; declare the type that it has"
    if isinstance(decoded, datetime) and _same(given, decoded):
        return (
            f"a datetime of zone {given.tzinfo} would come back in UTC; keep moments in UTC, as .astimezone(UTC) does"
        )
    return f"another {name} would come back; declare the type that it has"


def is_deeper(value: Any, levels: int) -> bool:
    """Whether plain data is nested deeper than so many levels."""
    inside = [value]
    for _ in range(levels):
        inside = [
            part
            for whole in inside
            if isinstance(whole, dict | list)
            for part in (whole.values() if isinstance(whole, dict) else whole)
        ]
        if not inside:
            return False
    return any(isinstance(part, dict | list) for part in inside)


def too_deep(value: Any) -> str | None:
    """Where a value is nested too deeply to be stored, or contains itself; None where it is not."""
    todo: list[tuple[Any, str, int]] = [(value, "$", 0)]
    while todo:
        value, path, depth = todo.pop()
        inner = [(part, path + place, depth + 1) for place, part, _ in _pairs(value, value)]
        if inner and depth >= DEEPEST:
            return f"{TOO_DEEP}, or it contains itself - at `{path[:60]}...`"
        todo += reversed(inner)
    return None


def first_unencodable(value: Any, encode: Callable[[Any], bytes]) -> str:
    """The path to the first part of a value that cannot be encoded."""
    path, found = "$", True
    while found:
        found = False
        for place, part, _ in _pairs(value, value):
            try:
                encode(part)
            except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError):
                path, value, found = path + place, part, True
                break
    return path
