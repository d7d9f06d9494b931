"""On which paths the open waits for each event type match: what to hash when an event comes.

A shape is a set of paths; there are few, also where there are millions of waits. Each has the number of open waits that
use it, so that it goes with the last of them.
"""

from collections.abc import Iterable
from hashlib import blake2b

import msgspec

from looms.snapshots.batch import Batch
from looms.snapshots.reading import Reading
from looms.snapshots.rows import ShapeRow, decode, encode
from looms.snapshots.tables import SHAPES

Path = tuple[str | int, ...]
Paths = tuple[Path, ...]

_shape = msgspec.msgpack.Decoder(ShapeRow)


def change(reading: Reading, batch: Batch, type: str, paths: Paths, by: int) -> int:
    """Count so many more open waits for `type` that match on `paths`; return how many there are now.

    `reading` is read through the batch (`batch.over(view)`), so that several changes in one batch add up.
    Paths that differ in their order are different shapes.

    Raises:
        ValueError: there would be fewer than none.
    """
    at = key(type, paths)
    body = reading.get(SHAPES, at)
    count = by + (0 if body is None else decode(_shape, SHAPES, at, body, reading).count)
    if count < 0:
        raise ValueError(f"{reading.path}: {count} open waits for {type!r} on {paths}: more were closed than opened")
    if count:
        batch.put(SHAPES, at, encode(ShapeRow(type, paths, count)))
    elif body is not None:
        batch.delete(SHAPES, at)
    return count


def load(reading: Reading) -> Iterable[ShapeRow]:
    """Iterate over all shapes, by event type."""
    return (decode(_shape, SHAPES, key, body, reading) for key, body in reading.scan(SHAPES))


def of_type(reading: Reading, type: str) -> list[ShapeRow]:
    """Return the shapes of one event type."""
    name = type.encode()
    rows = reading.scan(SHAPES, name + b"\0", name + b"\1")
    return [decode(_shape, SHAPES, key, body, reading) for key, body in rows]


def key(type: str, paths: Paths) -> bytes:
    """Return the key of a shape's row."""
    # A path's elements keep their kind in MessagePack: ("1",) and (1,) are different shapes.
    return type.encode() + b"\0" + blake2b(encode(paths), digest_size=16).digest()
