"""The records of a run, in order. They are streamed: a page of them is in memory at a time."""

from collections.abc import Iterator
from itertools import islice
from typing import cast

import msgspec

from looms.snapshots import extents
from looms.snapshots.errors import StoreFormatError
from looms.snapshots.extents import Extents
from looms.snapshots.packing import pair, read_pair, u64
from looms.snapshots.reading import Reading
from looms.snapshots.rows import Extent, Head, decode
from looms.snapshots.seals import damaged
from looms.snapshots.tables import EXTENTS, LOG, Table

PAGE = 256  # records read from LMDB at once

_extents = msgspec.msgpack.Decoder(tuple[Extent, ...])


def record(reading: Reading, head: Head, seq: int) -> bytes | None:
    """Return one record; None when the run has none at this seq."""
    for _, found in records(reading, head, seq, seq):
        return found
    return None


def records(reading: Reading, head: Head, first: int = 1, last: int | None = None) -> Iterator[tuple[int, bytes]]:
    """Iterate over (seq, record) from `first` to `last`, or to the run's end; seqs that do not exist are left out.

    For as long as the view is open: a caller who takes his time reads `page` after `page` instead.

    Raises:
        StoreFormatError: a record is damaged or missing; the message names run and seq.
    """
    last = head.seq if last is None else min(last, head.seq)
    seq = max(first, 1)
    places = _places(reading, head, seq)
    while seq <= last:
        chunk = list(islice(places, min(PAGE, last - seq + 1)))
        yield from _chunk(reading, head, seq, chunk)
        if len(chunk) < min(PAGE, last - seq + 1):
            raise _missing(reading, head, seq + len(chunk), None)
        seq += len(chunk)


def page(
    reading: Reading, head: Head, first: int = 1, last: int | None = None, limit: int = PAGE
) -> list[tuple[int, bytes]]:
    """Return at most `limit` (seq, record) from `first` on; the next page begins after the last one's seq."""
    first = max(first, 1)
    last = head.seq if last is None else min(last, head.seq)
    return list(records(reading, head, first, min(last, first + limit - 1)))


def remains(reading: Reading, head: Head) -> Iterator[tuple[Table, bytes]]:
    """Iterate over the rows of a run's records that are there, also when many are deleted already.

    First come the records that a row of extents leads to, then that row; so whoever deletes them in this order can
    stop anywhere and begin again.
    """
    for key, body in reading.scan(EXTENTS, u64(head.number), u64(head.number + 1)):
        for extent in decode(_extents, EXTENTS, key, body, reading):
            yield from _there(reading, extent)
        yield EXTENTS, key
    for extent in head.tail:
        yield from _there(reading, extent)


def _there(reading: Reading, extent: Extent) -> Iterator[tuple[Table, bytes]]:
    for key in reading.keys(LOG, u64(extent.position), u64(extent.position + extent.count)):
        yield LOG, key


def _chunk(reading: Reading, head: Head, seq: int, positions: list[int]) -> Iterator[tuple[int, bytes]]:
    try:
        found = reading.get_many(LOG, [u64(position) for position in positions])
    except StoreFormatError:
        found = [None]
    if None not in found:
        yield from enumerate(cast(list[bytes], found), seq)
        return
    for at, position in enumerate(positions, seq):  # one is bad: those before it are good, and it is named
        try:
            body = reading.get(LOG, u64(position))
        except StoreFormatError as error:
            raise _missing(reading, head, at, position) from error
        if body is None:
            raise _missing(reading, head, at, position)
        yield at, body


def _missing(reading: Reading, head: Head, seq: int, position: int | None) -> StoreFormatError:
    where = "no extent says where it is" if position is None else f"log position {position} does not hold it"
    return StoreFormatError(
        f"{reading.path}: record {seq} of run {head.run_id!r} (number {head.number}) is damaged or missing: {where}. "
        "Other runs are not affected.",
        table=LOG.name,
        key=None if position is None else u64(position),
        run=head.number,
        seq=seq,
    )


def _places(reading: Reading, head: Head, seq: int) -> Iterator[int]:
    """Iterate over the log positions of a run's records from `seq` on, up to the first that is not known."""
    for extent in _from(reading, head, seq):
        if extent.seq != seq:
            return
        yield from range(extent.position, extent.position + extent.count)
        seq += extent.count


def _from(reading: Reading, head: Head, seq: int) -> Iterator[Extent]:
    if not head.tail:
        return
    if seq < head.tail[0].seq:
        for spilled in _spilled(reading, head, seq):
            yield from extents.from_seq(spilled, seq)
    yield from extents.from_seq(head.tail, seq)


def _spilled(reading: Reading, head: Head, seq: int) -> Iterator[Extents]:
    """Iterate over the spilled rows of extents, from the one that holds `seq` on."""
    low = pair(head.number, 0)
    for key, _ in reading.scan(EXTENTS, low, pair(head.number, seq + 1), reverse=True, limit=1):
        low = key
    for key, body in reading.scan(EXTENTS, low, pair(head.number, head.tail[0].seq)):
        found = decode(_extents, EXTENTS, key, body, reading)
        if not found or found[0].seq != read_pair(key)[1]:
            raise damaged(EXTENTS, key, reading.path, "it is not about the records that its key says")
        yield found
