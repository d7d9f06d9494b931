"""Pruning: which runs are over for long enough, putting them by in a file, and letting them go.

Nothing is deleted before the file is whole and on disk, and nothing that is not whole in it.
"""

from array import array
from collections.abc import AsyncIterator, Callable, Sequence
from itertools import islice

import msgspec
from anyio import lowlevel

from looms.driving import Driver
from looms.export_files import Target
from looms.exporting import Chosen, Walk, walked
from looms.snapshots import heads, thinning
from looms.source import Source
from looms.summaries import Exported

PAGE = 256


class Old(msgspec.Struct, frozen=True):
    """Runs that are over for long enough: their numbers, the first to end first, and how many records they have."""

    numbers: Sequence[int]
    records: int


async def find_old(source: Source, ended: int, definition: str | None) -> Old:
    """The runs that ended at a moment or before it.

    Args:
        source: the store.
        ended: the moment, in milliseconds since 1970.
        definition: those of this definition only.
    """
    numbers, records = array("Q"), 0
    for status in heads.FINISHED:
        behind = (0, 0)
        while True:
            await lowlevel.checkpoint()
            with source.view() as view:
                page = heads.ended(view, status, ended, behind, PAGE)
                for _, number in page:
                    head = heads.head(view, number)
                    if head is not None and definition in (None, head.definition):
                        numbers.append(number)
                        records += head.seq
            if not page:
                break
            behind = page[-1]
    return Old(numbers, records)


class Sparse(msgspec.Struct, frozen=True):
    """Snapshots that can go: the numbers of their runs, how many there are, and how large."""

    numbers: Sequence[int]
    snapshots: int
    bytes: int


async def find_spare(source: Source, before: int, every: int, definition: str | None, but: Sequence[int]) -> Sparse:
    """The snapshots that can go.

    Args:
        source: the store.
        before: those taken then or later are kept (milliseconds since 1970).
        every: of the older ones so many are kept that at least as many records lie between them.
        definition: those of runs of this definition only.
        but: the numbers of runs that are left out.
    """
    numbers, snapshots, size, behind = array("Q"), 0, 0, 0
    left_out = set(but)
    while True:
        await lowlevel.checkpoint()
        with source.view() as view:
            page = thinning.runs(view, behind)
            for number in page:
                head = heads.head(view, number)
                if head is None or number in left_out or definition not in (None, head.definition):
                    continue
                spare = thinning.spare(thinning.all_of(view, number), before, every)
                if spare:
                    numbers.append(number)
                    snapshots += len(spare)
                    size += sum(info.bytes for _, info in spare)
        if not page:
            return Sparse(numbers, snapshots, size)
        behind = page[-1]


async def thin(driver: Driver, numbers: Sequence[int], before: int, every: int) -> AsyncIterator[int]:
    """Delete the snapshots of these runs that can go, and give how many these were, bit by bit."""
    for number in numbers:
        complete = False
        while not complete:
            thinned = await driver.thin_snapshots(number, before, every)
            complete = thinned.complete
            yield thinned.snapshots


async def put_by(
    source: Source, old: Old, target: Target, at: int, progress: Callable[[Exported], None]
) -> tuple[Exported, Sequence[int]]:
    """Export runs; returns what was written, and the numbers of those that are whole in the file."""
    walk = await walked(source, target, Walk(Chosen(numbers=old.numbers), at), progress)
    whole = array("Q", (number for number in old.numbers if number not in walk.left_out))
    return walk.done, whole


async def delete(driver: Driver, numbers: Sequence[int]) -> AsyncIterator[int]:
    """Delete runs, and give how many were there, batch by batch."""
    left = iter(numbers)
    while batch := list(islice(left, PAGE)):
        yield (await driver.delete_ended(batch)).runs
