"""Kinds of values: which are looked into, and by which keys.

A struct or dataclass is looked into by its fields, a list or tuple by its indexes, a dict by its keys. A set has no
places in it: it is read and written as a whole. Everything else is a scalar and stands for itself: numbers, texts,
moments, enums, frozen sets.
"""

import dataclasses
from collections.abc import Callable
from copy import copy
from functools import cache
from operator import is_
from typing import Any

import msgspec

from looms.reducers.bottom_up import Build, bottom_up
from looms.reducers.schemas import is_changeable, schema


@cache
def fields_of(kind: type) -> dict[str, str | int]:
    """The fields of a class of structs or dataclasses, each with the key that it is stored under; of others, none."""
    if issubclass(kind, msgspec.Struct):
        config = kind.__struct_config__
        if config.array_like:
            first = 0 if config.tag is None else 1  # the tag stands before the fields
            return {name: number for number, name in enumerate(kind.__struct_fields__, first)}
        return dict(zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True))
    if dataclasses.is_dataclass(kind):
        return {field.name: field.name for field in dataclasses.fields(kind)}
    return {}


def is_record(kind: type) -> bool:
    """Whether a class is one of structs or dataclasses."""
    return issubclass(kind, msgspec.Struct) or dataclasses.is_dataclass(kind)


@cache
def is_scalar(kind: type) -> bool:
    """Whether values of a class stand for themselves."""
    if kind in (list, dict, set) or issubclass(kind, tuple) or is_record(kind):
        return False
    return not hasattr(kind, "_looms_plain")  # a stand-in is what it stands for


def with_fields(value: Any, changes: dict[str, Any]) -> Any:
    """A struct or dataclass with other values in some fields, set at once; its own checks see it whole.

    Raises:
        ValueError, TypeError: its own check (``__post_init__``) refuses it.
    """
    if isinstance(value, msgspec.Struct):
        return msgspec.structs.replace(value, **changes)
    made = _bare_copy(value)
    for name, part in changes.items():
        object.__setattr__(made, name, part)
    if hasattr(made, "__post_init__"):
        made.__post_init__()
    return made


def filled(value: Any, changes: dict[str, Any]) -> Any:
    """The same without those checks: for parts that are as good as those that were there."""
    is_struct = isinstance(value, msgspec.Struct)
    if is_struct and not hasattr(value, "__post_init__"):
        return msgspec.structs.replace(value, **changes)
    made = value.__copy__() if is_struct else _bare_copy(value)
    put = msgspec.structs.force_setattr if is_struct else object.__setattr__
    for name, part in changes.items():
        put(made, name, part)
    return made


def _bare_copy(value: Any) -> Any:
    made = object.__new__(type(value))
    for field in dataclasses.fields(value):
        if hasattr(value, field.name):
            object.__setattr__(made, field.name, getattr(value, field.name))
    return made


def own(value: Any, of_stand_in: Callable[[Any], Any] | None = None) -> Any:
    """A value for somebody who may change it: nothing in it that can be changed is shared.

    Args:
        value: the value.
        of_stand_in: given a part, what it stands for, if it is a stand-in, else the part. Without it there are none
            in the value, and each part is what its type says.
    """
    try:
        return _own(value, of_stand_in)
    except RecursionError:
        return bottom_up(value, lambda part, depth: _apart(of_stand_in(part) if of_stand_in else part))


def _own(value: Any, of_stand_in: Callable[[Any], Any] | None) -> Any:
    if of_stand_in is not None and (stood_for := of_stand_in(value)) is not value:
        return _own(stood_for, None)
    kind: Any = type(value)
    if _is_leaf(kind) or (of_stand_in is None and _never_changes(kind)):
        return value
    parts, build = _apart(value)
    made = [_own(part, of_stand_in) for part in parts]
    if is_frozen(kind) and all(map(is_, made, parts)):
        return value
    return build(made)


def _class(value: Any) -> Any:
    return type(value)


def levels(value: Any) -> int:
    """How deeply a value is nested: 0 for a scalar, or for what has nothing in it."""
    found, level = 0, [value]
    while level := [part for whole in level if not _is_leaf(_class(whole)) for part in _apart(whole)[0]]:
        found += 1
    return found


@cache
def _is_leaf(kind: type) -> bool:
    return is_scalar(kind) and not issubclass(kind, list | dict | set | frozenset | bytearray)


@cache
def is_frozen(kind: type) -> bool:
    """Whether a value of a class is always what it is, as long as its parts are."""
    if issubclass(kind, msgspec.Struct):
        return kind.__struct_config__.frozen
    if dataclasses.is_dataclass(kind):
        return bool(kind.__dataclass_params__.frozen)  # type: ignore[attr-defined]
    return issubclass(kind, tuple | frozenset)


@cache
def _never_changes(kind: type) -> bool:
    """Whether a value of a class can hold nothing that can be changed."""
    if not is_record(kind):
        return False
    try:
        return not is_changeable(schema(kind))
    except (TypeError, NameError, AttributeError):  # msgspec does not know it: there it is Any
        return False


def _apart(value: Any) -> tuple[list[Any], Build]:
    """The parts of a value, and what puts them together again."""
    kind: Any = type(value)
    if issubclass(kind, tuple):
        return list(value), kind._make if hasattr(kind, "_make") else tuple
    if issubclass(kind, list | set | frozenset):
        return list(value), lambda parts: _refilled(value, kind, parts)
    if issubclass(kind, dict):
        count = len(value)
        keys_and_values = [*value, *value.values()]
        return keys_and_values, lambda parts: _refilled(value, dict, zip(parts[:count], parts[count:], strict=True))
    if issubclass(kind, bytearray):
        return [], lambda parts: copy(value)
    names = [name for name in fields_of(kind) if hasattr(value, name)]
    if not names:
        return [], lambda parts: value
    return [getattr(value, name) for name in names], lambda parts: filled(value, dict(zip(names, parts, strict=True)))


def _refilled(value: Any, kind: Any, parts: Any) -> Any:
    """A collection of the same class with other parts."""
    if type(value) in (list, dict, set, frozenset):
        return kind(parts)
    made = copy(value)
    if isinstance(made, dict | set):
        made.clear()
        made.update(parts)
    elif isinstance(made, list):
        made[:] = parts
    return made
