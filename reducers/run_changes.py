"""What differs between two states of a run: each place with what was there and what is.

Waits, effects, children and mail are told under their ids, so that what came and what went is told, and not that
everything behind it has moved.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from looms.reducers.changes import Difference, differences, path_of
from looms.reducers.plain_data import plain_data
from looms.reducers.state import compared
from looms.reducers.views import RunState

UNSET = msgspec.UNSET


class Change(msgspec.Struct, frozen=True):
    """One place where two states of a run differ.

    Attributes:
        path: where: ``$.state.items[2].price``, ``$.waits.root.payment``; a key that is no name as ``["a key"]`` or
            ``[7]``, a member of a set (which has no place) as ``[*]``.
        before, after: what was and what is there, as plain data; ``msgspec.UNSET`` where there was or is nothing (and
            then left out in JSON).
    """

    path: str
    before: Any = UNSET
    after: Any = UNSET


def changes(before: RunState | None, after: RunState | None) -> tuple[Change, ...]:
    """What differs between two states of a run; None: before its first record."""
    return tuple(map(_change, differences(*pictures(before, after))))


def _change(found: Difference) -> Change:
    return Change(
        path_of(found.path),
        UNSET if found.kind == "added" else plain_data(found.before, ordered=True),
        UNSET if found.kind == "removed" else plain_data(found.after, ordered=True),
    )


def pictures(
    before: RunState | None, after: RunState | None, moment: Callable[[int], Any] = lambda at: at
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Two states of a run as values that can be compared.

    Args:
        before, after: the states, or None before it began.
        moment: how a point in time is told, given in milliseconds since 1970.
    """
    threads = {wait.thread for run in (before, after) if run for wait in run.waits}
    states = states_known(before, after)
    whose = before is None or after is None or before.run_id == after.run_id
    return tuple(_picture(run, threads, states, whose, moment) for run in (before, after))  # type: ignore[return-value]


def states_known(*runs: RunState | None) -> bool:
    """Whether the states of these are known; without the application's code, only a snapshot has them."""
    return all(run is None or run.state is not None for run in runs)


class _Wait(msgspec.Struct):
    types: Any
    match: Any
    due: Any
    group: Any
    joint: Any


class _Effect(msgspec.Struct):
    effect: str
    request: Any
    held: Any


class _Mail(msgspec.Struct):
    type: str
    payload: Any


class _Thread(msgspec.Struct):
    kind: str
    state: Any


def _picture(
    run: RunState | None, threads: set[str], states: bool, whose: bool, moment: Callable[[int], Any]
) -> dict[str, Any]:
    """What an event can change of a run, each part under its id.

    Args:
        run: the run, or None before it began.
        threads: all threads whose waits there may be; each has its place, so that a wait is told by itself.
        states: tell states too; where one of two is unknown, neither is told.
        whose: tell effects under their whole ids; two runs' are told under what stands behind the run's id, for there
            a fork's are the same as those of the run.
        moment: how a point in time is told.
    """
    waits: dict[str, dict[str, Any]] = {thread: {} for thread in sorted(threads)}
    parts: dict[str, Any] = {"threads": {}, "waits": waits, "effects": {}, "mailbox": {}}
    if run is None:
        return parts
    for wait in run.waits:
        due = UNSET if wait.due is None else moment(wait.due)
        about = wait.types or UNSET, wait.match or UNSET, due, wait.group or UNSET, wait.joint or UNSET
        waits[wait.thread][wait.id] = _Wait(*about)
    for effect in run.effects:
        known = effect.id if whose else _place_of(effect.id)
        parts["effects"][known] = _Effect(effect.effect, effect.request, effect.held or UNSET)
    for record in run.mailbox:
        parts["mailbox"][str(record.seq)] = _Mail(record.type, record.payload)
    for thread in run.threads.values():
        if thread.id != "root":
            parts["threads"][thread.id] = _Thread(thread.kind, compared(thread.state) if states else UNSET)
    ends = {
        "status": run.status,
        "state": compared(run.state) if states else None,
        "output": run.output,
        "error": run.error,
    }
    return {name: value for name, value in ends.items() if value is not None} | parts


def _place_of(effect_id: str) -> str:
    """The part of an effect's id that is not the run's: seq and index."""
    return ":".join(effect_id.rsplit(":", 2)[1:]).partition("~")[0]
