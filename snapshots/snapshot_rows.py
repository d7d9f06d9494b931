"""Snapshots as they are stored: what is known of each apart from its body, so that lists do not read bodies."""

from collections.abc import Iterator

import msgspec

from looms.snapshots.batch import Batch
from looms.snapshots.errors import StoreFormatError
from looms.snapshots.packing import pair, read_pair
from looms.snapshots.reading import Reading
from looms.snapshots.rows import SnapshotInfo, decode, encode
from looms.snapshots.seals import damaged
from looms.snapshots.tables import BODIES, SNAPSHOTS

_info = msgspec.msgpack.Decoder(SnapshotInfo)


def put(batch: Batch, run: int, seq: int, info: SnapshotInfo, body: bytes) -> None:
    """Write the snapshot of a run at `seq`. `info.bytes` is set to the body's size."""
    key = pair(run, seq)
    batch.put(SNAPSHOTS, key, encode(msgspec.structs.replace(info, bytes=len(body))))
    batch.put(BODIES, key, body)


def delete(batch: Batch, run: int, seq: int) -> None:
    """Delete the snapshot of a run at `seq`."""
    batch.delete(SNAPSHOTS, pair(run, seq))
    batch.delete(BODIES, pair(run, seq))


def get(reading: Reading, run: int, seq: int) -> SnapshotInfo | None:
    """Return what is known of the snapshot at exactly `seq`; None when there is none."""
    key = pair(run, seq)
    found = reading.get(SNAPSHOTS, key)
    return None if found is None else decode(_info, SNAPSHOTS, key, found, reading)


def info(reading: Reading, key: bytes, body: bytes) -> SnapshotInfo:
    """Return what a row says of a snapshot.

    Raises:
        StoreFormatError: it says something else.
    """
    return decode(_info, SNAPSHOTS, key, body, reading)


def body(reading: Reading, run: int, seq: int) -> bytes:
    """Return the body of the snapshot at exactly `seq`.

    Raises:
        StoreFormatError: there is none.
    """
    key = pair(run, seq)
    found = reading.get(BODIES, key)
    if found is None:
        raise damaged(BODIES, key, reading.path, "it is missing")
    return found


def broken(reading: Reading, run: int, seq: int, what: str) -> StoreFormatError:
    """Return the error for a snapshot that cannot be what was written."""
    return damaged(SNAPSHOTS, pair(run, seq), reading.path, what)


def down(reading: Reading, run: int, seq: int) -> Iterator[tuple[int, SnapshotInfo]]:
    """Iterate over (seq, info) from the newest snapshot at or before `seq` down to the oldest."""
    rows = reading.scan(SNAPSHOTS, pair(run, 0), pair(run, seq + 1), reverse=True)
    return ((read_pair(key)[1], decode(_info, SNAPSHOTS, key, found, reading)) for key, found in rows)


def seqs_down(reading: Reading, run: int, seq: int) -> Iterator[int]:
    """Iterate over the seqs of snapshots from the newest at or before `seq` down, without reading them."""
    return (read_pair(key)[1] for key in reading.keys(SNAPSHOTS, pair(run, 0), pair(run, seq + 1), reverse=True))


def seqs(reading: Reading, run: int, first: int, last: int) -> list[int]:
    """Return the seqs from `first` to `last` that have snapshots, without reading them."""
    return [read_pair(key)[1] for key in reading.keys(SNAPSHOTS, pair(run, first), pair(run, last + 1))]


def newest(reading: Reading, run: int, seq: int) -> tuple[int, SnapshotInfo] | None:
    """Return (seq, info) of the newest snapshot at or before `seq`; None when there is none."""
    return next(down(reading, run, seq), None)


def page(reading: Reading, run: int, after: int = 0, limit: int = 256) -> list[tuple[int, SnapshotInfo]]:
    """Return at most `limit` (seq, info) in order, those with a seq greater than `after`."""
    rows = reading.scan(SNAPSHOTS, pair(run, after + 1), pair(run + 1, 0), limit=limit)
    return [(read_pair(key)[1], decode(_info, SNAPSHOTS, key, found, reading)) for key, found in rows]


def count(reading: Reading, run: int) -> int:
    """Return how many snapshots a run has. Counts them one by one."""
    return sum(1 for _ in reading.keys(SNAPSHOTS, pair(run, 0), pair(run + 1, 0)))
