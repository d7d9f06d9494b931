"""MessagePack as JSON, and back to the very same bytes.

What plain JSON says exactly, it says plainly. The rest is an object with one key that begins with ``$``:

| object | value |
|---|---|
| ``{"$bytes": "AAE="}`` | bytes, in base64 |
| ``{"$time": "2026-03-01T12:00:00Z"}`` | a moment |
| ``{"$float": "nan"}`` | ``nan``, ``inf`` or ``-inf`` |
| ``{"$map": [[1, "a"]]}`` | a mapping whose keys are not all text, or of which a text begins with ``$`` |
| ``{"$msgpack": "xwEF..."}`` | anything else: MessagePack, in base64 |

Every value is compared, byte by byte, with what it will be read back as; where they differ, the whole of it is written
the last way. So an export cannot lose what nobody thought of.
"""

import json
import math
from base64 import b64decode, b64encode
from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec

from looms.reducers.codec import encode, plain
from looms.reducers.messages import shown
from looms.reducers.sizes import LARGEST, PARTS, too_large

MARK = b'"$'
"""What stands in JSON where there may be such an object."""

_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def as_json(data: bytes | msgspec.Raw) -> bytes:
    """A value that is MessagePack, as JSON on one line.

    Raises:
        msgspec.MsgspecError: it is no MessagePack.
    """
    packed = bytes(data)
    value = plain(packed)
    try:
        written = msgspec.json.encode(value)
        if MARK not in written and _is_small(written, packed) and encode(msgspec.json.decode(written)) == packed:
            return written
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError):
        pass  # JSON has no such value
    try:
        written = msgspec.json.encode(_marked(value))
        if _is_small(written, packed) and from_json(written) == packed:
            return written
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError, OverflowError):
        pass
    return msgspec.json.encode({"$msgpack": b64encode(packed).decode()})


def _is_small(written: bytes, packed: bytes) -> bool:
    """Whether JSON of a large value is not much larger than that: control characters take six bytes there."""
    return len(packed) < 1 << 16 or (len(written) <= 3 * len(packed) and parts(written) <= PARTS // 2)


def parts(text: bytes) -> int:
    """How many lists and mappings there are in JSON, at most: brackets in its texts count too."""
    return text.count(b"[") + text.count(b"{")


def from_json(text: bytes | msgspec.Raw) -> bytes:
    """The MessagePack that ``as_json`` wrote as this.

    Raises:
        ValueError: it is no JSON, or an object with a ``$`` that is none of these.
        RecursionError: it is nested too deeply.
    """
    return packed(msgspec.json.decode(text), marked=MARK in bytes(text))


def packed(value: Any, *, marked: bool = True) -> bytes:
    """The MessagePack of what was read from JSON; ``marked``: there may be objects with a ``$`` in it.

    Raises:
        ValueError: an object with a ``$`` that is none of these.
        RecursionError: it is nested too deeply.
    """
    return encode(_unmarked(value) if marked else value)


def _marked(value: Any) -> Any:
    match value:
        case dict():
            if all(type(key) is str and not key.startswith("$") for key in value):
                return {key: _marked(item) for key, item in value.items()}
            return {"$map": [[_marked(key), _marked(item)] for key, item in value.items()]}
        case list() | tuple():
            return [_marked(item) for item in value]
        case float() if not math.isfinite(value):
            return {"$float": str(value)}
        case bytes():
            return {"$bytes": b64encode(value).decode()}
        case datetime():
            return {"$time": msgspec.to_builtins(value)}
        case None | bool() | int() | float() | str():
            return value
    return {"$msgpack": b64encode(encode(value)).decode()}


def _unmarked(value: Any) -> Any:
    if isinstance(value, list):
        return [_unmarked(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((key, held),) = value.items()
        if key.startswith("$"):
            read = _READ.get(key)
            if read is None:
                raise ValueError(f"an object with {shown(key)}; one of {', '.join(_READ)}, or a mapping as $map")
            return read(held)
    if any(key.startswith("$") for key in value):
        raise ValueError("an object with a key that begins with $ beside others; such a mapping is written as $map")
    return {key: _unmarked(item) for key, item in value.items()}


def _bytes(held: Any) -> bytes:
    if not isinstance(held, str):
        raise ValueError("it should hold base64")
    return b64decode(held, validate=True)


def _time(held: Any) -> datetime:
    return msgspec.convert(held, datetime)


def _float(held: Any) -> float:
    if not isinstance(held, str) or held not in _FLOATS:
        raise ValueError(f"$float is one of {', '.join(_FLOATS)}")
    return _FLOATS[held]


def _map(held: Any) -> dict[Any, Any]:
    if not isinstance(held, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in held):
        raise ValueError("$map holds a list of [key, value]")
    return {_key(_unmarked(key)): _unmarked(item) for key, item in held}


def _key(key: Any) -> Any:
    try:
        hash(key)
    except TypeError:
        return tuple(_key(item) for item in key) if isinstance(key, list) else _no_key(key)
    return key


def _no_key(key: Any) -> Any:
    raise ValueError(f"{shown(key)} is no key of a mapping")


def _msgpack(held: Any) -> msgspec.Raw:
    data = _bytes(held)
    if len(data) > 2 * LARGEST:  # decisions may hold a value of the full size
        raise ValueError(too_large(len(data), 2 * LARGEST))
    plain(data)
    return msgspec.Raw(data)


_READ: dict[str, Callable[[Any], Any]] = {
    "$bytes": _bytes,
    "$time": _time,
    "$float": _float,
    "$map": _map,
    "$msgpack": _msgpack,
}


def member_twice(value: Any, text: bytes) -> str | None:
    """A member that an object in a text has twice, of which only one was read; None where there is none.

    Args:
        value: what was read of the text.
        text: the text.
    """
    if b"\\u003" not in text and text.count(b":") == msgspec.json.encode(value).count(b":"):
        return None  # each member has a colon, and so many were read
    twice: list[str] = []

    def pairs(members: list[tuple[str, Any]]) -> None:
        seen: set[str] = set()
        for name, _ in members:
            if name in seen:
                twice.append(name)
            seen.add(name)

    json.loads(text, object_pairs_hook=pairs)
    return twice[0] if twice else None
