"""Removing a run: everything of it, in small transactions.

The first batch hides the run: nobody finds it any more, by id, number or in a list, and its id is free. Then its rows
go, so many a batch, and the head goes with the last of them. Until then the run stands in `removals`;
after a crash in between, `pending` names it, and `step` goes on where it was: what is gone is simply not found again.
A finished run has no waits and no timers. One that is discarded may have, and may be damaged in any way: its rows are
looked for in all tables (`scattered.py`), and `finish` ends it.
"""

from collections.abc import Iterable, Iterator
from itertools import islice

from looms.snapshots import former, heads, log
from looms.snapshots.batch import Batch
from looms.snapshots.errors import StoreFormatError
from looms.snapshots.packing import read_u64, u64
from looms.snapshots.reading import Reading
from looms.snapshots.rows import Head
from looms.snapshots.tables import BODIES, EFFECTS, INBOX, KEYS, REMOVALS, RUNS, SNAPSHOTS, Table
from looms.snapshots.view import View

_BY_RUN = (SNAPSHOTS, BODIES, INBOX, KEYS, EFFECTS)


def begin(batch: Batch, head: Head) -> None:
    """Hide a run, and note that it is to be removed and that its id was used. `head` is as stored, and finished."""
    _begin(batch, head, heads.REMOVING)


def discard(batch: Batch, head: Head) -> None:
    """Do the same with a run that is not over, or damaged; of its head no more need be right than number and id."""
    _begin(batch, head, heads.DISCARDED)


def _begin(batch: Batch, head: Head, status: str) -> None:
    heads.hide(batch, head, status)
    former.note(batch, head.run_id)
    batch.put(REMOVALS, u64(head.number))
    # The run's extents name its places in the log until the end; nobody else's record may get into one of them.
    batch.pin_position()


def pending(view: View, limit: int = 256) -> list[int]:
    """Return the numbers of runs whose removal has begun and is not complete. Damaged rows are passed over."""
    return [read_u64(key) for key, _ in islice(view.readable(REMOVALS), limit)]


def is_pending(reading: Reading, run: int) -> bool:
    """Return whether a run is to be removed: a copy that was hidden as such may have been shown meanwhile."""
    return reading.get(REMOVALS, u64(run)) is not None


def is_discarded(reading: Reading, run: int) -> bool:
    """Return whether the rows of a run that is to be removed may be anywhere."""
    try:
        head = heads.stored(reading, run)
    except StoreFormatError:
        return True
    return head is None or head.status == heads.DISCARDED


def finish(batch: Batch, run: int) -> None:
    """Forget a run of which no other row is left."""
    batch.delete(RUNS, u64(run))
    batch.delete(REMOVALS, u64(run))


def step(reading: Reading, batch: Batch, run: int, limit: int = 1_000) -> bool:
    """Delete at most `limit` rows of a run that is hidden; return whether there are more, for a later batch.

    `reading` is the committed state, not one read through `batch`.
    """
    return _step(reading, batch, run, limit) is None


def steps(reading: Reading, batch: Batch, runs: Iterable[int], limit: int = 1_000) -> None:
    """Delete at most `limit` rows of runs that are hidden, one run after the other; `reading` as for `step`."""
    for run in runs:
        left = _step(reading, batch, run, limit)
        if not left:
            break
        limit = left


def _step(reading: Reading, batch: Batch, run: int, limit: int) -> int | None:
    """Delete rows of a run; return how many more might have been deleted, or None when there are more of them."""
    for table, key in _rows(reading, run):
        if limit == 0:
            return None
        batch.delete(table, key)
        limit -= 1
    finish(batch, run)
    return limit


def _rows(reading: Reading, run: int) -> Iterator[tuple[Table, bytes]]:
    """Iterate over the keys of a run's rows that are still there, each before the row that tells where it is."""
    for table in _BY_RUN:
        for key in reading.keys(table, u64(run), u64(run + 1)):
            yield table, key
    head = heads.stored(reading, run)
    if head is not None:
        yield from log.remains(reading, head)
