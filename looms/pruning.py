"""Pruning: which runs are over for long enough, putting them by in a file, and letting them go.

Nothing is deleted before the file is whole and on disk, and nothing that is not whole in it.
"""

import os
from array import array
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import msgspec
from anyio import lowlevel

from looms.driving import Driver
from looms.export_files import Target, checked_target
from looms.exporting import Chosen, Walk, walked
from looms.listing import definition_name, unknown_definition
from looms.reducers.definitions import Definition
from looms.reducers.errors import InvalidInput
from looms.reducers.messages import shown
from looms.reducers.moments import is_seconds, moment
from looms.snapshots import heads, thinning
from looms.snapshots.errors import StoreFull
from looms.source import Source
from looms.summaries import Exported, Pruned

PAGE = 256
FEWER = PAGE, 16, 1  # runs that are deleted at once: as many as a full store has room for

Watch = Callable[[str, int, int], None]
"""Is told how far it is: what is done ("archiving", "deleting", "thinning"), of how many, and how many there are."""


class Wanted(msgspec.Struct, frozen=True):
    """What is to go.

    Attributes:
        before: runs that ended before this moment, in milliseconds since 1970; None: none.
        older: snapshots taken before this moment; None: none.
        every: of these so many are kept that at least as many records lie between them.
        definition: of runs of this definition only.
        archive: the file that the runs are put by in first, or None.
    """

    before: int | None
    older: int | None
    every: int
    definition: str | None
    archive: Path | None


def wanted(
    now: int,
    finished_older: float | None,
    archive: str | os.PathLike[str] | None,
    snapshots_older: float | None,
    keep_every: int,
    definition: Definition[Any, Any, Any] | str | None,
) -> Wanted:
    """What somebody wants to go at a moment; see ``Runtime.prune``.

    Raises:
        InvalidInput: it cannot be meant, or there is a file already where the archive should be.
    """
    if finished_older is None and snapshots_older is None:
        raise InvalidInput("what is to go? Give finished_older=, snapshots_older=, or both, such as 90 * looms.DAY")
    if archive is not None and finished_older is None:
        raise InvalidInput("archive= is for the runs of finished_older=")
    if type(keep_every) is not int or keep_every < 1:
        raise InvalidInput(f"keep_every={shown(keep_every)}; give a whole number of records from 1")
    before = _before(now, "finished_older", finished_older)
    older = _before(now, "snapshots_older", snapshots_older)
    file = None if archive is None else _archive(archive, now)
    return Wanted(before, older, keep_every, definition_name(definition), file)


def _before(now: int, name: str, age: float | None) -> int | None:
    if age is None:
        return None
    if not is_seconds(age) or age < 0:
        raise InvalidInput(f"{name}={shown(age)}; give seconds from 0, such as 90 * looms.DAY")
    return now - int(age * 1_000)


def _archive(path: str | os.PathLike[str], now: int) -> Path:
    """The file to write, which is not there; in a folder it is called by the time."""
    if not isinstance(path, str | os.PathLike):
        raise InvalidInput(f"archive={shown(path)}; give the path of a file that is not there, or of a folder")
    file = Path(path)
    if file.is_dir():
        file = file / f"looms-{moment(now):%Y-%m-%dT%H%M%SZ}.jsonl.gz"
    return checked_target(file)


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


class Plan(msgspec.Struct, frozen=True):
    """What was found of what is to go."""

    wanted: Wanted
    old: Old
    spare: Sparse

    @property
    def empty(self) -> bool:
        """Whether it is nothing."""
        return not self.old.numbers and not self.spare.numbers


async def plan(source: Source, wanted: Wanted) -> Plan:
    """Find what is to go.

    Raises:
        InvalidInput: neither a run nor a module has the definition.
    """
    problem = None if wanted.definition is None else unknown_definition(source, wanted.definition)
    if problem is not None:
        raise InvalidInput(f"definition={problem}")
    old, spare = Old([], 0), Sparse([], 0, 0)
    if wanted.before is not None:
        old = await find_old(source, wanted.before, wanted.definition)
    if wanted.older is not None:
        spare = await find_spare(source, wanted.older, wanted.every, wanted.definition, old.numbers)
    return Plan(wanted, old, spare)


async def let_go(
    source: Source, driving: AbstractAsyncContextManager[Driver], plan: Plan, now: int, watch: Watch
) -> Pruned:
    """Let go of what was found; the store is driven only when the archive is whole and on disk."""
    wanted, numbers = plan.wanted, plan.old.numbers
    archive = wanted.archive if numbers else None
    incomplete: tuple[str, ...] = ()
    with source.view() as view:
        used = view.size()
    if archive is not None:
        total = len(numbers)
        done, numbers = await put_by(source, plan.old, archive, now, lambda done: watch("archiving", done.runs, total))
        incomplete = done.incomplete
    runs = snapshots = 0
    async with driving as driver:
        if numbers:
            async for count in delete(driver, numbers):
                runs += count
                watch("deleting", runs, len(numbers))
            await driver.until_removed()
        async for count in thin(driver, plan.spare.numbers, wanted.older or 0, wanted.every):
            snapshots += count
            watch("thinning", snapshots, plan.spare.snapshots)
    with source.view() as view:
        freed = max(used - view.size(), 0)
    return Pruned(runs, snapshots, freed, None if archive is None else str(archive), incomplete)


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
    """Delete runs, and give how many were there, batch by batch: in a full store fewer at once, and each is removed."""
    at, fewer = 0, list(FEWER)
    while batch := list(numbers[at : at + fewer[0]]):
        try:
            gone = (await driver.delete_ended(batch)).runs
        except StoreFull:
            if len(fewer) == 1:
                raise
            del fewer[0]
            await driver.until_removed()
            continue
        at += len(batch)
        yield gone
        if fewer[0] < PAGE:
            await driver.until_removed()
