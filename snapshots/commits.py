"""Commits in their order, the one order of everything in a store: which turns each one made durable."""

import msgspec

from looms.snapshots.packing import read_u64, u64
from looms.snapshots.reading import Reading
from looms.snapshots.rows import Turn, decode
from looms.snapshots.tables import COMMITS

_turns = msgspec.msgpack.Decoder(tuple[Turn, ...])


def page(reading: Reading, after: int = 0, limit: int = 256) -> list[tuple[int, tuple[Turn, ...]]]:
    """Return at most `limit` (number, turns), those with a number greater than `after`."""
    rows = reading.scan(COMMITS, u64(after + 1), limit=limit)
    return [(read_u64(key), turns(reading, key, body)) for key, body in rows]


def turns(reading: Reading, key: bytes, body: bytes) -> tuple[Turn, ...]:
    """Return the turns that a row holds.

    Raises:
        StoreFormatError: it holds something else.
    """
    return decode(_turns, COMMITS, key, body, reading)


def last(reading: Reading) -> int:
    """Return the number of the last commit; 0 when there is none."""
    for key in reading.keys(COMMITS, reverse=True, limit=1):
        return read_u64(key)
    return 0
