"""Spoiling what is right: from valid bytes to bytes that are wrong in one place, so that the checks behind the first
one are tried too.

Bytes are flipped, put in, taken out, doubled and cut. Where they are MessagePack or JSON, a value somewhere inside is
also made another one, and the whole is packed again: what a sender of another version, or one with a bug, would send.
"""

import gzip
import hashlib
import json
import zlib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from random import Random
from typing import Any, Literal, TypeAlias

import msgspec

Form: TypeAlias = Literal["msgpack", "json", "lines", "row", "text"]
"""What valid bytes are: a value as MessagePack or as JSON, lines of an export, a row of a table, or words."""

ODD: list[Any] = [
    *(None, True, False, 0, 1, -1, 2, 3, 255, 256, 2**31, 2**53 + 1, 2**61, 2**61 + 1, 2**63 - 1, 2**63, 2**64 - 1),
    *(-(2**31), -(2**63), 0.0, -0.0, 1.5, 1e308, -1e308, float("nan"), float("inf")),
    *("", "x", "root", "a\0b", "x" * 256, "é" * 128, "looms.started", "desk.told", "$bytes", "1970-01-01T00:00:00Z"),
    *(b"", b"\xff\xfe", b"\xc0", [], {}, [None], [[]], {"": None}, {"$bytes": "AAE="}, {"$map": [[1, 2]]}),
    *({1: 2}, {None: 1}, [1, 2, 3], ["", ""], datetime(2026, 1, 1, tzinfo=UTC), datetime(1, 1, 1, tzinfo=UTC)),
    msgspec.msgpack.Ext(5, b"x"),
]
"""Values that are right somewhere and wrong elsewhere."""

DEEP = (199, 200, 201, 1_500, 60_000)
"""How deeply a bomb is nested: about the limit, about the stack's, and far beyond."""

BYTES = (b"\x00", b"\xff", b"\xc1", b"\xdf\xff\xff\xff\xff", b"\xc6\xff\xff\xff\xff", b'"', b"{", b"[", b"\n", b"\x80")
_HERE = "here-is-the-place-of-a-bomb"


def spoiled(data: bytes, form: Form, random: Random) -> bytes:
    """Bytes that are wrong somewhere, or right once more."""
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        ways = (
            [_bytewise]
            if form == "text"
            else [_of_row]
            if form == "row"
            else [_bytewise, _inside[form], _inside[form], _inside[form]]
        )
        try:
            data = random.choice(ways)(data, random)
        except (
            msgspec.MsgspecError,
            ValueError,
            TypeError,
            OverflowError,
            RecursionError,
            OSError,
            EOFError,
            zlib.error,
        ):
            data = _bytewise(data, random)  # they are no such value any more
    return data


def _bytewise(data: bytes, random: Random) -> bytes:
    at = random.randrange(len(data) + 1)
    upto = min(len(data), at + random.choice((1, 1, 2, 4, 16)))
    match random.choice(("flip", "put", "odd", "cut", "end", "twice", "number")):
        case "flip" if data:
            at = min(at, len(data) - 1)
            return data[:at] + bytes([data[at] ^ (1 << random.randrange(8))]) + data[at + 1 :]
        case "put":
            return data[:at] + bytes([random.randrange(256)]) + data[at:]
        case "odd":
            return data[:at] + random.choice(BYTES) + data[at:]
        case "cut":
            return data[:at] + data[upto:]
        case "end":
            return data[:at]
        case "twice":
            return data[:at] + data[at:upto] * 2 + data[upto:]
    return data[:at] + random.choice((b"0", b"-1", b"99999999999999999999", b"1e999", b"0.5")) + data[upto:]


def _of_msgpack(data: bytes, random: Random) -> bytes:
    value, bomb = changed(msgspec.msgpack.decode(data), random)
    packed = msgspec.msgpack.encode(value)
    opened, closed = (b"\x91", b"\xc0") if random.randrange(2) else (b"\x81\xa0", b"\xc0")
    return packed.replace(msgspec.msgpack.encode(_HERE), opened * bomb + closed) if bomb else packed


def _of_json(data: bytes, random: Random) -> bytes:
    value, bomb = changed(msgspec.json.decode(data), random)
    packed = json.dumps(value, default=str).encode(errors="surrogatepass")
    opened, closed = (b"[", b"]") if random.randrange(2) else (b'{"":', b"}")
    return packed.replace(json.dumps(_HERE).encode(), opened * bomb + b"0" + closed * bomb) if bomb else packed


def _of_lines(data: bytes, random: Random) -> bytes:
    """An export of which a line is another one; its counts and its checksum are right, or nothing else would be tried.

    One that is compressed stays so.
    """
    if data[:2] == b"\x1f\x8b":
        return gzip.compress(_of_lines(gzip.decompress(data), random), compresslevel=1)
    lines = data.splitlines()
    at = random.randrange(len(lines))
    match random.choice(("value", "value", "value", "value", "drop", "twice", "swap")):
        case "drop":
            del lines[at]
        case "twice":
            lines.insert(at, lines[at])
        case "swap":
            other = random.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
        case _:
            lines[at] = _of_json(lines[at], random)
    return b"\n".join(lines) + b"\n" if at == len(lines) - 1 else resealed(lines)


def resealed(lines: list[bytes]) -> bytes:
    """Lines of an export with a last line that fits them."""
    body = b"".join(line + b"\n" for line in lines if not line.startswith(b'{"line":"end"'))
    runs, records = (body.count(b'{"line":"%s"' % kind) for kind in (b"run", b"record"))
    end = {"line": "end", "runs": runs, "records": records, "sha256": hashlib.sha256(body).hexdigest()}
    return body + msgspec.json.encode(end) + b"\n"


def _of_row(data: bytes, random: Random) -> bytes:
    """A row of a table (the table's place, key, body) whose body is another one; seldom its key."""
    at, key, body = msgspec.msgpack.decode(data)
    if random.randrange(6) == 0 or not body:
        key = _bytewise(key, random)
    else:
        body = random.choice((_of_msgpack, _of_msgpack, _of_msgpack, _bytewise))(body, random)
    return msgspec.msgpack.encode((at, key, body))


_inside: dict[Form, Callable[[bytes, Random], bytes]] = {
    "msgpack": _of_msgpack,
    "json": _of_json,
    "lines": _of_lines,
    "row": _of_row,
}


def changed(value: Any, random: Random) -> tuple[Any, int]:
    """A value of which a part is another one; and, where a bomb is to stand in it, how deep that is."""
    places = list(_places(value))
    if not places or random.randrange(12) == 0:
        return random.choice(ODD), 0
    way = random.choice(places)
    how = random.choice(("odd", "odd", "odd", "near", "gone", "twice", "more", "bomb", "other"))
    deep = random.choice(DEEP) if how == "bomb" else 0
    return _with(value, way, how, random), deep


def _places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*way, key)
        if len(way) < 12:
            yield from _places(inner, (*way, key))


def _with(value: Any, way: tuple[Any, ...], how: str, random: Random) -> Any:
    key, *rest = way
    made: Any = dict(value) if isinstance(value, dict) else list(value)
    if rest:
        made[key] = _with(value[key], tuple(rest), how, random)
        return made
    old = made[key]
    match how:
        case "gone":
            del made[key]
        case "twice" if isinstance(made, list):
            made.insert(key, old)
        case "more" if isinstance(made, dict):
            made[random.choice(("", "$x", "seq", "id", "more", "x" * 300))] = random.choice(ODD)
        case "near":
            made[key] = near(old, random)
        case "bomb":
            made[key] = _HERE
        case "other":
            made[key] = random.choice(list(made.values()) if isinstance(made, dict) else made)
        case _:
            made[key] = random.choice(ODD)
    return made


def near(old: Any, random: Random) -> Any:
    """A value that is nearly the old one."""
    match old:
        case bool():
            return not old
        case int() | float():
            return old + random.choice((-1, 1, -1_000, 1_000, 2**32, 0.5))
        case str():
            return random.choice((old + "x", old[:-1], old.upper(), old + "\0", old * 50, f"looms.{old}"))
        case bytes():
            return _bytewise(old, random)
        case list():
            return random.choice((old[1:], old * 2, old[::-1], [old]))
        case dict():
            return {key: old[key] for key in sorted(old, key=str)[1:]}
    return [old]


def nested(levels: int, *, mapping: bool = False) -> Any:
    """A value that is nested so deeply."""
    value: Any = 1
    for _ in range(levels):
        value = {"a": value} if mapping else [value]
    return value


def gz_bomb(size: int) -> bytes:
    """A small gzip file that becomes so many bytes, of one line that never ends."""
    part = 64 << 20
    return gzip.compress(b" " * part, compresslevel=9, mtime=0) * (size // part)
