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
from looms.snapshots import heads
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
