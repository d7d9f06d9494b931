"""The rows of a run that may be anywhere: looked for in every table, whatever of the run is damaged.

A run that is over has left the tables that are not in the order of runs, and its head tells where its records are. Of
one that is discarded neither is sure. So nothing is believed but the number that rows carry, each for itself; a record
that cannot be read any more is this run's where the run's own rows say so.
"""

from collections.abc import Callable, Iterator
from itertools import islice

import msgspec

from looms.snapshots import heads, walks
from looms.snapshots.errors import StoreFormatError
from looms.snapshots.packing import after, read_u64, u64
from looms.snapshots.rows import Extent, decode
from looms.snapshots.tables import (
    BODIES,
    EFFECTS,
    ENDED,
    EXTENTS,
    IDS,
    INBOX,
    KEYS,
    LISTING,
    LOG,
    PARKED,
    READS,
    SNAPSHOTS,
    TIMERS,
    WAITS,
    Table,
)
from looms.snapshots.view import View
from looms.snapshots.walks import Damaged, Viewed, walked

Row = tuple[Table, bytes]

PAGE = 1_024
VALUES = 64  # in a page of those that may be large

_NAMING = ((WAITS, 16), (TIMERS, 8), (ENDED, 9))  # where in their keys the run stands
_BY_RUN = (SNAPSHOTS, BODIES, INBOX, KEYS, EFFECTS, PARKED)
_extents = msgspec.msgpack.Decoder(tuple[Extent, ...])


def find(store: Viewed, run: int, most: int, step: Callable[[int], None]) -> list[Row]:
    """Return at most `most` rows of a run that is hidden; fewer only when that is all.

    Each stands before those that tell of it: whoever deletes them in this order can stop anywhere and begin again.

    Args:
        store: the store.
        run: the run's number.
        most: how many.
        step: is told of so many rows that were looked at.
    """
    return list(islice(_rows(store, run, step), most))


def _rows(store: Viewed, run: int, step: Callable[[int], None]) -> Iterator[Row]:
    for table, at in _NAMING:
        yield from walked(store, table, _naming(table, at, run), step, PAGE)
    yield from walked(store, READS, _reading(run), step, PAGE)
    yield from walked(store, LISTING, _listed(run), step, PAGE)
    yield from walked(store, IDS, _named(run), step, PAGE)
    for table in _BY_RUN:
        yield from _of_run(store, table, run, step)
    yield from _records(store, run, step)
    yield from _of_run(store, EXTENTS, run, step)


def _naming(table: Table, at: int, run: int) -> Callable[[View, bytes, object], Iterator[Row]]:
    def look(_: View, key: bytes, body: object) -> Iterator[Row]:
        if len(key) == table.key_size and read_u64(key, at) == run:
            yield table, key

    return look


def _reading(run: int) -> Callable[[View, bytes, object], Iterator[Row]]:
    """Rows of what the run has read; those of what others have read of it lead to whom its end concerns."""

    def look(_: View, key: bytes, body: object) -> Iterator[Row]:
        if len(key) >= 28 and read_u64(key, len(key) - 20) == run:
            yield READS, key

    return look


def _listed(run: int) -> Callable[[View, bytes, object], Iterator[Row]]:
    def look(_: View, key: bytes, body: object) -> Iterator[Row]:
        if len(key) > 10 and key.endswith(u64(run)):
            yield LISTING, key

    return look


def _named(run: int) -> Callable[[View, bytes, bytes | Damaged], Iterator[Row]]:
    def look(_: View, key: bytes, body: bytes | Damaged) -> Iterator[Row]:
        if body == u64(run):
            yield IDS, key

    return look


def _of_run(store: Viewed, table: Table, run: int, step: Callable[[int], None]) -> Iterator[Row]:
    low, high = u64(run), after(u64(run))
    while True:
        with store.view() as view:
            found = [key for key, _ in view.rows(table, low, high, VALUES)]
        step(len(found))
        yield from ((table, key) for key in found)
        if len(found) < VALUES:
            return
        low = found[-1] + b"\0"


def _records(store: Viewed, run: int, step: Callable[[int], None]) -> Iterator[Row]:
    """The records where the run's rows have them; where these do not tell of all, also those that say they are its."""
    known, complete = _places(store, run)
    for extent in known:
        yield from _within(store, run, extent, step)
    if complete:
        return

    def look(_: View, key: bytes, body: bytes | Damaged) -> Iterator[Row]:
        one = walks.whose(body)
        if one is not None and one.run == run and len(key) == 8:
            yield LOG, key

    yield from walked(store, LOG, look, step, VALUES)


def _places(store: Viewed, run: int) -> tuple[list[Extent], bool]:
    """Where the run's records are, as far as its rows can be read, and whether that is all of them."""
    found: list[Extent] = []
    with store.view() as view:
        try:
            head = heads.stored(view, run)
        except StoreFormatError:
            head = None
        for key, body in walks.of_run(view, EXTENTS, run):
            if isinstance(body, bytes):
                try:
                    told = decode(_extents, EXTENTS, key, body, view)
                    found += told
                except StoreFormatError:
                    continue
    found += head.tail if head is not None else ()
    return found, head is not None and bool(head.tail) and sum(extent.count for extent in found) == head.seq


def _within(store: Viewed, run: int, extent: Extent, step: Callable[[int], None]) -> Iterator[Row]:
    low, high = u64(extent.position), u64(extent.position + extent.count)
    while True:
        with store.view() as view:
            found = view.rows(LOG, low, high, VALUES)
            ours = [key for key, body in found if (one := walks.whose(body)) is None or one.run == run]
        step(len(found))
        yield from ((LOG, key) for key in ours)
        if len(found) < VALUES:
            return
        low = found[-1][0] + b"\0"
