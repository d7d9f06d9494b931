"""`looms import`: bring in what `looms export` wrote."""

import sys
import time
from contextlib import closing
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import anyio
import typer

from looms import Imported
from looms.actors.run_ids import new_run_id
from looms.commands.export import counted
from looms.commands.files import file_for
from looms.commands.progress import Bar
from looms.commands.session import Session
from looms.commands.settings import UsageError
from looms.importing import Import, Wanted
from looms.snapshots.environment import Environment


class OnConflict(StrEnum):
    """What to do with a run whose id is taken."""

    error = "error"
    skip = "skip"


class Effects(StrEnum):
    """What to do with effects that are outstanding."""

    hold = "hold"
    redispatch = "redispatch"


async def import_(
    session: Session,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What was exported; - reads it from stdin.")],
    rename: Annotated[
        list[str] | None,
        typer.Option(
            metavar="OLD=NEW",
            help='Give the run OLD the id NEW; may be repeated. An OLD with a = in it: --quoted, "OLD"="NEW".',
        ),
    ] = None,
    run_id_prefix: Annotated[str, typer.Option(metavar="TEXT", help="Put this before the ids of the others.")] = "",
    new_ids: Annotated[bool, typer.Option("--new-ids", help="Give all of them new ids.")] = False,
    on_conflict: Annotated[
        OnConflict, typer.Option(help="What to do with a run whose id is taken.")
    ] = OnConflict.error,
    effects: Annotated[
        Effects, typer.Option(help="Hold what is outstanding, as it may be running where it comes from, or run it.")
    ] = Effects.hold,
) -> None:
    """Bring in runs that were exported, with their logs. A file that is wrong anywhere changes nothing."""
    if new_ids and (rename or run_id_prefix):
        raise UsageError("--new-ids, or --rename and --run-id-prefix; not both")
    wanted = Wanted(
        _renamed(session, rename or []),
        run_id_prefix,
        (lambda old: new_run_id(time.time_ns() // 1_000_000)) if new_ids else None,
        effects.value,
        on_conflict.value,
    )
    source = sys.stdin.buffer if str(file) == "-" else file
    if isinstance(source, Path):
        with file_for("the file to import", source):
            source.open("rb").close()  # before a store is made
    size = file.stat().st_size if isinstance(source, Path) else None
    work: Import | None = None
    try:
        async with session.driver(new=True, tends=True) as driver, session.reader() as reader:
            with Bar(session.out, "checking", size) as bar:
                work = Import(wanted, driver.ask, reader.view, lambda done: _show(bar, work, done), bar.reach)
                done = await work.run(source)
    except anyio.get_cancelled_exc_class():
        if work is not None:  # what was under way may have come to its end
            with closing(Environment(session.store)) as environment, environment.view() as view:
                work.settle(view)
            session.out.note(_how_to_go_on(work, new_ids=new_ids))
        raise
    _tell(session, done)


def _show(bar: Bar, work: Import | None, done: Imported) -> None:
    bar.begin("importing", None if work is None else work.runs)
    bar.reach(done.runs + len(done.skipped))


def _how_to_go_on(work: Import, *, new_ids: bool) -> str:
    """What to say to whoever interrupts it."""
    done, runs = work.done, work.runs
    if runs is None:
        return "stopped while the file was checked: nothing was imported"
    left = runs - done.runs - len(done.skipped)
    told = f"stopped: {counted(done.runs, 'run')} imported, {left:,} left"
    if not done.runs:
        return told
    if new_ids:
        return f"{told}; importing the file again would bring those a second time, under other ids"
    return f"{told}; the same command with --on-conflict skip goes on"


def _tell(session: Session, done: Imported) -> None:
    if session.out.json:
        session.out.line({"runs": done.runs, "records": done.records, "skipped": list(done.skipped)})
        return
    skipped = f"; {counted(len(done.skipped), 'run')} skipped, since their ids are taken" if done.skipped else ""
    session.out.show(f"{counted(done.runs, 'run')} with {counted(done.records, 'record')} imported{skipped}")


def _renamed(session: Session, given: list[str]) -> dict[str, str]:
    names: dict[str, str] = {}
    for one in given:
        old, new = session.pair(one) or ("", "")
        if not old or not new or old in names:
            how = '"OLD"="NEW", both as JSON strings' if session.quoted else "OLD=NEW"
            raise UsageError(f"--rename {one!r}; write {how}, once for each run")
        names[old] = new
    return names
