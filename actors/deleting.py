"""Deleting a run for good: one that is over, or with force any, however damaged it is.

What is over has nothing outstanding, and its head says so: nothing of it is read but that. With force nothing is folded
either. Its effects are called off, and what other runs had sent to it and it had not taken comes back to them, as what
is sent to a run that is unknown. Whoever waits for something of it to be written looks once more, and finds that it is
gone. Nobody else has to be told: children are threads of their run, and a fork has a past of its own.
"""

from collections.abc import Iterable
from contextlib import suppress

import msgspec

from looms.actors import logs
from looms.actors.delivery import send_back
from looms.actors.errors import RunActive
from looms.actors.group import Group
from looms.actors.jobs import unknown
from looms.actors.waking import EVERYTHING, wake_readers
from looms.reducers.errors import LoomsError
from looms.reducers.instructions import Wait
from looms.reducers.items import unpack_item
from looms.reducers.matching import digest, shape_of
from looms.snapshots import effect_rows, heads, history, removal, shapes, wait_rows
from looms.snapshots.errors import StoreFormatError
from looms.snapshots.packing import read_place
from looms.snapshots.rows import Head
from looms.snapshots.scattered import Row
from looms.snapshots.tables import INBOX, WAITS


def delete(group: Group, run_id: str, *, force: bool) -> None:
    """Hide a run, and have its rows go bit by bit.

    Raises:
        UnknownRun: there is no such run.
        RunActive: it is not over, and there is no force.
        StoreFormatError: its id cannot be read, or without force its head.
    """
    number = heads.number_of(group.reading, run_id)
    if number is None:
        raise unknown(run_id)
    head = _head(group, number, run_id) if force else heads.head(group.reading, number)
    if head is None:
        raise unknown(run_id)
    if head.status in heads.FINISHED:
        removal.begin(group.batch, head)
    elif force:
        removal.discard(group.batch, head)
        group.end((place[0], place[1:]) for place in effect_rows.places_of(group.reading, number))
        group.tell_later(logs.warning, "run deleted by force", run_id=run_id, status=head.status or "damaged")
    else:
        known = group.code.definitions.get(head.definition)
        if known is not None and known.shared:
            raise RunActive(f"run {run_id} is the store that others share; delete it with delete_store(), or by force")
        raise RunActive(f"run {run_id} is {head.status}; one that is not over is cancelled first, then deleted")
    wake_readers(group, number, [EVERYTHING])
    group.remove(run_id)


def _head(group: Group, number: int, run_id: str) -> Head:
    """The head of a run, or where there is none that can be read, one that says no more than its number and id."""
    with suppress(StoreFormatError):
        head = heads.head(group.reading, number)
        if head is not None and head.run_id == run_id:
            return head
    return Head(number, run_id, "", "", 0, 0, 0)


def delete_rows(group: Group, number: int, rows: Iterable[Row]) -> None:
    """Delete rows of a run that is discarded."""
    head = None
    with suppress(StoreFormatError):
        head = heads.stored(group.reading, number)
    for table, key in rows:
        if head is not None and table is WAITS:
            _uncount(group, head, key)
        elif head is not None and table is INBOX:
            _send_back(group, head, key)
        group.batch.delete(table, key)


def _uncount(group: Group, head: Head, key: bytes) -> None:
    """Count an open wait no more; where its record is lost, nobody knows what it was counted as, but a repair."""
    if group.reading.get(WAITS, key) is None:
        return
    _, seq, index = read_place(key, wait_rows.HASH)
    try:
        wait = history.entry(group.reading, head, seq, None).instructions[index]
    except (LoomsError, msgspec.MsgspecError, ValueError, IndexError, RecursionError):
        return
    if isinstance(wait, Wait):
        shape, values = shape_of(wait.match)
        for type in set(wait.types):
            if digest(type, shape, values) == key[: wait_rows.HASH]:
                with suppress(StoreFormatError, ValueError):  # the count is wrong already
                    shapes.change(group.reading, group.batch, type, shape, -1)


def _send_back(group: Group, head: Head, key: bytes) -> None:
    """Tell who sent a message that nobody takes it any more."""
    try:
        data = group.reading.get(INBOX, key)
        item = None if data is None else unpack_item(data)
    except (StoreFormatError, msgspec.MsgspecError, ValueError, RecursionError):
        return
    if item is not None:
        with suppress(StoreFormatError):  # the sender's id cannot be read
            send_back(group, item, head.run_id, f"run {head.run_id} was deleted")
