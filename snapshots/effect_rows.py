"""Outstanding effects, and how far each one's attempts are. A row goes when the final outcome is durable."""

import msgspec

from looms.reducers.folded import Outstanding
from looms.reducers.records import effect_id
from looms.snapshots.batch import Batch
from looms.snapshots.errors import StoreFormatError
from looms.snapshots.packing import pair, place, read_place
from looms.snapshots.reading import Reading
from looms.snapshots.rows import EffectRow, Head, decode, encode
from looms.snapshots.tables import EFFECTS

EffectKey = tuple[int, int, int]  # run, seq, index

_effect = msgspec.msgpack.Decoder(EffectRow)


def untried(effect: Outstanding) -> EffectRow:
    """The row of an effect that has just been asked for."""
    return EffectRow(effect.effect, held=effect.held, step=effect.id)


def id_of(head: Head, seq: int, index: int) -> str:
    """Return the id of the effect that a run asked for there: what `EffectContext.effect_id` is."""
    return effect_id(head.run_id, seq, index, head.number if head.again else None)


def put(batch: Batch, key: EffectKey, row: EffectRow) -> None:
    """Write an outstanding effect."""
    batch.put(EFFECTS, place(*key), encode(row))


def delete(batch: Batch, key: EffectKey) -> None:
    """Delete an effect that is over."""
    batch.delete(EFFECTS, place(*key))


def get(reading: Reading, key: EffectKey) -> EffectRow | None:
    """Return an outstanding effect; None when it is over, or never was."""
    packed = place(*key)
    body = reading.get(EFFECTS, packed)
    return None if body is None else decode(_effect, EFFECTS, packed, body, reading)


def listed(
    reading: Reading, after: EffectKey | None = None, run: int | None = None, limit: int = 256
) -> list[tuple[EffectKey, EffectRow | StoreFormatError]]:
    """Return at most `limit` outstanding effects, those behind `after`, by run and then oldest first.

    In place of a row that cannot be read stands the error that says why.

    Args:
        run: of this run only.
    """
    low = b"" if run is None else pair(run, 0)
    low = low if after is None else place(*after) + b"\0"
    high = None if run is None else pair(run + 1, 0)
    return [(read_place(key), _read(reading, key)) for key in reading.keys(EFFECTS, low, high, limit=limit)]


def _read(reading: Reading, key: bytes) -> EffectRow | StoreFormatError:
    try:
        return decode(_effect, EFFECTS, key, reading.get(EFFECTS, key) or b"", reading)
    except StoreFormatError as error:
        return error


def places(reading: Reading, after: EffectKey | None = None, limit: int = 256) -> list[EffectKey]:
    """Return where at most `limit` outstanding effects of all runs are, those behind `after`, without reading them."""
    low = b"" if after is None else place(*after) + b"\0"
    return [read_place(key) for key in reading.keys(EFFECTS, low, limit=limit)]


def places_of(reading: Reading, run: int) -> list[EffectKey]:
    """Return where the outstanding effects of one run are, without reading them."""
    return [read_place(key) for key in reading.keys(EFFECTS, pair(run, 0), pair(run + 1, 0))]


def of_run(reading: Reading, run: int) -> list[tuple[EffectKey, EffectRow]]:
    """Return the outstanding effects of one run, oldest first."""
    return _decoded(reading, pair(run, 0), pair(run + 1, 0), None)


def _decoded(reading: Reading, low: bytes, high: bytes | None, limit: int | None) -> list[tuple[EffectKey, EffectRow]]:
    rows = reading.scan(EFFECTS, low, high, limit=limit)
    return [(read_place(key), decode(_effect, EFFECTS, key, body, reading)) for key, body in rows]
