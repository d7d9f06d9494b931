"""Bringing a run back from its log: the newest snapshot that fits, and the records after it."""

from collections.abc import Iterator

import msgspec

from looms.reducers.codec import Unfit
from looms.reducers.entries import Entry, unpack_entry
from looms.reducers.errors import LoomsError
from looms.reducers.fold import fold
from looms.reducers.folded import FoldedRun
from looms.reducers.images import fingerprints, fits, pack_image, restore
from looms.reducers.registry import Registry
from looms.snapshots import log, snapshot_rows
from looms.snapshots.batch import Batch
from looms.snapshots.errors import StoreFormatError
from looms.snapshots.reading import Reading
from looms.snapshots.rows import Head, SnapshotInfo


class Loaded(msgspec.Struct, frozen=True):
    """A run, and the seq of the snapshot that it was brought back from; 0 when there was none."""

    run: FoldedRun
    snapshot: int


def new_run(head: Head) -> FoldedRun:
    """A run before its first record."""
    return FoldedRun(head.run_id, head.number, head.definition, again=head.again)


def load(reading: Reading, head: Head, code: Registry | None, upto: int | None = None) -> Loaded:
    """Bring a run back as of a seq.

    Args:
        reading: one state of the store.
        head: the run's head in it.
        code: today's code; without it all is there but the states.
        upto: the seq; the last one without.

    Raises:
        ReducerError: today's code cannot fold the log.
        StoreFormatError: a record is damaged or missing.
    """
    last = head.seq if upto is None else upto
    loaded = _newest(reading, head, code, last)
    run = loaded.run
    for number, entry in enumerate(entries(reading, head, code, loaded.snapshot + 1, last)):
        fold(run, entry, code)
        if number % 256 == 255:
            run.journal.clear()
    run.journal.clear()
    return loaded


def stored(reading: Reading, head: Head, code: Registry, seq: int) -> FoldedRun | None:
    """The run as the snapshot at exactly a seq has it; None where that does not fit today's code, or cannot be read."""
    run = FoldedRun(head.run_id, head.number, head.definition)
    try:
        info = snapshot_rows.get(reading, head.number, seq)
        if info is None or not fits(info.fingerprints, code):
            return None
        body = snapshot_rows.body(reading, head.number, seq)
        restore(body, run, code, lambda at: entry(reading, head, at, code))
    except (msgspec.MsgspecError, Unfit, StoreFormatError):
        return None
    return run


def entries(
    reading: Reading, head: Head, code: Registry | None, first: int = 1, last: int | None = None
) -> Iterator[Entry]:
    """A run's records from ``first`` to ``last``, one after the other, while the reading is open.

    Raises:
        StoreFormatError: one is damaged or missing.
    """
    for seq, data in log.records(reading, head, first, last):
        yield _entry(reading, head, seq, data, code)


def page(reading: Reading, head: Head, code: Registry | None, first: int, last: int) -> list[Entry]:
    """A page of a run's records from ``first`` on; the next one begins behind its last. None only behind ``last``.

    Raises:
        StoreFormatError: one is damaged or missing.
    """
    return [_entry(reading, head, seq, data, code) for seq, data in log.page(reading, head, first, last)]


def entry(reading: Reading, head: Head, seq: int, code: Registry | None) -> Entry:
    """One record of a run, which is there.

    Raises:
        StoreFormatError: it is damaged or missing.
    """
    data = log.record(reading, head, seq)
    if data is None:
        raise StoreFormatError(f"{reading.path}: run {head.run_id} has no record {seq}", run=head.number, seq=seq)
    return _entry(reading, head, seq, data, code)


def snapshot(batch: Batch, run: FoldedRun, code: Registry) -> None:
    """Write a full snapshot of a run.

    Raises:
        Unfit: its state holds something that would come back as something else; nothing is written.
    """
    body = pack_image(run, code)
    info = SnapshotInfo(run.at, "full", None, fingerprints(run, code), len(body))
    snapshot_rows.put(batch, run.number, run.seq, info, body)


def _newest(reading: Reading, head: Head, code: Registry | None, last: int) -> Loaded:
    """The run as of the newest snapshot at or before a seq that fits today's code, or as of nothing."""
    for seq in snapshot_rows.seqs_down(reading, head.number, last):
        run = new_run(head)
        try:
            info = snapshot_rows.get(reading, head.number, seq)
            if info is None or (code is not None and not fits(info.fingerprints, code)):
                continue
            body = snapshot_rows.body(reading, head.number, seq)
            restore(body, run, code, lambda at: entry(reading, head, at, code))
        except (msgspec.MsgspecError, Unfit, StoreFormatError):
            continue  # a snapshot is never the only copy of anything: an older one, or the log, has it too
        return Loaded(run, seq)
    return Loaded(new_run(head), 0)


def _entry(reading: Reading, head: Head, seq: int, data: bytes, code: Registry | None) -> Entry:
    try:
        found = unpack_entry(data, code)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise _broken(reading, head, seq, str(error)) from error
    if (found.row.run, found.seq) != (head.number, seq):
        raise _broken(reading, head, seq, f"it is record {found.seq} of run number {found.row.run}")
    return found


def _broken(reading: Reading, head: Head, seq: int, why: str) -> LoomsError:
    return StoreFormatError(
        f"{reading.path}: record {seq} of run {head.run_id} is no record: {why}", table="log", run=head.number, seq=seq
    )
