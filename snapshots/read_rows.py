"""Which runs wait for something of another run to be written, and what of it they have read.

A wait that is met in a joint turn, and was not yet, is *parked*: there is a row in `reads` for each thing that it has
read, under the run that it read and in the order of keys, so that all whom a write touches stand in a few ranges. One
row in `parked` holds what it has read, by which all its rows are found again. Both follow from nothing in the log:
where they are lost, the wait is looked at again, which makes them anew.
"""

from collections.abc import Iterable

import msgspec

from looms.snapshots.batch import Batch
from looms.snapshots.errors import StoreFormatError
from looms.snapshots.packing import after, place, read_place, read_u64, u64
from looms.snapshots.reading import Reading
from looms.snapshots.rows import ParkedRow, decode, encode
from looms.snapshots.tables import PARKED, READS

Place = tuple[int, int, int]
"""A wait: the run's number, and the seq and index at which it was decided."""

PLACE = 20  # bytes at the end of a key
ABSENT = 0
"""The number under which runs are read that there are not, by their ids: who waits so is woken when they come to be."""

_parked = msgspec.msgpack.Decoder(ParkedRow)


def park(batch: Batch, wait: Place, row: ParkedRow) -> None:
    """Park a wait that is not parked."""
    batch.put(PARKED, place(*wait), encode(row))
    for read in row.reads:
        batch.put(READS, key(row.number, read, wait))


def unpark(reading: Reading, batch: Batch, wait: Place) -> ParkedRow | None:
    """Remove all rows of a wait; returns what it had read, None where it is not parked, or nobody can read that."""
    try:
        row = parked(reading, wait)
    except StoreFormatError:
        row = None  # rows of reads that are left over wake it once too often, and a repair finds them
    if row is not None:
        for read in row.reads:
            batch.delete(READS, key(row.number, read, wait))
    batch.delete(PARKED, place(*wait))
    return row


def parked(reading: Reading, wait: Place) -> ParkedRow | None:
    """Return what a wait has read; None where it is not parked.

    Raises:
        StoreFormatError: the row is damaged.
    """
    packed = place(*wait)
    body = reading.get(PARKED, packed)
    return None if body is None else unpacked_row(reading, packed, body)


def unpacked_row(reading: Reading, key: bytes, body: bytes) -> ParkedRow:
    """Return what the row of a parked wait says.

    Raises:
        StoreFormatError: it is none.
    """
    return decode(_parked, PARKED, key, body, reading)


def is_parked(reading: Reading, wait: Place) -> bool:
    """Return whether a wait is parked, so far as that can be read."""
    try:
        return parked(reading, wait) is not None
    except StoreFormatError:
        return False


def touched(reading: Reading, number: int, spans: Iterable[tuple[bytes, bytes]]) -> dict[Place, list[bytes]]:
    """Return the waits that have read something of a run in these ranges, each with the rows that say so.

    Costs a look for each range, and nothing for those who have read something else.
    """
    found: dict[Place, list[bytes]] = {}
    prefix = u64(number)
    if next(reading.keys(READS, prefix, after(prefix), limit=1), None) is None:
        return found
    for start, end in spans:
        for row in reading.keys(READS, prefix + start, prefix + end):
            found.setdefault(read_place(row, len(row) - PLACE), []).append(row)
    return found


def is_noted(reading: Reading, key: bytes) -> bool:
    """Return whether the key of a row is of something that a wait has read which is parked."""
    if len(key) < 8 + PLACE:
        return False
    try:
        row = parked(reading, read_place(key, len(key) - PLACE))
    except StoreFormatError:
        return False
    return row is not None and row.number == read_u64(key) and key[8:-PLACE] in row.reads


def by_id(run_id: str) -> bytes:
    """Return what is read of a run that there is not."""
    return run_id.encode() + b"\0"


def key(number: int, read: bytes, wait: Place) -> bytes:
    """Return the key of the row that says that a wait has read something of a run."""
    return u64(number) + read + place(*wait)
