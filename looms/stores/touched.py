"""What an update touched: the places where the new state differs, as its patch tells them.

A list whose items stayed where they were is told item by item, and its end by what came or went there; one in which
items have moved, as one. In a dict, entries are told by their keys; where their order alone has changed, by the one
that stands last, since entries move by being taken out and put in anew.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from looms.reducers.changes import Path
from looms.reducers.codec import encode, plain
from looms.reducers.patches import Code, Patch
from looms.reducers.sameness import same
from looms.stores.kinds import fields_of
from looms.stores.overlap import Write, fewest_writes

_NOTHING: Any = object()


def touched(before: Any, after: Any, patch: Patch | None) -> tuple[Write, ...]:
    """Where a state came to differ.

    Args:
        before: the old state.
        after: the new one.
        patch: what makes the one into the other (``looms.reducers.differences``); None where nothing differs.
    """
    return () if patch is None else fewest_writes(_touched(before, after, patch, ()))


def _touched(before: Any, after: Any, patch: Patch, path: Path) -> Iterator[Write]:
    match patch[0]:
        case Code.FIELDS if isinstance(after, tuple):
            for at, inner in patch[1].items():
                yield from _touched(before[int(at)], after[int(at)], inner, (*path, int(at)))
        case Code.FIELDS:
            names = {key: name for name, key in fields_of(after.__class__).items()}
            for key, inner in patch[1].items():
                old, new = getattr(before, names[key]), getattr(after, names[key])
                yield from _touched(old, new, inner, (*path, key))
        case Code.SCRIPT if isinstance(after, dict):
            yield from _entries(before, after, patch[1:], path)
        case Code.SCRIPT:
            yield from _items(before, after, patch[1:], path)
        case Code.SET:
            yield from _whole(before, after, path)
        case _:
            yield Write(path)


def _items(before: Sequence[Any], after: Sequence[Any], tokens: list[Any], path: Path) -> Iterator[Write]:
    found: list[Write] = []
    shorter = min(len(before), len(after))
    at = to = 0  # the place in the old list, and in the new one
    told = 0  # up to where
    for token in tokens:
        if isinstance(token, list) and token[0] == Code.MOVE:
            at += token[1]
            continue
        if isinstance(token, list) and token[0] == Code.INSERT:
            to += len(plain(token[1]))
            continue
        if at != to:
            yield Write(path)  # something stands somewhere else now
            return
        found += [Write((*path, other)) for other in range(told, to)]
        if not isinstance(token, int):
            found += _touched(before[at], after[to], token, (*path, to))
        at = to = told = to + (token if isinstance(token, int) else 1)
    found += [Write((*path, other)) for other in range(told, shorter)]
    if len(before) != len(after):
        found.append(Write(path, shorter))
    yield from found


def _entries(before: dict[Any, Any], after: dict[Any, Any], tokens: list[Any], path: Path) -> Iterator[Write]:
    keys = list(before)
    found = [Write((*path, key)) for key in (*before, *after) if key not in before or key not in after]
    stayed: set[int] = set()
    at = 0
    for token in tokens:
        if isinstance(token, int):
            stayed.update(range(at, at + token))
            at += token
        elif token[0] == Code.MOVE:
            at += token[1]
        elif token[0] != Code.INSERT:
            stayed.add(at)
            found += _touched(before[keys[at]], after[keys[at]], token, (*path, keys[at]))
            at += 1
    # An entry that was put anew although its key was there: the key is of another kind now.
    found += [Write((*path, key)) for at, key in enumerate(keys) if at not in stayed and key in after]
    yield from found or [Write((*path, next(reversed(after))))]


def _whole(before: Any, after: Any, path: Path) -> Iterator[Write]:
    """What was put as a whole: of two dataclasses or dicts, only some places may differ."""
    found: list[Write] = []
    if type(before) is type(after):
        if isinstance(after, dict) and same(list(before), list(after)):
            for key, value in after.items():
                found += _if_different(before[key], value, (*path, key))
        elif dataclasses.is_dataclass(after):
            for name in fields_of(after.__class__):
                found += _if_different(getattr(before, name, _NOTHING), getattr(after, name, _NOTHING), (*path, name))
    yield from found or [Write(path)]


def _if_different(before: Any, after: Any, path: Path) -> Iterator[Write]:
    if before is after:
        return
    there = before is not _NOTHING and after is not _NOTHING
    if not (there and same(before, after) and encode(before) == encode(after)):  # by bytes, dicts have an order
        yield from _whole(before, after, path)
