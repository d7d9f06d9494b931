"""Updating: an updater runs on a draft, and what came of it is checked and put as a patch."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from looms.reducers.changes import Path
from looms.reducers.codec import Unfit, encode, plain
from looms.reducers.differences import difference
from looms.reducers.messages import shown
from looms.reducers.patches import Patch, apply
from looms.reducers.places import place
from looms.reducers.state import State
from looms.stores.drafts import draft_of, drop, finish
from looms.stores.errors import InvalidState
from looms.stores.fitting import fitted
from looms.stores.kinds import own
from looms.stores.overlap import Write
from looms.stores.purity import check_function, refuse_answer, told
from looms.stores.touched import touched

S = TypeVar("S", bound=State)


class Update(msgspec.Struct, Generic[S], frozen=True):
    """What an updater made of a state.

    Attributes:
        state: the new state; the old one where nothing came to differ.
        patch: what makes the one out of the other, plain data for a record; None where nothing came to differ.
        writes: where it came to differ.
        written: where the updater put, added or took away something, whether or not it came to differ.
    """

    state: S
    patch: Patch | None
    writes: tuple[Write, ...]
    written: tuple[Path, ...]


def update(updater: Callable[..., Any], state: S, *given: Any, role: str = "updater") -> Update[S]:
    """Run an updater on a draft of a state.

    Args:
        updater: a plain function of the draft and what else is given. What it returns is dropped.
        state: the state; it stays as it is.
        given: for a claim, the item; it gets one of its own.
        role: ``updater`` or ``claim``, for errors.

    Raises:
        NotPure: the updater is async or a generator function, or returned an awaitable, a generator or a new state.
        InvalidState: what it made does not fit the state's type. Nothing came of it.
        Exception: what the updater raises.
    """
    check_function(role, updater)
    draft = draft_of(state, told(role, updater))
    try:
        refuse_answer(updater, role, updater(draft, *map(own, given)), type(state))
        new, written = finish(draft)
    finally:
        drop(draft)
    return _made(state, fitted(state, new), written)


def updater_of(method: str, given: Sequence[Any], values: dict[str, Any]) -> Callable[[Any], Any]:
    """The updater that a call is given: a function, or values for fields.

    Raises:
        TypeError: it is neither, or both.
        NotPure: the function is async, or a generator function.
    """
    if len(given) + bool(values) != 1:
        told = ", ".join([*map(shown, given), *(f"{name}=" for name in values)]) or "nothing"
        raise TypeError(f"{method}() takes an updater, or values for fields; it was given {told}")
    updater: Callable[[Any], Any] = _setting(values) if values else given[0]
    check_function("updater", updater)
    return updater


def _setting(values: dict[str, Any]) -> Callable[[Any], None]:
    """An updater that sets fields of the state."""

    def set_fields(draft: Any) -> None:
        for name, value in values.items():
            setattr(draft, name, value)

    return set_fields


def patched(state: S, patch: Patch | None) -> S:
    """The state that a patch makes of another one: how a store's log is folded.

    Raises:
        looms.reducers.codec.Unfit: it is no patch of this state.
    """
    return state if patch is None else apply(state, patch, place(type(state)))


def _made(before: S, after: S, written: tuple[Path, ...]) -> Update[S]:
    try:
        found = difference(before, after, place(type(before)))
    except Unfit as error:
        raise InvalidState("$", str(error)) from error
    if found is None:
        return Update(before, None, (), written)
    patch = plain(encode(found))  # as a record will have it
    return Update(after, patch, touched(before, after, patch), written)
