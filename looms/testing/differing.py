"""Where two values differ, by value and kind."""

from typing import Any

import msgspec

_encoder = msgspec.msgpack.Encoder(order="deterministic", enc_hook=repr)


def said(value: Any) -> bytes:
    """A value as bytes: the same for equal values of the same types."""
    return _encoder.encode(value)


def first_place(one: Any, other: Any, path: str = "$") -> str:
    """Where two values differ first, as a path."""
    one, other = _fields(one), _fields(other)
    if type(one) is type(other) and isinstance(one, dict):
        for key in [*one, *(key for key in other if key not in one)]:
            if key not in one or key not in other:
                return f"{path}.{key}"
            if said(one[key]) != said(other[key]):
                return first_place(one[key], other[key], f"{path}.{key}")
    if type(one) is type(other) and isinstance(one, list | tuple):
        for n, (left, right) in enumerate(zip(one, other, strict=False)):
            if said(left) != said(right):
                return first_place(left, right, f"{path}[{n}]")
    return path


def _fields(value: Any) -> Any:
    return msgspec.structs.asdict(value) if isinstance(value, msgspec.Struct) else value
