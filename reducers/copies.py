"""A copy of a value that shares nothing with it that could be changed in place."""

import dataclasses
from copy import copy, deepcopy
from typing import Any

import msgspec

from looms.reducers.bottom_up import Build, bottom_up


def deep_copy(value: Any) -> Any:
    """A copy, also of a value that is nested more deeply than Python's stack is."""
    try:
        return deepcopy(value)
    except RecursionError:
        return bottom_up(value, _apart)


def _apart(value: Any, depth: int) -> tuple[list[Any], Build]:
    kind: Any = type(value)
    match value:
        case msgspec.Struct():
            names = value.__struct_fields__
            return [getattr(value, name) for name in names], lambda parts: msgspec.structs.replace(
                value, **dict(zip(names, parts, strict=True))
            )
        case dict():
            return [*value, *value.values()], lambda parts: kind(
                zip(parts[: len(value)], parts[len(value) :], strict=True)
            )
        case tuple() if hasattr(kind, "_make"):
            return list(value), kind._make
        case list() | tuple() | set() | frozenset():
            return list(value), kind
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = tuple(field.name for field in dataclasses.fields(value))
        return [getattr(value, name) for name in names], lambda parts: _dataclass_with(value, names, parts)
    return [], lambda parts: copy(value)


def _dataclass_with(value: Any, names: tuple[str, ...], parts: list[Any]) -> Any:
    made = copy(value)
    for name, part in zip(names, parts, strict=True):
        object.__setattr__(made, name, part)
    return made
