"""Patches in words: what they change, place by place, as far as they tell it without the value that they stand on."""

import base64
from collections.abc import Iterator
from typing import Any

import msgspec

from looms.reducers.codec import plain
from looms.reducers.patches import Code, Patch


def told(patch: Patch | None) -> list[str]:
    """A line for each change, such as ``messages[0].done = true``.

    In a list a place is told as it is before the change; in a dict, whose keys a patch does not hold, its entry is.
    """
    return [] if patch is None else list(_told(patch, ""))


def _told(patch: Patch, path: str) -> Iterator[str]:
    code, *rest = patch
    match code:
        case Code.SET:
            yield f"{path or 'all'} = {_json(rest[0])}"
        case Code.FIELDS:
            for name, inner in rest[0].items():
                place = f"[{name}]" if isinstance(name, int) or name.isdigit() else f".{name}"
                yield from _told(inner, (path + place).removeprefix("."))
        case Code.GONE:
            yield f"{path} is left out"
        case Code.MEMBERS:
            yield from (
                f"{path} {sign} {_json(members)}" for sign, members in zip("-+", rest, strict=True) if plain(members)
            )
        case Code.SCRIPT:
            yield from _script(rest, path)


def _script(tokens: list[Any], path: str) -> Iterator[str]:
    at = 0
    for token in tokens:
        if isinstance(token, int):
            at += token
        elif token[0] == Code.MOVE:
            count = token[1]
            yield f"{path}[{at}:{at + count}] left out" if count > 0 else f"{path}[{at + count}:{at}] once more"
            at += count
        elif token[0] == Code.INSERT:
            yield f"{path} + {_json(token[1])} at {at}"
        else:
            yield from _told(token, f"{path}[{at}]")
            at += 1


def _json(packed: bytes) -> str:
    """A value, as JSON; bytes in it as base64, as the rest of the command line tells them."""
    return msgspec.json.encode(plain(packed), enc_hook=lambda value: base64.b64encode(value).decode()).decode()
