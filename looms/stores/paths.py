"""Paths: where something is in a state, and how that is stored.

A path is a tuple of keys: the name that a field is stored under, an index, a key of a dict. It is shown as msgspec
shows it, ``$.items[0].id`` (``looms.reducers.changes.path_of``).

Stored, each key becomes a token, and a path is its tokens one after the other. Tokens are much like those of
FoundationDB's tuple layer:

| token | key |
|---|---|
| ``02``, UTF-8, ``00`` | a text of at most 40 bytes, with ``00`` as ``01 01``, and ``01`` as ``01 02`` |
| ``14 - n`` or ``14 + n``, ``n`` bytes, big-endian | a whole number of at most 64 bits, as an index; in their order |
| ``06``, 12 bytes | any other key by a digest: long texts, bytes, fractions, moments, tuples, ... |

No token is the beginning of another one. So one path leads to another exactly if its bytes are the beginning of
the other's, and *everything at or below a path* is one range of keys, as is everything from some index on.

**Keys that are equal have one token**, since a dict finds one by the other: ``1``, ``1.0`` and ``True``; an enum's
member that is a text, and the text. Keys that are not equal may share one (those of a kind that is not known here all
do): then a write to one is taken for a write to the other, and a reader is woken once too often, which costs a look.

A stored path has at most ``LONGEST`` bytes. A longer one is cut at a key; what is read or written there is then taken
for all that is below the cut (``overlap.py`` sees to it), which again wakes too often and never too seldom.
"""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from hashlib import blake2b
from typing import Any
from uuid import UUID

from looms.reducers.changes import Path

LONGEST = 200
"""How many bytes of a path are stored at most."""

_LONGEST_TEXT = 40
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TEXT, _DIGEST, _ZERO = b"\x02", b"\x06", 0x14
AFTER_NUMBERS = bytes([_ZERO + 9])
"""What comes after the tokens of all whole numbers."""


def stored(path: Path) -> bytes:
    """A path's bytes, cut if need be; ``kept`` says how much of it they are."""
    return b"".join(map(token, kept(path)))


def kept(path: Path) -> Path:
    """As much of a path as is stored."""
    length = 0
    for depth, key in enumerate(path):
        length += len(token(key))
        if length > LONGEST:
            return path[:depth]
    return path


def leads_to(one: Path, other: Path) -> bool:
    """Whether the other path is this one, or goes on from it."""
    return other[: len(one)] == one


def token(key: Any) -> bytes:
    """The bytes of one key."""
    if isinstance(key, str):
        return _text(key)
    if isinstance(key, int | float | Decimal):
        return _number(key)
    return _digest(_told(key))


def _text(key: str) -> bytes:
    encoded = str.encode(key, "utf-8", "surrogatepass")
    if len(encoded) > _LONGEST_TEXT:
        return _digest(b"text " + encoded)
    return _TEXT + encoded.replace(b"\1", b"\1\2").replace(b"\0", b"\1\1") + b"\0"


def _number(key: float | Decimal) -> bytes:
    if key != key:
        return _digest(b"nan")
    whole = _whole(key)
    if whole is None:
        # Numbers that are equal have one hash, whatever their kinds, and the same one in every process.
        return _digest(b"number %d" % hash(key))
    size = (abs(whole).bit_length() + 7) // 8
    if whole < 0:
        return bytes([_ZERO - size]) + ((1 << 8 * size) - 1 + whole).to_bytes(size, "big")
    return bytes([_ZERO + size]) + whole.to_bytes(size, "big")


def _whole(key: float | Decimal) -> int | None:
    """The whole number of at most 64 bits that a number is."""
    if -(2**64) < key < 2**64 and key == int(key):
        return int(key)
    return None


def _told(key: Any) -> bytes:
    """Something that all keys which are equal to this one have in common."""
    match key:
        case bytes():
            return b"bytes " + key
        case None:
            return b"None"
        case UUID(int=number):
            return b"UUID %d" % number
        case timedelta():
            return _long(key)
        case datetime(tzinfo=None):
            return b"datetime " + _long(key.replace(fold=0) - _EPOCH.replace(tzinfo=None))
        case datetime():
            return b"moment " + _long(key - _EPOCH)
        case date():
            return b"date %d" % key.toordinal()
        case Enum() if type(key).__eq__ is object.__eq__:
            return f"{type(key).__qualname__} {key.name}".encode(errors="surrogatepass")
        case tuple() if type(key).__eq__ is tuple.__eq__:
            return _all_told(key)
    return b"key"


def _all_told(keys: Sequence[Any]) -> bytes:
    return b"tuple " + b"".join(map(token, keys))


def _long(span: timedelta) -> bytes:
    return b"%d %d %d" % (span.days, span.seconds, span.microseconds)


def _digest(told: bytes) -> bytes:
    return _DIGEST + blake2b(told, digest_size=12).digest()
