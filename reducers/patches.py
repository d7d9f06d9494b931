"""Patches: what makes one value into another, small where little differs; and applying them.

A patch is plain data, msgpack once encoded: a list that begins with a code. Values in it are bytes (msgpack again), so
that they are read as the type that is declared where they go.

| patch | makes of a value |
|---|---|
| ``[SET, bytes]`` | this other value |
| ``[FIELDS, {key: patch, ...}]`` | a struct, or a tuple of fixed length, with these fields changed |
| ``[GONE]`` | nothing: an optional field that is not there |
| ``[SCRIPT, token, ...]`` | a list, tuple or dict: what the tokens put together from the parts of the old one |
| ``[MEMBERS, bytes, bytes]`` | a set without some members, and with some new ones |

A script has a place in the old value, at first its beginning. Its tokens: a number ``n`` takes the next ``n`` parts as
they are, a patch takes the next one changed, ``[MOVE, n]`` goes so many parts on or back, ``[INSERT, bytes]`` adds new
parts. (The copy and insert instructions of VCDIFF, RFC 3284, over parts instead of bytes.) A part of a dict is an
entry; a patch is for its value.

The same patch is applied to states of today's types and to plain data, where there is no code for it.
"""

from enum import IntEnum
from typing import Any, TypeAlias

import msgspec

from looms.reducers.codec import Unfit, encode, plain
from looms.reducers.places import ANYTHING, Entries, Fields, Items, Members, Place, Slots

Patch: TypeAlias = list[Any]


class Code(IntEnum):
    """What a patch, or a token of a script, begins with."""

    SET = 0
    FIELDS = 1
    GONE = 2
    SCRIPT = 3
    MEMBERS = 4
    MOVE = 5
    INSERT = 6


def apply(before: Any, patch: Patch, where: Place) -> Any:
    """The value that a patch makes of another one, which stays as it is; what does not change, they share.

    Args:
        before: the value that the patch was made against, or the plain data of it.
        patch: the patch.
        where: the place of the value; ``ANYTHING`` for plain data.

    Raises:
        Unfit: the patch is none, or not one of this value.
    """
    try:
        return _applied(before, patch, where)
    except Unfit:
        raise
    except (msgspec.MsgspecError, LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise Unfit(f"it does not go with what it stands on ({type(error).__name__}: {error})") from error


def _applied(before: Any, patch: Patch, where: Place) -> Any:
    code, *rest = patch
    match code:
        case Code.SET:
            return where.codec.unpack(rest[0])
        case Code.FIELDS:
            return _with_fields(before, rest[0], where)
        case Code.SCRIPT:
            return _played(before, rest, where)
        case Code.MEMBERS:
            return _with_members(before, rest[0], rest[1], where)
    raise Unfit(f"{code!r} is no patch")


def _with_fields(before: Any, changes: dict[str | int, Patch], where: Place) -> Any:
    inside = where.inside(type(before))
    if isinstance(inside, Fields):
        changed = {}
        for key, patch in changes.items():
            name, field = inside.of[key]
            gone = patch[0] == Code.GONE
            changed[name] = msgspec.UNSET if gone else _applied(getattr(before, name), patch, field)
        return msgspec.structs.replace(before, **changed)
    if isinstance(inside, Slots):
        slots = list(before)
        for index, patch in changes.items():
            slots[int(index)] = _applied(slots[int(index)], patch, inside.of[int(index)])
        return tuple(slots)
    return _with_plain_fields(before, changes)


def _with_plain_fields(before: Any, changes: dict[str | int, Patch]) -> Any:
    after: Any = before.copy()
    for key, patch in changes.items():
        if patch[0] == Code.GONE:
            after.pop(key, None)
        else:
            after[key] = _applied(None if patch[0] == Code.SET else after[key], patch, ANYTHING)
    return after


def _played(before: Any, tokens: list[Any], where: Place) -> Any:
    inside = where.inside(type(before))
    if isinstance(before, dict):
        if not isinstance(inside, Entries):
            raise Unfit("a dict is declared as something else")
        return _play_entries(before, tokens, inside)
    if not isinstance(inside, Items):
        raise Unfit("a list is declared as something else")
    return type(before)(_play_items(before, tokens, inside))


def _play_items(before: Any, tokens: list[Any], inside: Items) -> list[Any]:
    after: list[Any] = []
    at = 0
    for token in tokens:
        if isinstance(token, int):
            after += _next(before, at, token)
            at += token
        elif token[0] == Code.MOVE:
            at += token[1]
        elif token[0] == Code.INSERT:
            after += inside.whole.codec.unpack(token[1])
        else:
            after.append(_applied(_next(before, at, 1)[0], token, inside.item))
            at += 1
    return after


def _play_entries(before: dict[Any, Any], tokens: list[Any], inside: Entries) -> dict[Any, Any]:
    entries = list(before.items())
    after: dict[Any, Any] = {}
    at = 0
    for token in tokens:
        if isinstance(token, int):
            after.update(_next(entries, at, token))
            at += token
        elif token[0] == Code.MOVE:
            at += token[1]
        elif token[0] == Code.INSERT:
            after.update(inside.whole.codec.unpack(token[1]))
        else:
            key, value = _next(entries, at, 1)[0]
            after[key] = _applied(value, token, inside.value)
            at += 1
    return after


def _next(parts: Any, at: int, count: int) -> Any:
    if at < 0 or count < 1 or at + count > len(parts):
        raise Unfit(f"parts {at} to {at + count} of {len(parts)}")
    return parts[at : at + count]


def _with_members(before: Any, removed: bytes, added: bytes, where: Place) -> Any:
    if isinstance(before, list):  # plain data: what a set is stored as
        gone = {encode(member) for member in plain(removed)}
        return [member for member in before if encode(member) not in gone] + plain(added)
    inside = where.inside(type(before))
    if not isinstance(inside, Members):
        raise Unfit("a set is declared as something else")
    codec = inside.whole.codec
    return (before - codec.unpack(removed)) | codec.unpack(added)
