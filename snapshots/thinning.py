"""Thinning: of old snapshots only so many are kept that going back stays cheap.

What a kept snapshot stands on is kept too, so nothing is written anew, and no code is needed to read any. By their
numbering (see `looms.snapshots.chains`) the many share the few that they stand on: with one kept in fifty, hardly
twice as many stay.
"""

from collections.abc import Iterable, Sequence

from looms.snapshots import snapshot_rows
from looms.snapshots.batch import Batch
from looms.snapshots.chains import below
from looms.snapshots.packing import pair, read_u64
from looms.snapshots.reading import Reading
from looms.snapshots.rows import SnapshotInfo
from looms.snapshots.tables import SNAPSHOTS

Stored = tuple[int, SnapshotInfo]


def runs(reading: Reading, behind: int = 0, limit: int = 256) -> list[int]:
    """Return the numbers of at most `limit` runs that have snapshots, those greater than `behind`.

    Costs one look for each, however many snapshots it has.
    """
    found: list[int] = []
    while len(found) < limit:
        key = next(reading.keys(SNAPSHOTS, pair(behind + 1, 0), limit=1), None)
        if key is None:
            break
        behind = read_u64(key)
        found.append(behind)
    return found


def spare(stored: Sequence[Stored], before: int, every: int) -> list[Stored]:
    """Return the snapshots of a run that can go.

    Args:
        stored: all of them, oldest first.
        before: those taken then or later (ms) are kept.
        every: of the older ones so many are kept that at least as many records lie between them.
    """
    kept: list[int] = []
    last = 0
    for at, (seq, info) in enumerate(stored):
        newest = at == len(stored) - 1
        if newest or info.at >= before:
            kept.append(seq)
        elif seq - last >= every:
            kept.append(seq)
            last = seq
    needed = _with_bases(dict(stored), [*kept, *_bases_to_come(stored)])
    return [(seq, info) for seq, info in stored if seq not in needed]


def thin(reading: Reading, batch: Batch, run: int, before: int, every: int, limit: int = 1_000) -> list[Stored]:
    """Delete at most `limit` snapshots of a run that can go, and return them; fewer come only when there are no more.

    `reading` is read through the batch, so that one which was just taken is seen.
    """
    gone = spare(all_of(reading, run), before, every)[:limit]
    for seq, _ in gone:
        snapshot_rows.delete(batch, run, seq)
    return gone


def all_of(reading: Reading, run: int) -> list[Stored]:
    """Return what is known of all snapshots of a run, oldest first."""
    found: list[Stored] = []
    while page := snapshot_rows.page(reading, run, found[-1][0] if found else 0):
        found += page
    return found


def _bases_to_come(stored: Sequence[Stored]) -> list[int]:
    """What the next snapshots are to stand on, by their numbers, also where the newest does not, as it is in full.

    A host has them in memory, and does not look whether they are still there.
    """
    numbered = {info.number: seq for seq, info in stored}  # the last of each number: one is given again by newer code
    return [numbered[number] for number in below(stored[-1][1].number) if number in numbered] if stored else []


def _with_bases(stored: dict[int, SnapshotInfo], kept: Iterable[int]) -> set[int]:
    needed: set[int] = set()
    for seq in kept:
        at: int | None = seq
        while at is not None and at not in needed and at in stored:
            needed.add(at)
            at = stored[at].base
    return needed
