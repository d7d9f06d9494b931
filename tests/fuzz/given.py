"""Values of every kind that a caller's code may have, written as MessagePack: so that they can be spoiled too.

A mapping with the one key ``!`` stands for what plain data cannot say: ``{"!": ["set", [1, 2]]}``.
"""

from collections import OrderedDict, UserDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec

from tests.fuzz.desk import Mood, Node, Told
from tests.fuzz.mutations import nested

encode = msgspec.msgpack.encode


class _Text(str):
    __slots__ = ()


class _Number(int):
    pass


class _Pair(NamedTuple):
    one: Any
    other: Any


class _Silent:
    """An object that cannot even be shown."""

    def __repr__(self) -> str:
        raise ValueError("no repr")


class _Moody:
    """An object that is equal to nothing, and says so loudly."""

    def __eq__(self, other: object) -> bool:
        raise ValueError("no eq")

    __hash__ = object.__hash__


class _Number2(Enum):
    ONE = 1


@dataclass(frozen=True)
class _Data:
    value: Any


def _data(value: Any) -> bytes:
    return b"" if isinstance(value, int) else bytes(value)


def _loop(value: Any) -> Any:
    made: list[Any] = [value]
    made.append(made)
    return made


_KINDS: dict[str, Callable[[Any], Any]] = {
    "set": lambda value: set(map(_hashable, value)),
    "frozenset": lambda value: frozenset(map(_hashable, value)),
    "tuple": tuple,
    "pair": lambda value: _Pair(value, value),
    "ordered": lambda value: OrderedDict(a=value),
    "user": lambda value: UserDict(a=value),
    "data": _Data,
    "node": lambda value: Node("n", value),
    "event": Told,
    "text": lambda value: _Text(value),
    "int": lambda value: _Number(value),
    "big": lambda value: 2 ** min(int(value), 100_000),  # beyond 14,000 it has no text: Python refuses that
    "decimal": lambda value: Decimal(value),
    "fraction": lambda value: Fraction(value),
    "complex": lambda value: complex(value, 1),
    "date": lambda value: date(2026, 1, 2),
    "naive": lambda value: datetime(2026, 1, 2, 3),  # noqa: DTZ001 - that is what it is for
    "zone": lambda value: datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Berlin")),
    "first": lambda value: datetime.min.replace(tzinfo=UTC),
    "last": lambda value: datetime.max.replace(tzinfo=UTC),
    "time": lambda value: time(3, 4),
    "delta": lambda value: timedelta(seconds=value),
    "uuid": lambda value: UUID(int=int(value)),
    "enum": lambda value: Mood.GOOD,
    "number": lambda value: _Number2.ONE,
    "object": lambda value: object(),
    "silent": lambda value: _Silent(),
    "moody": lambda value: _Moody(),
    "class": lambda value: Told,
    "function": lambda value: len,
    "loop": _loop,
    "half": lambda value: "\ud800" + str(value),
    "bytearray": lambda value: bytearray(_data(value)),
    "view": lambda value: memoryview(_data(value)),
    "deep": lambda value: nested(min(int(value), 200_000)),
    "mapping": lambda value: nested(min(int(value), 200_000), mapping=True),
    "wide": lambda value: dict.fromkeys(map(str, range(min(int(value), 20_000)))),
    "raw": lambda value: msgspec.Raw(_data(value)),
    "unset": lambda value: msgspec.UNSET,
    "generator": lambda value: (one for one in value),
    "exception": lambda value: ValueError(value),
}

_ARGUMENTS: dict[str, Any] = {"big": 70, "deep": 201, "mapping": 5_000, "wide": 2_000, "decimal": "1.5", "delta": 1.5}


def kinds() -> list[bytes]:
    """A value of each kind."""
    made = [{"!": [name, _ARGUMENTS.get(name, [1, "a"] if name in _ITEMS else 3)]} for name in _KINDS]
    return [encode(one) for one in [*made, {"!": ["big", 20_000]}]]


_ITEMS = ("set", "frozenset", "tuple", "generator", "bytearray", "view", "raw")


def value_of(data: bytes) -> Any:
    """The value that some bytes stand for; the bytes themselves where they stand for none."""
    try:
        return _made(msgspec.msgpack.decode(data), 0)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return data


def _made(value: Any, depth: int) -> Any:
    if depth > 50:
        return value
    if isinstance(value, list):
        return [_made(one, depth + 1) for one in value]
    if not isinstance(value, dict):
        return value
    kind = value.get("!")
    if len(value) == 1 and isinstance(kind, list) and len(kind) == 2 and kind[0] in map(str, _KINDS):
        return _odd(kind[0], _made(kind[1], depth + 1))
    return {_hashable(key): _made(one, depth + 1) for key, one in value.items()}


def _odd(kind: str, value: Any) -> Any:
    try:
        return _KINDS[kind](value)
    except (TypeError, ValueError, OverflowError, ArithmeticError):
        return value


def _hashable(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        return repr(value)
    return value
