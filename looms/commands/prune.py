"""`looms prune`: let go of what is old, and say what that freed."""

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import anyio
import msgspec
import typer

from looms import Reader
from looms.commands.arguments import seconds
from looms.commands.export import counted
from looms.commands.moments import moment, size
from looms.commands.progress import Bar
from looms.commands.session import Session
from looms.commands.settings import UsageError
from looms.commands.texts import named, printable
from looms.driving import Driver
from looms.export_files import checked_target
from looms.pruning import Old, Sparse, delete, find_old, find_spare, put_by, thin
from looms.reducers.errors import LoomsError
from looms.snapshots import heads


class Plan(msgspec.Struct, frozen=True):
    """What is to go.

    Attributes:
        now: the moment that ages are counted from, in milliseconds since 1970.
        before, older: runs that ended before this moment, snapshots taken before that one; None: none.
        every: of the older snapshots so many are kept that at least as many records lie between them.
        old, spare: what was found.
        archive: where the runs are put by.
    """

    now: int
    before: int | None
    older: int | None
    every: int
    old: Old
    spare: Sparse
    archive: Path | None

    @property
    def empty(self) -> bool:
        """Whether it is nothing."""
        return not self.old.numbers and not self.spare.numbers

    def __str__(self) -> str:
        said = []
        if self.before is not None:
            runs = f"{counted(len(self.old.numbers), 'run')} with {counted(self.old.records, 'record')}"
            said.append(f"{runs} that ended before {moment(self.before)}")
        if self.older is not None:
            snapshots = f"{counted(self.spare.snapshots, 'snapshot')} ({size(self.spare.bytes)})"
            said.append(f"{snapshots} of {counted(len(self.spare.numbers), 'run')}, taken before {moment(self.older)}")
        return " and ".join(said)


async def prune(
    session: Session,
    finished_older: Annotated[
        str | None, typer.Option(metavar="AGE", help="Delete runs that are over for longer: 90d, 12h, 30m.")
    ] = None,
    archive: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Export these first: to a file that is not there, or into a folder."),
    ] = None,
    snapshots_older: Annotated[
        str | None, typer.Option(metavar="AGE", help="Thin the snapshots that are older; each run's newest is kept.")
    ] = None,
    keep_every: Annotated[
        int, typer.Option(metavar="N", min=1, help="Of these keep so many that N records lie between them.")
    ] = 10_000,
    definition: Annotated[str | None, typer.Option(metavar="NAME", help="Only of runs of this definition.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what would go.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Let go of what is old: runs that are over, and snapshots that are closer together than they need to be."""
    if finished_older is None and snapshots_older is None:
        raise UsageError(
            "what is to go? Say --finished-older AGE, --snapshots-older AGE, or both; an AGE is 90d or 12h"
        )
    if archive is not None and finished_older is None:
        raise UsageError("--archive is for the runs of --finished-older")
    now = time.time_ns() // 1_000_000
    before = None if finished_older is None else now - int(seconds(finished_older, "--finished-older") * 1_000)
    older = None if snapshots_older is None else now - int(seconds(snapshots_older, "--snapshots-older") * 1_000)
    if str(archive) == "-":
        raise UsageError("--archive -: an archive is a file; looms export writes to stdout")
    file = None if archive is None else _archive(archive, now)
    async with session.reader() as reader:
        session.check_definition(reader, definition)
        old, spare = Old([], 0), Sparse([], 0, 0)
        if before is not None:
            old = await find_old(reader, before, definition)
        if older is not None:
            spare = await find_spare(reader, older, keep_every, definition, old.numbers)
        plan = Plan(now, before, older, keep_every, old, spare, file if old.numbers else None)
        if dry_run:
            _tell_plan(session, plan)
        elif plan.empty or not _wanted(plan, yes):
            _tell(session, plan, 0, 0, 0)
        else:
            await _let_go(session, reader, plan)


async def _let_go(session: Session, reader: Reader, plan: Plan) -> None:
    numbers, archived = plan.old.numbers, False
    deleted = thinned = 0
    incomplete: tuple[str, ...] = ()
    with reader.view() as view:
        used = view.size()
    try:
        if plan.archive is not None:
            with Bar(session.out, "archiving", len(numbers)) as bar:
                done, numbers = await put_by(reader, plan.old, plan.archive, plan.now, lambda far: bar.reach(far.runs))
            incomplete, archived = done.incomplete, True
        async with session.driver(tends=True) as driver:
            deleted = await _delete(session, driver, numbers) if numbers else 0
            thinned = await _thin(session, driver, plan) if plan.spare.numbers else 0
    except anyio.get_cancelled_exc_class():
        with reader.view() as view:
            left = sum(heads.head(view, number) is not None for number in numbers)
        session.out.note(_how_to_go_on(plan, len(numbers) - left, left, archived=archived))
        raise
    with reader.view() as view:
        freed = max(used - view.size(), 0)
    _tell(session, plan, deleted, thinned, freed)
    if incomplete:
        raise LoomsError(
            f"{counted(len(incomplete), 'run')} could not be archived whole, and stayed: "
            f"{', '.join(map(named, incomplete[:10]))}{' ...' if len(incomplete) > 10 else ''}. looms check tells more"
        )


async def _delete(session: Session, driver: Driver, numbers: Sequence[int]) -> int:
    deleted = 0
    with Bar(session.out, "deleting", len(numbers)) as bar:
        async for count in delete(driver, numbers):
            deleted += count
            bar.reach(deleted)
        await driver.until_removed()
    return deleted


async def _thin(session: Session, driver: Driver, plan: Plan) -> int:
    thinned = 0
    with Bar(session.out, "thinning", plan.spare.snapshots) as bar:
        async for count in thin(driver, plan.spare.numbers, plan.older or 0, plan.every):
            thinned += count
            bar.reach(thinned)
    return thinned


def _how_to_go_on(plan: Plan, deleted: int, left: int, *, archived: bool) -> str:
    """What to say to whoever interrupts it."""
    told = f"stopped: {counted(deleted, 'run')} deleted, {left:,} left" if plan.before is not None else "stopped"
    if plan.archive is None:
        return f"{told}; the same command goes on"
    if not archived:
        return f"{told}; nothing is left of the archive, and the same command begins it again"
    return f"{told}; all of them are in {printable(str(plan.archive))}, and the same command without --archive goes on"


def _archive(path: Path, now: int) -> Path:
    """The file to write, which is not there; in a folder it is called by the time."""
    if path.is_dir():
        path = path / f"looms-{moment(now).replace(' UTC', 'Z').replace(' ', 'T').replace(':', '')}.jsonl.gz"
    return checked_target(path)


def _wanted(plan: Plan, yes: bool) -> bool:
    if yes:
        return True
    if not sys.stdin.isatty():
        raise UsageError("say --yes to delete them, or --dry-run to see what would go: nobody can be asked here")
    try:
        return typer.confirm(f"Delete {plan}?", err=True)
    except typer.Abort:  # a Ctrl-C, or the end of the input
        raise KeyboardInterrupt from None


def _tell_plan(session: Session, plan: Plan) -> None:
    if session.out.json:
        line = {"runs": len(plan.old.numbers), "records": plan.old.records, "snapshots": plan.spare.snapshots}
        session.out.line({**line, "dry_run": True})
    else:
        session.out.show(f"would delete {plan}" if not plan.empty else f"nothing to delete: {plan}")


def _tell(session: Session, plan: Plan, deleted: int, thinned: int, freed: int) -> None:
    if session.out.json:
        where = None if plan.archive is None else str(plan.archive)
        session.out.line({"runs": deleted, "snapshots": thinned, "bytes": freed, "archive": where, "dry_run": False})
    elif not deleted and not thinned:
        session.out.show(f"nothing was deleted{f': {plan}' if plan.empty else ''}")
    else:
        what = [counted(deleted, "run")] * (plan.before is not None)
        what += [counted(thinned, "snapshot")] * (plan.older is not None)
        where = f"; the runs are in {printable(str(plan.archive))}" if plan.archive is not None else ""
        session.out.show(f"{' and '.join(what)} deleted, {size(freed)} can be used again{where}")
