"""`looms prune`: let go of what is old, and say what that freed."""

import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Annotated

import anyio
import typer

from looms import LoomsError, Pruned, Reader
from looms.care.stats import sizes
from looms.commands.asking import agreed
from looms.commands.export import counted
from looms.commands.files import file_for
from looms.commands.moments import moment, size
from looms.commands.progress import Stages
from looms.commands.session import Session
from looms.commands.settings import UsageError, seconds
from looms.commands.texts import named, printable
from looms.pruning import Plan, let_go, plan, wanted
from looms.snapshots import heads

_LITTLE = 0.02  # of the store: so little may come of deleting much


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
    if str(archive) == "-":
        raise UsageError("--archive -: an archive is a file; looms export writes to stdout")
    ages = [
        None if age is None else seconds(age, option)
        for age, option in ((finished_older, "--finished-older"), (snapshots_older, "--snapshots-older"))
    ]
    to_go = wanted(now, ages[0], archive, ages[1], keep_every, definition)
    async with AsyncExitStack() as stack:
        stack.enter_context(session.mapped())
        reader = await stack.enter_async_context(session.reader())
        session.check_definition(reader, definition)
        found = await plan(reader, to_go)
        if dry_run:
            _tell_plan(session, found)
            return
        asks = "say --yes to delete them, or --dry-run to see what would go"
        if found.empty or not (yes or agreed(f"Delete {_said(found)}?", asks)):
            _tell(session, found, Pruned(0, 0, 0))
            return
        try:
            with file_for("the archive", to_go.archive), Stages(session.out) as stages:
                done = await let_go(reader, session.driver(tends=True), found, now, stages.reach)
        except anyio.get_cancelled_exc_class():
            session.out.note(_how_to_go_on(reader, found))
            raise
    _tell(session, found, done)
    if done.incomplete:
        raise LoomsError(
            f"{counted(len(done.incomplete), 'run')} could not be archived whole, and stayed: "
            f"{', '.join(map(named, done.incomplete[:10]))}{' ...' if len(done.incomplete) > 10 else ''}. "
            "looms check tells more"
        )


def _how_to_go_on(reader: Reader, found: Plan) -> str:
    """What to say to whoever interrupts it."""
    with reader.view() as view:
        left = sum(heads.head(view, number) is not None for number in found.old.numbers)
    archive = found.wanted.archive
    deleted = f": {counted(len(found.old.numbers) - left, 'run')} deleted, {left:,} left"
    told = f"stopped{deleted if found.wanted.before is not None else ''}"
    if archive is None:
        return f"{told}; the same command goes on"
    if not archive.exists():  # it appears when it is whole
        return f"{told}; nothing is left of the archive, and the same command begins it again"
    return f"{told}; all of them are in {printable(str(archive))}, and the same command without --archive goes on"


def _said(found: Plan) -> str:
    """What was found, in words."""
    said = []
    if found.wanted.before is not None:
        runs = f"{counted(len(found.old.numbers), 'run')} with {counted(found.old.records, 'record')}"
        said.append(f"{runs} that ended before {moment(found.wanted.before)}")
    if found.wanted.older is not None:
        snapshots = f"{counted(found.spare.snapshots, 'snapshot')} ({size(found.spare.bytes)})"
        of = counted(len(found.spare.numbers), "run")
        said.append(f"{snapshots} of {of}, taken before {moment(found.wanted.older)}")
    return " and ".join(said)


def _tell_plan(session: Session, found: Plan) -> None:
    if session.out.json:
        line = {"runs": len(found.old.numbers), "records": found.old.records, "snapshots": found.spare.snapshots}
        session.out.line({**line, "dry_run": True})
    else:
        session.out.show(f"{'nothing to delete:' if found.empty else 'would delete'} {_said(found)}")


def _tell(session: Session, found: Plan, done: Pruned) -> None:
    now = sizes(session.store)  # when all is removed
    if session.out.json:
        line = {"runs": done.runs, "snapshots": done.snapshots, "bytes": done.bytes, "archive": done.archive}
        session.out.line({**line, "free": now.free * now.page, "dry_run": False})
    elif not done.runs and not done.snapshots:
        session.out.show(f"nothing was deleted{f': {_said(found)}' if found.empty else ''}")
    else:
        what = [counted(done.runs, "run")] * (found.wanted.before is not None)
        what += [counted(done.snapshots, "snapshot")] * (found.wanted.older is not None)
        where = f"; the runs are in {printable(done.archive)}" if done.archive is not None else ""
        free = f"{now.free:,} of {now.pages:,} pages are free ({size(now.free * now.page)})"
        session.out.show(f"{' and '.join(what)} deleted, {size(done.bytes)} more can be used again: {free}{where}")
        if done.bytes < _LITTLE * now.pages * now.page and done.runs:
            session.out.note(
                "a page can be used again when nothing is left on it, and these rows shared theirs with what stayed; "
                "an export, imported into a new store, is written close together"
            )
