"""Fitting: does a changed state still fit its type? Looked at is what is new in it.

What an old and a new state share was checked when it came in. So the walk goes where the two are not the same object,
and what is new there is read as the type that is declared for its place, as if it came from the disk: a list becomes
the tuple that it stands for, a dict the struct whose fields it tells, and nobody has it by another name any more.
"""

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from itertools import compress, count
from operator import is_not
from typing import Any

import msgspec
from msgspec import inspect as types

from looms.reducers.codec import Codec, Unfit
from looms.reducers.exactness import DEEPEST, TOO_DEEP
from looms.reducers.places import Entries, Fields, Items, Members, Place, Slots, place
from looms.reducers.schemas import schema
from looms.reducers.state import State
from looms.stores.errors import InvalidState
from looms.stores.kinds import levels, with_fields

_PLACE = re.compile(r"(.*) - at (`key` in )?`(\$.*)`", re.DOTALL)
_NOTHING: Any = object()
_CHECKED = (ValueError, TypeError)  # what a struct's own check raises; msgspec's are among them


def fitted(before: Any, after: Any) -> Any:
    """A new state as it will be read, sharing with the old one what was not changed.

    Args:
        before: the old state, which fits.
        after: the new one, of the same class.

    Raises:
        InvalidState: it does not fit its type; with the path and the words of msgspec.
    """
    kind = type(before)
    try:
        return _fitted(before, after, place(kind), 0)
    except (Unfit, *_CHECKED) as error:
        raise _told(kind, after, error) from error


def checked(state: Any, kind: type[State]) -> Any:
    """A state that is given as a whole, as it will be read.

    Raises:
        InvalidState: it does not fit its type.
    """
    if type(state) is not kind:
        raise InvalidState("$", f"Expected `{kind.__name__}`, got `{type(state).__name__}`")
    try:
        return Codec(kind, kind.__name__).pack(state)[1]
    except Unfit as error:
        raise _invalid(error) from error


def _told(kind: type, after: Any, error: Exception) -> InvalidState:
    """What does not fit, with the path from the root: it is looked for anew, in the whole."""
    try:
        Codec(kind, kind.__name__).pack(after, dicts=True)
    except Unfit as found:
        return _invalid(found)
    return _invalid(error)


def _invalid(error: Exception) -> InvalidState:
    found = _PLACE.fullmatch(str(error))
    if found is None:
        return InvalidState("$", str(error))
    return InvalidState(found[3], f"{found[1]} in a key" if found[2] else found[1])


def _fitted(before: Any, after: Any, where: Place, depth: int) -> Any:
    if before is after:
        return after
    inside = where.inside(type(after)) if type(before) is type(after) and depth < DEEPEST else None
    if inside is None or _limits_the_whole(where.type):
        return _new(after, where, depth)
    match inside:
        case Fields():
            return _struct(before, after, inside, where, depth + 1)
        case Slots():
            return tuple(_fitted(*three, depth + 1) for three in zip(before, after, inside.of, strict=True))
        case Items():
            return type(after)(_items(before, after, inside, depth + 1))
        case Entries():
            return _entries(before, after, inside, depth + 1)
        case Members():
            return type(after)(_members(before, after, inside))


def _new(value: Any, where: Place, depth: int) -> Any:
    fit = where.codec.pack(value, dicts=True)[1]
    if depth + levels(fit) > DEEPEST:
        raise Unfit(TOO_DEEP)
    return fit


def _struct(before: Any, after: Any, inside: Fields, where: Place, depth: int) -> Any:
    changes = {}
    for name, field in inside.of.values():
        old, new = getattr(before, name), getattr(after, name)
        if old is new:
            continue
        if new is msgspec.UNSET:
            return _new(after, where, depth - 1)  # whether a field may be left out is said by the struct
        fit = _fitted(old, new, field, depth)
        if fit is not new:
            changes[name] = fit
    return with_fields(after, changes) if changes else after


def _items(before: Sequence[Any], after: Sequence[Any], inside: Items, depth: int) -> list[Any]:
    fit = list(after)
    new = list(compress(count(), map(is_not, before, after))) + list(range(len(before), len(after)))
    known = set(map(id, before)) if len(new) > 1 else set()
    for at in new:
        if id(after[at]) not in known:
            old = before[at] if at < len(before) else _NOTHING
            fit[at] = _fitted(old, after[at], inside.item, depth)
    return fit


def _entries(before: dict[Any, Any], after: dict[Any, Any], inside: Entries, depth: int) -> dict[Any, Any]:
    known = {id(key) for key in before}
    fit = {}
    for key, value in after.items():
        if id(key) not in known:
            (own_key,) = inside.whole.codec.pack({key: value})[1]
        else:
            own_key = key
        fit[own_key] = _fitted(before.get(key, _NOTHING), value, inside.value, depth)
    return fit


def _members(before: AbstractSet[Any], after: AbstractSet[Any], inside: Members) -> list[Any]:
    known = set(map(id, before))
    return [member if id(member) in known else inside.member.codec.pack(member)[1] for member in after]


@cache
def _limit(type: Any) -> bool:
    """Whether a type says how long a list, dict or set may be, or something else of it as a whole."""
    return any(map(_says, _members_of(schema(type))))


def _limits_the_whole(type: Any) -> bool:
    try:
        return _limit(type)
    except TypeError:  # it is not hashable
        return True


def _members_of(info: types.Type) -> list[types.Type]:
    if isinstance(info, types.Metadata):
        return _members_of(info.type)
    return list(info.types) if isinstance(info, types.UnionType) else [info]


def _says(info: types.Type) -> bool:
    return getattr(info, "min_length", None) is not None or getattr(info, "max_length", None) is not None
