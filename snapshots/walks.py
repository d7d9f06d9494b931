"""Walking tables that may be damaged: what cannot be read is told, and the walk goes on behind it.

A walk over a whole table opens a view for each page, so it pins nothing for long and stands beside a host that writes.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

import msgspec

from looms.snapshots import log
from looms.snapshots.errors import StoreFormatError
from looms.snapshots.packing import after, pair, read_pair, read_u64, u64
from looms.snapshots.reading import Reading
from looms.snapshots.rows import Head
from looms.snapshots.tables import EXTENTS, LOG, Table
from looms.snapshots.view import View

T = TypeVar("T")

PAGE = 256
Damaged = StoreFormatError
"""What stands in place of a body that cannot be read."""


class Viewed(Protocol):
    """A store that can be looked at."""

    def view(self) -> View: ...


class Whose(msgspec.Struct, frozen=True, array_like=True):
    """Which record of which run some bytes of the log are; the rest of them is not looked at."""

    run: int
    seq: int


_whose = msgspec.msgpack.Decoder(Whose)


def walked(
    store: Viewed,
    table: Table,
    look: Callable[[View, bytes, bytes | Damaged], Iterable[T]],
    step: Callable[[int], None],
    size: int = PAGE,
) -> Iterator[T]:
    """Iterate over what is found by looking at each row of a table.

    Args:
        store: the store.
        table: the table.
        look: is given each row, and the view it was read in; of a damaged one, what is wrong in place of its body.
        step: is told of each page how many rows it had.
        size: rows in a page. A view is open while a page is looked at, and not between what is found.

    Raises:
        StoreFormatError: LMDB itself cannot read on.
    """
    low = b""
    while True:
        with store.view() as view:
            rows = view.rows(table, low, None, size)
            found = [one for key, body in rows for one in look(view, key, body)]
        step(len(rows))
        yield from found
        if len(rows) < size:
            return
        low = rows[-1][0] + b"\0"


def of_run(view: View, table: Table, run: int, size: int = PAGE) -> Iterator[tuple[bytes, bytes | Damaged]]:
    """Iterate over the rows of a table whose keys begin with a run's number, those that are damaged among them."""
    low, high = u64(run), after(u64(run))
    while True:
        found = view.rows(table, low, high, size)
        yield from found
        if len(found) < size:
            return
        low = found[-1][0] + b"\0"


def runs_in(view: View, table: Table, last: int, size: int = PAGE) -> list[int]:
    """Return at most `size` numbers of runs that have rows in a table, greater than `last`: one look for each."""
    found: list[int] = []
    low = after(u64(last))
    while low is not None and len(found) < size:
        row = view.rows(table, low, None, 1)
        if not row:
            break
        key = row[0][0]
        if len(key) < 8:  # no run's
            low = key + b"\0"
            continue
        found.append(read_u64(key))
        low = after(key[:8])
    return found


def whose(body: bytes | Damaged) -> Whose | None:
    """Return which record some bytes of the log are; None when they do not tell."""
    if isinstance(body, Damaged):
        return None
    try:
        return _whose.decode(body)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def next_located(view: View, head: Head, seq: int) -> int:
    """Return the first seq behind `seq` from which on a run's extents say again where records are."""
    found = [head.seq + 1]
    for key in _keys(view, pair(head.number, seq + 1), after(u64(head.number))):
        found.append(read_pair(key)[1])
        break
    found += [extent.seq for extent in head.tail if extent.seq > seq]
    return min(found)


def position(reading: Reading, head: Head, seq: int) -> int | None:
    """Return where in the log a record of a run is; None when no extent says, or when that cannot be read."""
    try:
        return log.position(reading, head, seq)
    except StoreFormatError:
        return None


def in_log(
    view: View, low: int, high: int | None = None, size: int = log.READ
) -> Iterator[tuple[int, bytes | Damaged]]:
    """Iterate over the log from one position up to another, damaged rows among them, all in one view."""
    while True:
        found = view.rows(LOG, u64(low), None if high is None else u64(high), size)
        for key, body in found:
            if len(key) == 8:
                yield read_u64(key), body
        if len(found) < size:
            return
        low = read_u64(found[-1][0].ljust(8, b"\0")) + 1


def _keys(view: View, low: bytes, high: bytes | None) -> Iterable[bytes]:
    return (key for key, _ in of_range(view, EXTENTS, low, high, 16) if len(key) == 16)


def of_range(
    view: View, table: Table, low: bytes = b"", high: bytes | None = None, size: int = PAGE
) -> Iterator[tuple[bytes, bytes | Damaged]]:
    """Iterate over the rows of a table, all in one view, those that are damaged among them."""
    while found := view.rows(table, low, high, size):
        yield from found
        low = found[-1][0] + b"\0"
