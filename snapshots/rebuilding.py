"""Rebuilding what leads to a run's records, when it is lost: each record says whose it is, and which."""

from collections.abc import Iterable, Iterator

from looms.snapshots import commits
from looms.snapshots.extents import TAIL
from looms.snapshots.heads import DISCARDED, STATUSES
from looms.snapshots.packing import after, pair, read_u64, u64
from looms.snapshots.rows import Extent, Head, Turn, encode
from looms.snapshots.tables import COMMITS, EXTENTS, IDS, LISTING, REMOVALS, RUNS, Table
from looms.snapshots.view import View
from looms.snapshots.walks import Damaged, in_log, whose

Change = tuple[Table, bytes, bytes | None]
"""A row to put, or with None to delete."""


def extents(view: View, run: int, first: int, last: int, low: int = 0, high: int | None = None) -> list[Extent]:
    """Return where in the log a run's records from `first` to `last` are, looking between two positions."""
    found: list[Extent] = []
    for position, body in in_log(view, low, high):
        one = whose(body)
        if one is None or one.run != run or not first <= one.seq <= last:
            continue
        newest = found[-1] if found else None
        if newest is not None and one.seq < newest.seq + newest.count:
            continue  # a second one of a seq: the first to come was the one that was committed
        if newest is not None and (newest.seq + newest.count, newest.position + newest.count) == (one.seq, position):
            found[-1] = Extent(newest.seq, newest.position, newest.count + 1)
        else:
            found.append(Extent(one.seq, position, 1))
    return found


def spilled(run: int, found: list[Extent]) -> Iterator[Change]:
    """Iterate over the rows that hold extents of older records."""
    for group in _gapless(found):
        for at in range(0, len(group), TAIL):
            part = tuple(group[at : at + TAIL])
            yield EXTENTS, pair(run, part[0].seq), encode(part)


def between(view: View, head: Head, first: int, last: int) -> list[Change]:
    """Return the rows that say again where records of a run are whose rows of extents are lost."""
    return list(spilled(head.number, extents(view, head.number, first, last)))


def head(view: View, number: int) -> tuple[Head | None, list[Change]]:
    """Return the head of a run as far as ids, listing, commits and log tell, and the rows for its older extents.

    None when nobody knows the run's id, or when it has no record; then, what is to be done about its head. A run that
    is being removed is known by its number alone.
    """
    run_id = next((key.decode() for key, body in _rows(view, IDS) if body == u64(number)), None)
    found = extents(view, number, 1, 2**61)
    hidden = bool(view.rows(REMOVALS, u64(number), after(u64(number)), 1))
    if not found:
        return None, [(RUNS, u64(number), None), (REMOVALS, u64(number), None)]
    if run_id is None and not hidden:
        return None, []
    last = max((turn.last for turn in turns(view) if turn.run == number), default=0)
    last = max(last, found[-1].seq + found[-1].count - 1)
    tail = _gapless(found)[-1][-TAIL:]
    definition, status = ("", DISCARDED) if hidden else _listed(view, number)
    rows = list(spilled(number, [extent for extent in found if extent.seq < tail[0].seq]))
    return Head(number, run_id or "", definition, status, last, 0, 0, None, tuple(tail)), rows


def turns(view: View) -> Iterator[Turn]:
    """Iterate over the turns of all commits that can be read."""
    for key, body in _rows(view, COMMITS):
        if not isinstance(body, Damaged):
            try:
                yield from commits.turns(view, key, body)
            except Damaged:
                continue


def _listed(view: View, number: int) -> tuple[str, str]:
    """Return what the listing says of a run: its definition and its status."""
    for key, _ in _rows(view, LISTING):
        if len(key) > 10 and key[-10:-9] == b"\0" and read_u64(key, len(key) - 8) == number:
            status = key[-9] - 1
            if 0 <= status < len(STATUSES):
                return key[:-10].decode(errors="replace"), STATUSES[status]
    return "", ""


def _rows(view: View, table: Table) -> Iterator[tuple[bytes, bytes | Damaged]]:
    low = b""
    while found := view.rows(table, low):
        yield from found
        low = found[-1][0] + b"\0"


def _gapless(found: Iterable[Extent]) -> list[list[Extent]]:
    """Return extents in groups of which each is about consecutive records."""
    groups: list[list[Extent]] = []
    for extent in found:
        if groups and groups[-1][-1].seq + groups[-1][-1].count == extent.seq:
            groups[-1].append(extent)
        else:
            groups.append([extent])
    return groups
