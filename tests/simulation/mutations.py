"""Deliberate faults, each of which the simulation must find: so that one knows that it looks."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any
from unittest import mock

from msgspec.structs import replace

from looms.actors import index_rows, snapshotting, turns
from looms.actors.group import Group
from looms.actors.timers import Timers
from looms.reducers.images import image
from looms.reducers.items import PatchAsked
from looms.reducers.open_waits import OpenWaits
from looms.snapshots import effect_rows, inbox, keys, read_rows, timers
from looms.stores import turns as store_turns

Mutation = Callable[[], AbstractContextManager[Any]]


def answered_before_the_commit() -> AbstractContextManager[Any]:
    """Callers are told before the disk is."""
    settle = Group._settle

    def give(self: Group, answer: Any) -> None:
        settle(self, answer)
        answer.give()

    return mock.patch.object(Group, "_settle", give)


def keys_not_stored() -> AbstractContextManager[Any]:
    """An idempotency key is forgotten."""
    return mock.patch.object(keys, "put", return_value=None)


def timers_dropped() -> AbstractContextManager[Any]:
    """The row of a timer is not written."""
    return mock.patch.object(timers, "put", return_value=None)


def messages_kept() -> AbstractContextManager[Any]:
    """A message that was taken stays in the durable inbox."""
    return mock.patch.object(inbox, "delete", return_value=None)


def effects_forgotten() -> AbstractContextManager[Any]:
    """An effect's attempts are not counted on the disk."""
    put = effect_rows.put

    def forget(batch: Any, place: Any, row: Any) -> None:
        put(batch, place, row if row.attempts == 0 else type(row)(row.effect, held=row.held))

    return mock.patch.object(effect_rows, "put", forget)


def refused_turns_kept() -> AbstractContextManager[Any]:
    """A turn whose commit failed is not taken back in memory."""

    def leave(self: Group) -> None:
        self.committed()

    return mock.patch.object(Group, "take_back", leave)


def waits_not_settled() -> AbstractContextManager[Any]:
    """A wait that was met stays open."""
    return mock.patch.object(OpenWaits, "settle", return_value=None)


def alternatives_not_retired() -> AbstractContextManager[Any]:
    """The other waits of a group stay open."""
    return mock.patch.object(OpenWaits, "_alternatives", return_value=[])


def stale_snapshots() -> AbstractContextManager[Any]:
    """A snapshot holds the state of the one before."""
    last: dict[int, Any] = {}

    def stale(run: Any) -> Any:
        taken = image(run)
        before = last.get(run.number, taken)
        last[run.number] = taken
        root, *others = taken.threads
        return replace(taken, threads=(replace(root, state=before.threads[0].state), *others))

    return mock.patch.object(snapshotting, "image", stale)


def wake_ups_lost() -> AbstractContextManager[Any]:
    """A run that has got a message is not told."""
    return mock.patch.object(Group, "wake", return_value=None)


def timers_unset() -> AbstractContextManager[Any]:
    """The host is not told of a timer that was set while it sleeps."""
    return mock.patch.object(Timers, "set", return_value=None)


def turns_in_two_commits() -> AbstractContextManager[Any]:
    """What a turn sends to others is in the next commit, not in its own."""
    send = turns.send  # type: ignore[attr-defined]
    late: list[Any] = []

    def later(group: Any, cell: Any, entries: Any) -> None:
        for waiting in late:
            send(group, *waiting)
        late[:] = [(cell, entries)]

    return mock.patch.object(turns, "send", later)


def reads_not_noted() -> AbstractContextManager[Any]:
    """What a parked wait has read is not written down."""
    return mock.patch.object(read_rows, "key", lambda number, read, wait: b"nobody" + wait[0].to_bytes(8))


def looks_forgotten() -> AbstractContextManager[Any]:
    """A wait on a store is opened, and nobody has it looked at."""
    return mock.patch.object(index_rows, "looks", return_value=[])


def claims_not_written() -> AbstractContextManager[Any]:
    """Whoever takes an item is told so, and the store is not."""
    write = store_turns.write

    def only_updates(joint: Any, store: Any, update: Any, sender: Any = None) -> None:
        if "takers" not in repr(update.patch):
            write(joint, store, update, sender)

    return mock.patch.object(store_turns, "write", only_updates)


def updates_counted_twice() -> AbstractContextManager[Any]:
    """A write that is made for a workflow is made once more."""
    write = store_turns.write

    def twice(joint: Any, store: Any, update: Any, sender: Any = None) -> None:
        write(joint, store, update, sender)
        if sender is not None:
            joint.take(store.cell, PatchAsked(None, sender))

    return mock.patch.object(store_turns, "write", twice)


MUTATIONS: dict[str, Mutation] = {
    made.__name__.replace("_", "-"): made
    for made in (
        answered_before_the_commit,
        keys_not_stored,
        timers_dropped,
        messages_kept,
        effects_forgotten,
        refused_turns_kept,
        waits_not_settled,
        alternatives_not_retired,
        stale_snapshots,
        wake_ups_lost,
        timers_unset,
        turns_in_two_commits,
        reads_not_noted,
        looks_forgotten,
        claims_not_written,
        updates_counted_twice,
    )
}
