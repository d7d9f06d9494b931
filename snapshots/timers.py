"""Deadlines by due time, for all runs together. The first row is the next one."""

from itertools import islice

import msgspec

from looms.snapshots.batch import Batch
from looms.snapshots.packing import place, read_place, read_u64, u64
from looms.snapshots.reading import Reading
from looms.snapshots.tables import TIMERS
from looms.snapshots.view import View


class TimerKey(msgspec.Struct, frozen=True):
    """A timer: when it is due (ms), and whose it is, the run's at (seq, index). Run 0 is the runtime itself."""

    due: int
    run: int
    seq: int
    index: int


def put(batch: Batch, timer: TimerKey) -> None:
    """Set a timer. What was due before 1970 is due at 0."""
    batch.put(TIMERS, key(timer))


def delete(batch: Batch, timer: TimerKey) -> None:
    """Delete a timer, also one that is not there."""
    batch.delete(TIMERS, key(timer))


def is_set(reading: Reading, timer: TimerKey) -> bool:
    """Return whether there is such a timer."""
    return reading.get(TIMERS, key(timer)) is not None


def first_due(view: View, after: int = -1) -> int | None:
    """Return when the first timer is due (ms) that is due later than `after`; None when there are none."""
    return next((read_u64(key) for key, _ in view.readable(TIMERS, u64(max(after + 1, 0)), at_once=1)), None)


def due(view: View, upto: int, limit: int = 1_000) -> list[TimerKey]:
    """Return at most `limit` timers that are due at `upto` or before, in due order. Damaged rows are passed over."""
    rows = view.readable(TIMERS, b"", u64(max(upto, -1) + 1), limit)
    return [TimerKey(read_u64(key), *read_place(key, 8)) for key, _ in islice(rows, limit)]


def key(timer: TimerKey) -> bytes:
    """Return the key of a timer's row."""
    return u64(max(timer.due, 0)) + place(timer.run, timer.seq, timer.index)
