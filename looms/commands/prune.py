"""`looms prune`: let go of what is old, and say what that freed."""

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

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
from looms.pruning import Old, delete, find_old, put_by
from looms.reducers.errors import LoomsError


async def prune(
    session: Session,
    finished_older: Annotated[
        str | None, typer.Option(metavar="AGE", help="Delete runs that are over for longer: 90d, 12h, 30m.")
    ] = None,
    definition: Annotated[str | None, typer.Option(metavar="NAME", help="Only runs of this definition.")] = None,
    archive: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Export them first: to a file that is not there, or into a folder."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what would go.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Let go of what is old: runs that are over."""
    if finished_older is None:
        raise UsageError("what is to go? Say --finished-older AGE, such as 90d")
    now = time.time_ns() // 1_000_000
    before = now - int(seconds(finished_older, "--finished-older") * 1_000)
    file = None if archive is None else _archive(archive, now)
    async with session.reader() as reader:
        old = await find_old(reader, before, definition)
        if dry_run or not old.numbers or not _wanted(session, old, before, yes):
            _tell(session, old, before, dry_run=dry_run)
            return
        await _let_go(session, reader, old, file, now)


async def _let_go(session: Session, reader: Reader, old: Old, file: Path | None, now: int) -> None:
    numbers = old.numbers
    incomplete: tuple[str, ...] = ()
    with reader.view() as view:
        used = view.size()
    if file is not None:
        with Bar(session.out, "archiving", len(numbers)) as bar:
            done, numbers = await put_by(reader, old, file, now, lambda done: bar.reach(done.runs))
        incomplete = done.incomplete
    async with session.driver(tends=True) as driver:
        deleted = await _delete(session, driver, numbers)
    with reader.view() as view:
        freed = max(used - view.size(), 0)
    where = f"; they are in {printable(str(file))}" if file is not None else ""
    if session.out.json:
        session.out.line({"runs": deleted, "bytes": freed, "archive": None if file is None else str(file)})
    else:
        session.out.show(f"{counted(deleted, 'run')} deleted, {size(freed)} can be used again{where}")
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


def _archive(path: Path, now: int) -> Path:
    """The file to write, which is not there; in a folder it is called by the time."""
    if path.is_dir():
        path = path / f"looms-{moment(now).replace(' UTC', 'Z').replace(' ', 'T').replace(':', '')}.jsonl.gz"
    return checked_target(path)


def _wanted(session: Session, old: Old, before: int, yes: bool) -> bool:
    if yes:
        return True
    if not sys.stdin.isatty():
        raise UsageError("say --yes to delete them, or --dry-run to see what would go: nobody can be asked here")
    return typer.confirm(f"Delete {_said(old)} that ended before {moment(before)}?", err=True)


def _tell(session: Session, old: Old, before: int, *, dry_run: bool) -> None:
    if session.out.json:
        line = {"runs": len(old.numbers), "records": old.records} if dry_run else {"runs": 0, "bytes": 0}
        session.out.line({**line, "dry_run": dry_run})
    elif not old.numbers:
        session.out.show(f"no run ended before {moment(before)}: nothing to delete")
    elif dry_run:
        session.out.show(f"would delete {_said(old)} that ended before {moment(before)}")
    else:
        session.out.show("nothing was deleted")


def _said(old: Old) -> str:
    return f"{counted(len(old.numbers), 'run')} with {counted(old.records, 'record')}"
