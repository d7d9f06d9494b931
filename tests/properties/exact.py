"""Values compared by value *and* type, all the way down: `1`, `True` and `1.0` are three, a tuple is no list."""

import dataclasses
from collections.abc import Hashable
from datetime import datetime, time
from typing import Any

import msgspec


def exact(value: Any) -> Hashable:
    """Something that is equal for two values exactly when they are the same by value and type at every depth."""
    kind = type(value)
    name = f"{kind.__module__}.{kind.__qualname__}"
    if isinstance(value, msgspec.Struct):
        return name, tuple((field, exact(getattr(value, field))) for field in kind.__struct_fields__)
    if dataclasses.is_dataclass(value):
        return name, tuple((field.name, exact(getattr(value, field.name))) for field in dataclasses.fields(value))
    if isinstance(value, dict):
        return name, tuple((exact(key), exact(item)) for key, item in value.items())
    if isinstance(value, list | tuple):
        return name, tuple(exact(item) for item in value)
    if isinstance(value, set | frozenset):
        return name, frozenset(exact(item) for item in value)
    if isinstance(value, datetime):
        instant = value.timestamp() if value.tzinfo else None  # a moment is the same whatever zone it is told in
        return name, instant if instant is not None else value.isoformat(), value.microsecond
    if isinstance(value, time):
        value = value.replace(fold=0)
    return name, repr(value)  # nan, -0.0 and Decimal("1.0") say by their text which they are
