"""Differences: the patch that makes one frozen value into another.

Values that follow from each other share what did not change, as the same objects; so the walk goes only where
something did. Where two parts are not the same object they are compared by value *and kind*: ``False``, ``0``, ``0.0``
and ``-0.0`` are four values, and so are two dicts whose entries stand in another order.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from itertools import compress, count
from operator import is_not
from typing import Any
from uuid import UUID

import msgspec

from looms.reducers.codec import encode
from looms.reducers.exactness import first_difference
from looms.reducers.patches import Code, Patch
from looms.reducers.places import Entries, Fields, Items, Members, Place, Slots
from looms.reducers.scripts import Script

_PLAIN_LEAVES = frozenset({str, int, bool, bytes, type(None)})  # whose equality says it all, once they are of one kind
_CONTAINERS = (msgspec.Struct, list, tuple, dict, set, frozenset)
_NAMED_BY_THEIR_BYTES = (str, int, bool, bytes, type(None), Enum, UUID, date, time, timedelta, Decimal)


DEEPEST_PATCH = 50
"""How deeply a patch may be nested: each level of it takes four or five of the stack, to find it and to apply it.
Below, what has changed is put as a whole."""


def difference(before: Any, after: Any, where: Place, depth: int = 0) -> Patch | None:
    """The patch that makes one value into another; None where they are the same, of the same kinds at every depth.

    Args:
        before, after: two values of the type that is declared at the place.
        where: the place.
        depth: how deep it lies.

    Raises:
        Unfit: a new part would come back from its bytes as something else.
    """
    if before is after:
        return None
    kind = type(after)
    if type(before) is kind:
        match where.inside(kind) if depth < DEEPEST_PATCH else None:
            case None:
                if _same_whole(before, after):
                    return None
            case Fields() as inside:
                return _of_structs(before, after, inside, depth + 1)
            case Slots() as inside:
                return _of_slots(before, after, inside, depth + 1)
            case Items() as inside:
                return _of_items(before, after, inside, depth + 1)
            case Entries() as inside:
                return _of_entries(before, after, inside, depth + 1)
            case Members() as inside:
                return _of_members(before, after, inside, depth + 1)
    return [Code.SET, where.codec.pack_exactly(after)]


def _same_whole(one: Any, other: Any) -> bool:
    if type(other) in _PLAIN_LEAVES:
        return bool(one == other)
    try:
        if encode(one) == encode(other):
            return True
    except RecursionError:
        pass  # it is told where it is packed
    return first_difference(one, other, declared=False) is None


def _of_structs(before: Any, after: Any, inside: Fields, depth: int) -> Patch | None:
    changes: dict[str | int, Patch] = {}
    for key, (name, field) in inside.of.items():
        old, new = getattr(before, name), getattr(after, name)
        if old is new:
            continue
        if new is msgspec.UNSET:
            changes[key] = [Code.GONE]
        elif (patch := difference(old, new, field, depth)) is not None:
            changes[key] = patch
    return [Code.FIELDS, changes] if changes else None


def _of_slots(before: Any, after: Any, inside: Slots, depth: int) -> Patch | None:
    changes = {
        index: patch
        for index, (old, new, slot) in enumerate(zip(before, after, inside.of, strict=True))
        if (patch := difference(old, new, slot, depth)) is not None
    }
    return [Code.FIELDS, changes] if changes else None


def _of_items(before: Sequence[Any], after: Sequence[Any], inside: Items, depth: int) -> Patch | None:
    """What both lists begin and end with is passed over; what stands between is found by what it is."""
    shorter = min(len(before), len(after))
    pairs = _Pairs(inside.item, depth)
    first = _alike(before, after, pairs, shorter)
    last = _alike(before[::-1], after[::-1], pairs, shorter - first)
    script = Script(type(after), inside.whole)
    script.copy(0, first)
    _put_between(before, after, first, last, script, pairs)
    script.copy(len(before) - last, last)
    return script.end(len(before))


class _Pairs:
    """The differences between items of two lists.

    A pair is met up to three times: from the front, from the end, and when what is between is put together. Taken anew
    each time, the difference of lists within lists would cost three times as much at every level.
    """

    def __init__(self, item: Place, depth: int) -> None:
        self._item = item
        self._depth = depth
        self._found: dict[tuple[int, int], Patch | None] = {}  # by identity: the lists keep their items meanwhile

    def difference(self, old: Any, new: Any) -> Patch | None:
        pair = (id(old), id(new))
        if pair not in self._found:
            self._found[pair] = difference(old, new, self._item, self._depth)
        return self._found[pair]


def _alike(one: Sequence[Any], other: Sequence[Any], pairs: _Pairs, most: int) -> int:
    """How many items two lists begin with that are the same."""
    found = next(compress(count(), map(is_not, one, other)), most)
    while found < most and (one[found] is other[found] or pairs.difference(one[found], other[found]) is None):
        found += 1
    return min(found, most)


def _put_between(
    before: Sequence[Any], after: Sequence[Any], first: int, last: int, script: Script, pairs: _Pairs
) -> None:
    """Put the items between together: from where they stood, from what stands there now, or as new ones."""
    olds = [_name(part) for part in before[first : len(before) - last]]
    news = [_name(part) for part in after[first : len(after) - last]]
    stood: dict[tuple[Any, ...], int] = {}
    for at, name in enumerate(olds):
        stood.setdefault(name, at)
    needed = set(news)
    at = 0
    for number, name in enumerate(news, first):
        found = at if at < len(olds) and olds[at] == name else stood.get(name)
        if found is not None:
            script.copy(first + found)
            at = found + 1
        elif at < len(olds) and olds[at] not in needed:  # what stood here has become this
            _become(before[first + at], after[number], first + at, script, pairs)
            at += 1
        else:
            script.insert(after[number])


def _become(old: Any, new: Any, at: int, script: Script, pairs: _Pairs) -> None:
    """Put an item where another one stood: changed, or new where there is nothing in it to change."""
    if type(old) is not type(new) or not isinstance(new, _CONTAINERS):
        script.insert(new)
    else:
        script.change(at, pairs.difference(old, new))


def _name(part: Any) -> tuple[Any, ...]:
    """What an item is known by: a small one by what it is, another by being the same object."""
    kind = type(part)
    return (kind, part) if kind in _PLAIN_LEAVES else (id(part),)


def _of_entries(before: dict[Any, Any], after: dict[Any, Any], inside: Entries, depth: int) -> Patch | None:
    """Entries are found by their keys; under an equal key of another kind there is another entry."""
    old_keys, old_values, keys, values = list(before), list(before.values()), list(after), list(after.values())
    script = Script(dict, inside.whole)
    in_order = next(compress(count(), map(is_not, old_keys, keys)), min(len(keys), len(old_keys)))
    at = 0
    for other in compress(range(in_order), map(is_not, old_values, values)):
        script.copy(at, other - at)
        script.change(other, difference(old_values[other], values[other], inside.value, depth))
        at = other + 1
    script.copy(at, in_order - at)
    if in_order < len(keys):
        stood = {key: at for at, key in enumerate(old_keys)}
        for key, value in zip(keys[in_order:], values[in_order:], strict=True):
            found = stood.get(key)
            if found is None or difference(old_keys[found], key, inside.key, depth):
                script.insert((key, value))
            else:
                script.change(found, difference(old_values[found], value, inside.value, depth))
    return script.end(len(before))


def _of_members(before: AbstractSet[Any], after: AbstractSet[Any], inside: Members, depth: int) -> Patch | None:
    own = {member: member for member in after}
    removed = {
        member for member in before if member not in own or difference(member, own[member], inside.member, depth)
    }
    kept = before - removed
    added = {member for member in after if member not in kept}
    if not removed and not added:
        return None
    kind: Any = type(after)
    codec = inside.whole.codec
    if not all(map(_is_known_by_its_bytes, removed)):
        return None if _same_whole(before, after) else [Code.SET, codec.pack_exactly(after)]
    return [Code.MEMBERS, codec.pack_exactly(kind(removed)), codec.pack_exactly(kind(added))]


def _is_known_by_its_bytes(member: Any) -> bool:
    """Whether a member of a set can be found again among plain data: there, sets have lost their order."""
    if type(member) is tuple:
        return all(map(_is_known_by_its_bytes, member))
    return isinstance(member, _NAMED_BY_THEIR_BYTES)
