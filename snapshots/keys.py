"""Idempotency keys: what was answered to the first call with each. They are kept as long as their run is."""

from looms.snapshots.batch import Batch
from looms.snapshots.packing import u64
from looms.snapshots.reading import Reading
from looms.snapshots.tables import KEYS

PUBLICATIONS = 0  # the "run" of keys that came with a published event


def put(batch: Batch, run: int, key: str, answer: bytes) -> None:
    """Note what was answered to the call with this key; the bytes mean nothing here."""
    batch.put(KEYS, u64(run) + key.encode(), answer)


def get(reading: Reading, run: int, key: str) -> bytes | None:
    """Return what was answered to the first call with this key; None when there was none."""
    return reading.get(KEYS, u64(run) + key.encode())
