"""Idempotency keys: what was answered to the first call with each. They are kept as long as their run is."""

import msgspec

from looms.snapshots.batch import Batch
from looms.snapshots.packing import u64
from looms.snapshots.reading import Reading
from looms.snapshots.rows import Number, decode
from looms.snapshots.tables import KEYS

PUBLICATIONS = 0  # the "run" of keys that came with a published event

_seq: msgspec.msgpack.Decoder[int] = msgspec.msgpack.Decoder(Number)
_runs = msgspec.msgpack.Decoder(list[str])


def put(batch: Batch, run: int, key: str, answer: bytes) -> None:
    """Note what was answered to the call with this key; the bytes mean nothing here."""
    batch.put(KEYS, u64(run) + key.encode(), answer)


def page(reading: Reading, run: int, after: str = "", limit: int = 256) -> list[tuple[str, bytes]]:
    """Return at most `limit` (key, answer) of a run, those behind the key `after`, in the order of their bytes."""
    low = u64(run) + after.encode() + (b"\0" if after else b"")
    return [
        (key[8:].decode(errors="replace"), answer) for key, answer in reading.scan(KEYS, low, u64(run + 1), limit=limit)
    ]


def get(reading: Reading, run: int, key: str) -> bytes | None:
    """Return what was answered to the first call with this key; None when there was none."""
    return reading.get(KEYS, u64(run) + key.encode())


def seq(reading: Reading, run: int, key: str) -> int | None:
    """Return the seq that was answered to the first signal with this key; None when there was none.

    Raises:
        StoreFormatError: the answer is none.
    """
    answer = get(reading, run, key)
    return None if answer is None else decode(_seq, KEYS, u64(run) + key.encode(), answer, reading)


def publication(reading: Reading, key: str) -> list[str] | None:
    """Return the runs that took what was first published with this key; None when nothing was.

    Raises:
        StoreFormatError: the answer is none.
    """
    answer = get(reading, PUBLICATIONS, key)
    return None if answer is None else decode(_runs, KEYS, u64(PUBLICATIONS) + key.encode(), answer, reading)
