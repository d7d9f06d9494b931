"""Where a run's records are, as extents: so many records from this seq on lie at this position and after it.

A run that is busy alone has its records side by side, in one extent. One that takes turns with a thousand others has
an extent for each turn: the most recent ones are in its head, which a turn rewrites anyway, and when those
are too many they become one row of `extents`, that never changes again. So a head stays small, a turn
writes one row for it, and any record is found with one look at that table.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator

from looms.snapshots.rows import Extent

TAIL = 16  # extents in a head; a longer tail is spilled

Extents = tuple[Extent, ...]


def grown(tail: Extents, seq: int, position: int, count: int) -> tuple[Extents, Extents]:
    """Return the tail with `count` more records from `seq` on, at `position`; and the extents spilled, mostly none."""
    if tail:
        last = tail[-1]
        if last.position + last.count == position and last.seq + last.count == seq:
            return (*tail[:-1], Extent(last.seq, last.position, last.count + count)), ()
    added = Extent(seq, position, count)
    return ((*tail, added), ()) if len(tail) < TAIL else ((added,), tail)


def from_seq(extents: Extents, seq: int) -> Extents:
    """Return what of `extents` holds records from `seq` on, the first one cut so that it begins there."""
    at = max(bisect_right(extents, seq, key=_seq) - 1, 0)
    rest = extents[at:]
    if not rest or seq <= rest[0].seq:
        return rest
    first = rest[0]
    skipped = seq - first.seq
    if skipped >= first.count:
        return rest[1:]
    return (Extent(seq, first.position + skipped, first.count - skipped), *rest[1:])


def chunks(extents: Iterable[Extent], size: Callable[[], int]) -> Iterator[Extents]:
    """Iterate over the same extents in groups of `size()` records, large ones cut; the last group may be smaller.

    How large a group is to be is asked when it begins. A group holds records of consecutive seqs only, so one of fewer
    may come before a gap too.
    """
    group: list[Extent] = []
    room = size()
    for extent in extents:
        if group and extent.seq != group[-1].seq + group[-1].count:
            yield tuple(group)
            group, room = [], size()
        seq, position, left = extent.seq, extent.position, extent.count
        while left:
            count = min(left, room)
            group.append(Extent(seq, position, count))
            seq, position, left, room = seq + count, position + count, left - count, room - count
            if not room:
                yield tuple(group)
                group, room = [], size()
    if group:
        yield tuple(group)


def upto(extents: Extents, last: int) -> Extents:
    """Return what of `extents` holds records up to the seq `last`."""
    return tuple(
        Extent(one.seq, one.position, min(one.count, last - one.seq + 1)) for one in extents if one.seq <= last
    )


def _seq(extent: Extent) -> int:
    return extent.seq
