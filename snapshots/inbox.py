"""Messages that a run has not taken yet: from other runs, or kept while it is suspended. Oldest first."""

from looms.reducers.items import Item, unpack_item
from looms.snapshots.batch import Batch
from looms.snapshots.packing import pair, read_pair, read_u64
from looms.snapshots.reading import Reading
from looms.snapshots.rows import unpacked
from looms.snapshots.tables import INBOX


def put(batch: Batch, run: int, message: bytes) -> int:
    """Put a message behind the others of a run. Returns its n, greater than that of any message before it."""
    n = batch.next_message()
    batch.put(INBOX, pair(run, n), message)
    return n


def delete(batch: Batch, run: int, n: int) -> None:
    """Delete a message: it has been taken."""
    batch.delete(INBOX, pair(run, n))


def page(reading: Reading, run: int, after: int = 0, limit: int = 256) -> list[tuple[int, bytes]]:
    """Return at most `limit` (n, message) of a run, those with an n greater than `after`."""
    rows = reading.scan(INBOX, pair(run, after + 1), pair(run + 1, 0), limit=limit)
    return [(read_pair(key)[1], message) for key, message in rows]


def items(reading: Reading, run: int, after: int = 0, limit: int = 256) -> list[tuple[int, Item]]:
    """Return what `page` would, each message as what it is.

    Raises:
        StoreFormatError: one is none; what stands behind it cannot be taken either.
    """
    return [
        (n, unpacked(unpack_item, INBOX, pair(run, n), message, reading))
        for n, message in page(reading, run, after, limit)
    ]


def runs(reading: Reading, after: int = 0, limit: int = 256) -> list[int]:
    """Return at most `limit` runs that have messages, those with a number greater than `after`.

    Costs one look for each run, however many messages it has.
    """
    found: list[int] = []
    while len(found) < limit:
        key = next(reading.keys(INBOX, pair(after + 1, 0), limit=1), None)
        if key is None:
            break
        after = read_u64(key)
        found.append(after)
    return found
