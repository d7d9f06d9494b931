"""Bringing a run back from its log: the newest snapshot that fits, and the records after it."""

from collections.abc import Iterator

import msgspec

from looms.reducers import forks
from looms.reducers.entries import Entry, unpack_entry
from looms.reducers.errors import LoomsError
from looms.reducers.fold import fold
from looms.reducers.folded import FoldedRun
from looms.reducers.images import fingerprints, image, restore
from looms.reducers.registry import Registry
from looms.reducers.strides import Strides
from looms.snapshots import chains, log, snapshot_rows
from looms.snapshots.batch import Batch
from looms.snapshots.chains import Chain, Misfit, Written
from looms.snapshots.errors import StoreFormatError
from looms.snapshots.reading import Reading
from looms.snapshots.rows import Head


class Loaded(msgspec.Struct, frozen=True):
    """A run that was brought back.

    Attributes:
        run: the run.
        chain: the snapshot that it was brought back from, with those that it stands on.
        passed_over: what was wrong with newer snapshots, which are damaged.
    """

    run: FoldedRun
    chain: Chain
    passed_over: tuple[StoreFormatError, ...] = ()


def new_run(head: Head) -> FoldedRun:
    """A run before its first record."""
    return FoldedRun(head.run_id, head.number, head.definition, head.forks, again=head.again)


def whose(head: Head, seq: int) -> tuple[str, int | None]:
    """Of the run in which a record happened, the id and what else the ids of its effects are made of."""
    return forks.whose(head.forks, head.run_id, head.number if head.again else None, seq)


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
    strides = Strides(run, code)
    for first, records in log.chunks(reading, head, loaded.chain.seq + 1, last):
        place = 0
        while (place := strides.fold(records, place)) < len(records):
            fold(run, entry_of(reading, head, first + place, records[place], code), code)
            place += 1
        run.journal.clear()
    return loaded


def stored(reading: Reading, head: Head, code: Registry | None, seq: int) -> Loaded:
    """The run as the snapshot at exactly a seq has it.

    Raises:
        Misfit: it is not of today's code.
        StoreFormatError: it, or a snapshot that it stands on, is damaged or missing.
    """
    run = new_run(head)
    chain = chains.read(reading, head.number, seq, code)
    try:
        restore(chain.links[-1].image, run, lambda at: entry(reading, head, at, code))
    except StoreFormatError:
        raise
    except (msgspec.MsgspecError, LoomsError, LookupError, TypeError, ValueError) as error:
        raise snapshot_rows.broken(reading, head.number, seq, f"it is not of this log ({error})") from error
    return Loaded(run, chain)


def entries(
    reading: Reading, head: Head, code: Registry | None, first: int = 1, last: int | None = None
) -> Iterator[Entry]:
    """A run's records from ``first`` to ``last``, one after the other, while the reading is open.

    Raises:
        StoreFormatError: one is damaged or missing.
    """
    for seq, data in log.records(reading, head, first, last):
        yield entry_of(reading, head, seq, data, code)


def page(reading: Reading, head: Head, code: Registry | None, first: int, last: int) -> list[Entry]:
    """A page of a run's records from ``first`` on; the next one begins behind its last. None only behind ``last``.

    Raises:
        StoreFormatError: one is damaged or missing.
    """
    return [entry_of(reading, head, seq, data, code) for seq, data in log.page(reading, head, first, last)]


def entry(reading: Reading, head: Head, seq: int, code: Registry | None) -> Entry:
    """One record of a run, which is there.

    Raises:
        StoreFormatError: it is damaged or missing.
    """
    data = log.record(reading, head, seq)
    if data is None:
        raise StoreFormatError(f"{reading.path}: run {head.run_id} has no record {seq}", run=head.number, seq=seq)
    return entry_of(reading, head, seq, data, code)


def snapshot(batch: Batch, run: FoldedRun, code: Registry, chain: Chain) -> Chain:
    """Write a snapshot of a run, and return the chain that ends with it.

    Args:
        batch: where it is written.
        run: the run.
        code: today's code.
        chain: what it may stand on.

    Raises:
        Unfit: its state holds something that would come back as something else; nothing is written.
    """
    written = chains.extend(chain, image(run), fingerprints(run.threads.values(), code), code)
    return put_snapshot(batch, run.number, written)


def put_snapshot(batch: Batch, run: int, written: Written) -> Chain:
    """Write a snapshot that is made, and return the chain that ends with it."""
    snapshot_rows.put(batch, run, written.chain.seq, written.info, written.body)
    return written.chain


def _newest(reading: Reading, head: Head, code: Registry | None, last: int) -> Loaded:
    """The run as of the newest snapshot at or before a seq that fits today's code, or as of nothing.

    A snapshot is never the only copy of anything: where one is damaged, an older one, or the log, has it too.
    """
    found, passed_over, seq = Loaded(new_run(head), Chain()), [], 0
    for seq in snapshot_rows.seqs_down(reading, head.number, last):
        try:
            found = stored(reading, head, code, seq)
            break
        except Misfit:
            continue
        except StoreFormatError as error:
            passed_over.append(error)
    if not seq:
        return found  # no snapshot, as of most runs
    chain = msgspec.structs.replace(found.chain, next=max(found.chain.next, _next_number(reading, head.number, last)))
    return Loaded(found.run, chain, tuple(passed_over))


def _next_number(reading: Reading, run: int, last: int) -> int:
    """The number after the last snapshot's, whatever code it is of."""
    for seq in snapshot_rows.seqs_down(reading, run, last):
        try:
            info = snapshot_rows.get(reading, run, seq)
        except StoreFormatError:
            continue
        if info is not None:
            return info.number + 1
    return 0


def entry_of(reading: Reading, head: Head, seq: int, data: bytes, code: Registry | None) -> Entry:
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
