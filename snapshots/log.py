"""The records of a run, in order. They are streamed: a page of them is in memory at a time."""

from collections.abc import Iterator

import msgspec

from looms.snapshots import extents
from looms.snapshots.errors import StoreFormatError
from looms.snapshots.extents import Extents
from looms.snapshots.packing import pair, read_pair, u64
from looms.snapshots.reading import Reading
from looms.snapshots.rows import Extent, Head, decode
from looms.snapshots.seals import damaged
from looms.snapshots.tables import EXTENTS, LOG, Table

READ, MOST = 64, 512  # records read from LMDB at once: in the beginning, and when they turn out to be small
AT_ONCE = 1 << 20  # bytes of them, about
PAGE = 256  # records in a page, unless they are large
PAGE_BYTES = 4 << 20

_extents = msgspec.msgpack.Decoder(tuple[Extent, ...])


def record(reading: Reading, head: Head, seq: int) -> bytes | None:
    """Return one record; None when the run has none at this seq."""
    if not 1 <= seq <= head.seq:
        return None
    return next(records(reading, head, seq, seq))[1]


def records(reading: Reading, head: Head, first: int = 1, last: int | None = None) -> Iterator[tuple[int, bytes]]:
    """Iterate over (seq, record) from `first` to `last`, or to the run's end; seqs that do not exist are left out.

    For as long as the view is open: a caller who takes his time reads `page` after `page` instead.

    Raises:
        StoreFormatError: a record is damaged or missing; the message names run and seq.
    """
    for seq, bodies in chunks(reading, head, first, last):
        yield from enumerate(bodies, seq)


def chunks(reading: Reading, head: Head, first: int = 1, last: int | None = None) -> Iterator[tuple[int, list[bytes]]]:
    """Iterate over the same records some at a time: the seq of the first of them, and they.

    Raises:
        StoreFormatError: a record is damaged or missing; those before it came.
    """
    last = head.seq if last is None else min(last, head.seq)
    seq, size = max(first, 1), READ
    if seq > last:
        return

    def room() -> int:
        return min(size, last - seq + 1)

    for chunk in extents.chunks(_from(reading, head, seq), room):
        wanted = extents.upto(chunk, last)
        if not wanted or wanted[0].seq != seq:
            break
        for bodies in _bodies(reading, head, wanted):
            yield seq, bodies
            seq += len(bodies)
            size = max(1, min(MOST, AT_ONCE * len(bodies) // max(1, sum(map(len, bodies)))))
        if seq > last:
            return
    raise _missing(reading, head, seq, None)


def page(
    reading: Reading, head: Head, first: int = 1, last: int | None = None, limit: int = PAGE
) -> list[tuple[int, bytes]]:
    """Return at most `limit` (seq, record) from `first` on, fewer when they are large; none only at the end.

    The next page begins after the last one's seq.
    """
    found: list[tuple[int, bytes]] = []
    size = 0
    for seq, body in records(reading, head, first, last):
        found.append((seq, body))
        size += len(body)
        if len(found) >= limit or size >= PAGE_BYTES:
            break
    return found


def position(reading: Reading, head: Head, seq: int) -> int | None:
    """Return where in the log a record is; None when no extent of its run says so."""
    found = next(_from(reading, head, seq), None) if 1 <= seq <= head.seq else None
    return found.position if found is not None and found.seq == seq else None


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


def _bodies(reading: Reading, head: Head, chunk: Extents) -> Iterator[list[bytes]]:
    """Iterate over the records at some extents: all at once, or one by one where one of them is bad."""
    try:
        if len(chunk) == 1:  # side by side in the log: walked, not looked up one by one
            low, count = chunk[0].position, chunk[0].count
            found = [body for _, body in reading.page(LOG, u64(low), u64(low + count), count)]
        else:
            positions = [u64(position) for extent in chunk for position in extent.positions]
            count = len(positions)
            found = [body for body in reading.get_many(LOG, positions) if body is not None]
        whole = len(found) == count
    except StoreFormatError:
        whole = False
    if whole:
        yield found
    else:
        yield from _one_by_one(reading, head, chunk)


def _one_by_one(reading: Reading, head: Head, chunk: Extents) -> Iterator[list[bytes]]:
    """Iterate over records of which one is bad: those before it are good, and it is named."""
    for extent in chunk:
        for seq, position in enumerate(extent.positions, extent.seq):
            try:
                body = reading.get(LOG, u64(position))
            except StoreFormatError as error:
                raise _missing(reading, head, seq, position) from error
            if body is None:
                raise _missing(reading, head, seq, position)
            yield [body]


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


def _from(reading: Reading, head: Head, seq: int) -> Iterator[Extent]:
    """Iterate over the extents of a run's records from `seq` on."""
    if not head.tail:
        return
    if seq < head.tail[0].seq:
        for spilled in _spilled(reading, head, seq):
            yield from extents.from_seq(spilled, seq)
    yield from extents.from_seq(head.tail, seq)


def _spilled(reading: Reading, head: Head, seq: int) -> Iterator[Extents]:
    """Iterate over the spilled rows of extents, from the one that holds `seq` on."""
    low = pair(head.number, 0)
    for key, body in reading.scan(EXTENTS, low, pair(head.number, seq + 1), reverse=True, limit=1):
        yield _row(reading, key, body)
        low = key + b"\0"
    for key, body in reading.scan(EXTENTS, low, pair(head.number, head.tail[0].seq)):
        yield _row(reading, key, body)


def _row(reading: Reading, key: bytes, body: bytes) -> Extents:
    found = decode(_extents, EXTENTS, key, body, reading)
    if not found or found[0].seq != read_pair(key)[1]:
        raise damaged(EXTENTS, key, reading.path, "it is not about the records that its key says")
    return found
