"""Copying the history of a run for a fork of it: its records, their idempotency keys, and the snapshots on the way.

A long history is copied in several batches. Until the last of them the copy is hidden, and stands among those that are
being removed: if its host dies in between, what was copied goes at the next start as a deleted run's rows do. Nothing
of it is in a commit's turns before it is shown, so whoever follows the commits hears of it when it is there.
"""

import msgspec

from looms.reducers.entries import copied
from looms.snapshots import heads, keys, log, snapshot_rows
from looms.snapshots.batch import Batch
from looms.snapshots.errors import StoreFormatError
from looms.snapshots.packing import u64
from looms.snapshots.reading import Reading
from looms.snapshots.rows import Head, Turn
from looms.snapshots.tables import REMOVALS

RECORDS = 1_024  # that a batch copies at the most
BYTES = 4 << 20  # after which it copies no more


class Copy(msgspec.Struct, frozen=True):
    """A history that is being copied.

    Attributes:
        head: the copy's head, as far as it is.
        upto: the last record to be copied.
        snapshot: the seq of the last snapshot that is copied.
        complete: nothing is left.
    """

    head: Head
    upto: int
    snapshot: int = 0
    complete: bool = False


def step(reading: Reading, batch: Batch, source: Head, copy: Copy) -> Copy:
    """Copy some more of a run's history, and return how far it is then.

    Args:
        reading: the store, through the batch.
        batch: where to.
        source: the head of the run.
        copy: how far it is.

    Raises:
        StoreFormatError: a record is damaged or missing.
    """
    copy, room = _records(reading, batch, source, copy)
    if copy.head.seq == copy.upto and room > 0:
        copy = _snapshots(reading, batch, source, copy, room)
    return copy


def hide(batch: Batch, head: Head) -> None:
    """Leave the copy as one that is to be removed, unless it is gone on with."""
    heads.put_hidden(batch, head)
    batch.put(REMOVALS, u64(head.number))
    batch.pin_position()  # as for any run that is removed: its places in the log are not given out again


def show(batch: Batch, head: Head) -> None:
    """Make a complete copy a run like any other. `head` is what is known of it from now on."""
    heads.put(batch, None, head)
    batch.delete(REMOVALS, u64(head.number))
    batch.turns.append(Turn(head.number, 1, head.seq))


def _records(reading: Reading, batch: Batch, source: Head, copy: Copy) -> tuple[Copy, int]:
    """Copy records. Returns how far the copy is then, and how many bytes more may be copied."""
    head, room = copy.head, BYTES
    number = head.number
    bodies: list[bytes] = []
    for seq, data in log.records(reading, source, head.seq + 1, min(copy.upto, head.seq + RECORDS)):
        try:
            body, key = copied(data, number)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise StoreFormatError(
                f"{reading.path}: record {seq} of run {source.run_id} is no record: {error}",
                table="log",
                run=source.number,
                seq=seq,
            ) from error
        bodies.append(body)
        if key is not None:
            keys.put(batch, number, key, msgspec.msgpack.encode(seq))
        room -= len(data)
        if room <= 0:
            break
    if bodies:
        head = batch.extend(head, bodies)
    return msgspec.structs.replace(copy, head=head), room


def _snapshots(reading: Reading, batch: Batch, source: Head, copy: Copy, room: int) -> Copy:
    """Copy snapshots; one that is damaged is left out, as it is never the only copy of anything."""
    seq = copy.snapshot
    for seq in snapshot_rows.seqs(reading, source.number, copy.snapshot + 1, copy.upto):
        try:
            info = snapshot_rows.get(reading, source.number, seq)
            body = snapshot_rows.body(reading, source.number, seq)
        except StoreFormatError:
            continue
        if info is not None:
            snapshot_rows.put(batch, copy.head.number, seq, info, body)
            room -= len(body)
        if room <= 0:
            return msgspec.structs.replace(copy, snapshot=seq)
    return msgspec.structs.replace(copy, snapshot=seq, complete=True)
