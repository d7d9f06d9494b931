"""The difference between two values, as paths and values.

Values are compared by value *and kind*, as everywhere in Looms: `True` is not `1`, `1` is not `1.0`, `0.0` is not
`-0.0`; but for a list and a tuple, which are told alike. Two lists are laid side by side so that as few items as can be
were added or removed (`alignment.py`); where one went and another one came in its place, it is told as changed. Lists
that differ in very many items are compared place by place. A set has no places: its members were added or taken away.

What lies deeper than any value that is stored is compared as a whole, and told at the place above it.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import count
from typing import Any, Final, Literal, TypeAlias

import msgspec

from looms.reducers.alignment import Hunk, hunks
from looms.reducers.exactness import DEEPEST
from looms.reducers.plain_data import plain_data
from looms.reducers.sameness import same


class Member(msgspec.Struct, frozen=True):
    """In a path: some member of a set."""


MEMBER: Final = Member()

Path: TypeAlias = tuple[Any, ...]
"""Names of fields, keys of mappings, indexes of lists, and ``MEMBER``."""

Pair: TypeAlias = tuple[Any, Any, Path]

_by_value = msgspec.msgpack.Encoder(order="deterministic")


class Difference(msgspec.Struct, frozen=True):
    """One place where two values differ.

    Attributes:
        path: the keys and indexes that lead there: in the value after; in the one before, for what was removed.
        kind: ``added``, ``removed`` or ``changed``.
        before, after: what was and what is there; None for what was not there.
    """

    path: Path
    kind: Literal["added", "removed", "changed"]
    before: Any = None
    after: Any = None


def differences(before: Any, after: Any) -> list[Difference]:
    """Where two values differ; applying the differences in order leads from one to the other."""
    found: list[Difference] = []
    walks: list[Iterator[Difference | Pair]] = [iter([(before, after, ())])]
    while walks:  # a walk for each level that it is in; none stands within another one on the stack
        for step in walks[-1]:
            if isinstance(step, Difference):
                found.append(step)
            else:
                walks.append(_between(*step))
                break
        else:
            walks.pop()
    return found


def path_of(keys: Path) -> str:
    """A path as it is read: `$.state.items[3].price`.

    A key that is no name stands in brackets, as JSON: `$.by_day["a key"]`, `$.by_number[7]`; `[*]` is a set's member.
    """
    return "$" + "".join(map(_step_of, keys))


def _step_of(key: Any) -> str:
    if key is MEMBER:
        return "[*]"
    if isinstance(key, str) and key.isidentifier():
        return f".{key}"
    return f"[{msgspec.json.encode(plain_data(key)).decode()}]"


def _between(before: Any, after: Any, path: Path) -> Iterator[Difference | Pair]:
    """The differences between two values, and the pairs of their parts that are to be looked into."""
    if before is after:
        return
    old, new = _inside(before), _inside(after)
    if len(path) < DEEPEST:
        if isinstance(old, dict) and isinstance(new, dict):
            yield from _between_mappings(old, new, path)
            return
        if isinstance(old, list | tuple) and isinstance(new, list | tuple):
            yield from _between_lists(old, new, path)
            return
        if isinstance(old, AbstractSet) and isinstance(new, AbstractSet):
            yield from _between_sets(old, new, path)
            return
    if not same(before, after):
        yield Difference(path, "changed", before, after)


def _inside(value: Any) -> Any:
    """A value as a mapping, a list or a set, where it is told as one."""
    if isinstance(value, msgspec.Struct):
        config = value.__struct_config__
        fields = {field.encode_name: getattr(value, field.name) for field in msgspec.structs.fields(value)}
        tag = {} if config.tag_field is None else {config.tag_field: config.tag}
        told = tag | {name: part for name, part in fields.items() if part is not msgspec.UNSET}
        return list(told.values()) if config.array_like else told
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return value


def _between_mappings(before: dict[Any, Any], after: dict[Any, Any], path: Path) -> Iterator[Difference | Pair]:
    was = {(type(key), key): value for key, value in before.items()}  # True and 1 are two keys
    now = {(type(key), key): value for key, value in after.items()}
    for known, value in was.items():
        if known not in now:
            yield Difference((*path, known[1]), "removed", before=value)
    for known, value in now.items():
        if known in was:
            yield was[known], value, (*path, known[1])
        else:
            yield Difference((*path, known[1]), "added", after=value)


def _between_sets(before: AbstractSet[Any], after: AbstractSet[Any], path: Path) -> Iterator[Difference]:
    was, now = ({(type(one), _by_value.encode(one)): one for one in members} for members in (before, after))
    for known in sorted(was.keys() - now.keys(), key=_place_of):
        yield Difference((*path, MEMBER), "removed", before=was[known])
    for known in sorted(now.keys() - was.keys(), key=_place_of):
        yield Difference((*path, MEMBER), "added", after=now[known])


def _place_of(known: tuple[type, bytes]) -> tuple[str, bytes]:
    return known[0].__name__, known[1]


def _between_lists(before: Sequence[Any], after: Sequence[Any], path: Path) -> Iterator[Difference | Pair]:
    shorter = min(len(before), len(after))
    head = tail = 0
    if len(before) > 1 or len(after) > 1:  # else there is nothing to find out, and what is inside is seen once
        while head < shorter and same(before[head], after[head]):
            head += 1
        while tail < shorter - head and same(before[-1 - tail], after[-1 - tail]):
            tail += 1
    old, new = before[head : len(before) - tail], after[head : len(after) - tail]
    found = hunks(list(map(_known, old)), list(map(_known, new))) if len(old) and len(new) else None
    if found is None:
        found = [Hunk(0, len(old), 0, len(new))]
    # What is removed first keeps the index that it had, being told from the end; all others then have the new one.
    for hunk in reversed(found):
        for index in reversed(range(hunk.old + min(hunk.old_end - hunk.old, hunk.new_end - hunk.new), hunk.old_end)):
            yield Difference((*path, head + index), "removed", before=old[index])
    for hunk in found:
        for index in range(hunk.new + min(hunk.old_end - hunk.old, hunk.new_end - hunk.new), hunk.new_end):
            yield Difference((*path, head + index), "added", after=new[index])
    at = other = 0
    for hunk in (*found, Hunk(len(old), len(old), len(new), len(new))):
        for was, now, index in zip(old[at : hunk.old], new[other : hunk.new], count(head + other)):
            if not same(was, now):  # they have the same number, and are not the same: a list and a tuple
                yield was, now, (*path, index)
        for was, now, index in zip(old[hunk.old : hunk.old_end], new[hunk.new : hunk.new_end], count(head + hunk.new)):
            yield was, now, (*path, index)
        at, other = hunk.old_end, hunk.new_end


def _known(item: Any) -> int:
    """A number that items which are the same share, and hardly any others."""
    try:
        return hash((type(item), _by_value.encode(item)))
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        return id(item)
