"""Deliberate faults, each of which the simulation must find: so that one knows that it looks."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any
from unittest import mock

from looms.actors.group import Group
from looms.snapshots import effect_rows, inbox, keys, timers

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


MUTATIONS: dict[str, Mutation] = {
    made.__name__.replace("_", "-"): made
    for made in (
        answered_before_the_commit,
        keys_not_stored,
        timers_dropped,
        messages_kept,
        effects_forgotten,
        refused_turns_kept,
    )
}
