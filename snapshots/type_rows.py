"""Which types of events a store has held, each with its newest version: what the code that opens it should know."""

import msgspec

from looms.snapshots.batch import Batch
from looms.snapshots.reading import Reading
from looms.snapshots.rows import TypeRow, decode, encode
from looms.snapshots.tables import TYPES

_type = msgspec.msgpack.Decoder(TypeRow)


def put(batch: Batch, type: str, version: int) -> None:
    """Note that there are records of a type in a version, and in no newer one."""
    batch.put(TYPES, type.encode(), encode(TypeRow(type, version)))


def load(reading: Reading) -> dict[str, int]:
    """Return the newest version of each type.

    Raises:
        StoreFormatError: a row is damaged.
    """
    rows = (decode(_type, TYPES, key, body, reading) for key, body in reading.scan(TYPES))
    return {row.type: row.version for row in rows}
