"""Waking: a write has those look again who wait for something that they have read where it was written."""

from collections.abc import Iterable, Sequence
from contextlib import suppress

from looms.actors.group import Group, Span, Written
from looms.reducers.items import Look, pack_item
from looms.snapshots import heads, inbox, read_rows
from looms.snapshots.errors import StoreFormatError
from looms.snapshots.tables import READS

EVERYTHING: Span = (b"", b"\xff")
"""What a run that goes is to those who have read it: no key that is read begins with the byte of its end."""


def wake_readers(group: Group, number: int, spans: Sequence[Span]) -> None:
    """Have all look again, in the order in which they began to wait, who have read what is written.

    Callers in this process do once this is committed; waits of runs are in their durable inboxes with the commit.

    Args:
        group: the commit.
        number: of the run that is written.
        spans: the ranges that the keys are in of what is touched; their ends are not included.
    """
    group.watched.append(Written(number, spans))
    _wake_waits(group, number, spans)


def wake_expectant(group: Group, run_id: str) -> None:
    """Have those look again who have read that there is no run of an id: now there is."""
    expected = read_rows.by_id(run_id)
    wake_readers(group, read_rows.ABSENT, [(expected, expected[:-1] + b"\1")])


def _wake_waits(group: Group, number: int, spans: Iterable[Span]) -> None:
    found = read_rows.touched(group.reading, number, spans)
    waiting: list[tuple[int, read_rows.Place]] = []
    for wait, rows in found.items():
        parked = read_rows.unpark(group.reading, group.batch, wait)
        for row in rows:
            group.batch.delete(READS, row)
        waiting.append((0 if parked is None else parked.since, wait))
    for since, (run, seq, index) in sorted(waiting):
        inbox.put(group.batch, run, pack_item(Look((seq, index), since)))
        with suppress(StoreFormatError):  # who is damaged looks when he is repaired
            head = heads.head(group.reading, run)
            if head is not None:
                group.wake(head.run_id)
