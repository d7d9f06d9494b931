"""Which runs wait for what: the hash of (event type, matched paths, their values) leads to the waits that match."""

from looms.snapshots.batch import Batch
from looms.snapshots.packing import after, place, read_place
from looms.snapshots.reading import Reading
from looms.snapshots.tables import WAITS

HASH = 16  # bytes


def put(batch: Batch, hash: bytes, run: int, seq: int, index: int) -> None:
    """Note that a wait of a run, the one decided at (seq, index), is for what has this hash."""
    batch.put(WAITS, key(hash, run, seq, index))


def delete(batch: Batch, hash: bytes, run: int, seq: int, index: int) -> None:
    """Forget a wait."""
    batch.delete(WAITS, key(hash, run, seq, index))


def find(reading: Reading, hash: bytes) -> list[tuple[int, int, int]]:
    """Return (run, seq, index) of the waits for what has this hash, by run and then oldest first."""
    return [read_place(key, HASH) for key in reading.keys(WAITS, hash, after(hash))]


def key(hash: bytes, run: int, seq: int, index: int) -> bytes:
    """Return the key of a wait's row."""
    if len(hash) != HASH:
        raise ValueError(f"the hash of a wait has {HASH} bytes, and this one {len(hash)}")
    return hash + place(run, seq, index)
