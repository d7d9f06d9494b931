"""Events that came before anyone waited for them, kept for a time, and found by what a wait asks for."""

from looms.snapshots.batch import Batch
from looms.snapshots.packing import after, read_u64, u64
from looms.snapshots.reading import Reading
from looms.snapshots.tables import RETAINED, RETAINED_INDEX
from looms.snapshots.wait_rows import HASH


def put(batch: Batch, event: bytes) -> int:
    """Keep an event. Returns its n, greater than that of any event kept before."""
    n = batch.next_retained()
    batch.put(RETAINED, u64(n), event)
    return n


def get(reading: Reading, n: int) -> bytes | None:
    """Return a kept event; None when it is gone."""
    return reading.get(RETAINED, u64(n))


def delete(batch: Batch, n: int) -> None:
    """Let an event go. Its index rows are the caller's to delete."""
    batch.delete(RETAINED, u64(n))


def index(batch: Batch, hash: bytes, n: int) -> None:
    """Make a kept event findable by a hash."""
    batch.put(RETAINED_INDEX, index_key(hash, n))


def unindex(batch: Batch, hash: bytes, n: int) -> None:
    """Make a kept event no longer findable by a hash."""
    batch.delete(RETAINED_INDEX, index_key(hash, n))


def find(reading: Reading, hash: bytes, limit: int | None = None) -> list[int]:
    """Return the n of the events kept under a hash, oldest first."""
    return [read_u64(key, HASH) for key in reading.keys(RETAINED_INDEX, hash, after(hash), limit=limit)]


def page(reading: Reading, after: int = 0, limit: int = 256) -> list[tuple[int, bytes]]:
    """Return at most `limit` (n, event), those with an n greater than `after`."""
    return [(read_u64(key), event) for key, event in reading.scan(RETAINED, u64(after + 1), limit=limit)]


def index_key(hash: bytes, n: int) -> bytes:
    """Return the key of the row by which a kept event is found under a hash."""
    if len(hash) != HASH:
        raise ValueError(f"a hash has {HASH} bytes, and this one {len(hash)}")
    return hash + u64(n)
