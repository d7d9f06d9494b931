"""`looms import`: bring in what `looms export` wrote."""

import sys
import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from looms import Imported
from looms.actors.run_ids import new_run_id
from looms.commands.export import counted
from looms.commands.progress import Bar
from looms.commands.session import Session
from looms.commands.settings import UsageError
from looms.importing import Import, Wanted


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
        list[str] | None, typer.Option(metavar="OLD=NEW", help="Give the run OLD the id NEW; may be repeated.")
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
        source.open("rb").close()  # before a store is made
    async with session.driver(new=True, tends=True) as driver, session.reader() as reader:
        with Bar(session.out, "importing") as bar:
            done = await Import(wanted, driver.ask, reader.view, lambda done: bar.reach(done.runs)).run(source)
    _tell(session, done)


def _tell(session: Session, done: Imported) -> None:
    if session.out.json:
        session.out.line({"runs": done.runs, "records": done.records, "skipped": list(done.skipped)})
        return
    skipped = f"; {counted(len(done.skipped), 'run')} skipped, since their ids are taken" if done.skipped else ""
    session.out.show(f"{counted(done.runs, 'run')} with {counted(done.records, 'record')} imported{skipped}")


def _renamed(session: Session, given: list[str]) -> dict[str, str]:
    names: dict[str, str] = {}
    for one in given:
        old, equals, new = one.partition("=")
        if not equals or not old or not new or old in names:
            raise UsageError(f"--rename {one!r}; write OLD=NEW, once for each run")
        names[session.id(old)] = session.id(new)
    return names
