"""What differs between two states of a run: each place with what was there and what is.

Waits, effects, children and mail are told under their ids, so that what came and what went is told, and not that
everything behind it has moved.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from looms.reducers.changes import differences, path_of
from looms.reducers.plain_data import plain_data
from looms.reducers.views import RunState

UNSET = msgspec.UNSET


class Change(msgspec.Struct, frozen=True):
    """One place where two states of a run differ.

    Attributes:
        path: where: ``$.state.items[2].price``, ``$.waits.root.payment``; a key that is no name as ``["a key"]``.
        before, after: what was and what is there, as plain data; ``msgspec.UNSET`` where there was or is nothing (and
            then left out in JSON).
    """

    path: str
    before: Any = UNSET
    after: Any = UNSET


def changes(before: RunState | None, after: RunState | None) -> tuple[Change, ...]:
    """What differs between two states of a run; None: before its first record."""
    return tuple(
        Change(
            path_of(found.path),
            UNSET if found.kind == "added" else found.before,
            UNSET if found.kind == "removed" else found.after,
        )
        for found in differences(*pictures(before, after))
    )


def pictures(
    before: RunState | None, after: RunState | None, moment: Callable[[int], Any] = lambda at: at
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Two states of a run as plain data that can be compared.

    Args:
        before, after: the states, or None before it began.
        moment: how a point in time is told, given in milliseconds since 1970.
    """
    threads = {wait.thread for run in (before, after) if run for wait in run.waits}
    states = states_known(before, after)
    return _picture(before, threads, states, moment), _picture(after, threads, states, moment)


def states_known(*runs: RunState | None) -> bool:
    """Whether the states of these are known; without the application's code, only a snapshot has them."""
    return all(run is None or run.state is not None for run in runs)


def _picture(run: RunState | None, threads: set[str], states: bool, moment: Callable[[int], Any]) -> dict[str, Any]:
    """What an event can change of a run, each part under its id.

    Args:
        run: the run, or None before it began.
        threads: all threads whose waits there may be; each has its place, so that a wait is told by itself.
        states: tell states too; where one of two is unknown, neither is told.
        moment: how a point in time is told.
    """
    waits: dict[str, dict[str, Any]] = {thread: {} for thread in sorted(threads)}
    parts: dict[str, Any] = {"threads": {}, "waits": waits, "effects": {}, "mailbox": {}}
    if run is None:
        return parts
    for wait in run.waits:
        due = None if wait.due is None else moment(wait.due)
        told = {"types": wait.types, "match": plain_data(wait.match), "due": due, "group": wait.group}
        waits[wait.thread][wait.id] = {name: value for name, value in told.items() if value}
    for effect in run.effects:
        asked = {"effect": effect.effect, "request": plain_data(effect.request, ordered=True)}
        parts["effects"][effect.id] = asked | ({"held": True} if effect.held else {})
    for record in run.mailbox:
        parts["mailbox"][str(record.seq)] = {"type": record.type, "payload": plain_data(record.payload)}
    for thread in run.threads.values():
        if thread.id != "root":
            state = {"state": plain_data(thread.state, ordered=True)} if states else {}
            parts["threads"][thread.id] = {"kind": thread.kind} | state
    ends = {
        "status": run.status,
        "state": plain_data(run.state, ordered=True) if states else None,
        "output": plain_data(run.output, ordered=True),
        "error": run.error,
    }
    return {name: value for name, value in ends.items() if value is not None} | parts
