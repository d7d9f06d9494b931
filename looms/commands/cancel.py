"""`looms cancel`, `looms resume`, `looms delete`: how an operator ends runs, or sets one going again."""

from typing import Annotated

import typer

from looms.commands.arguments import RunArgument
from looms.commands.asking import agreed
from looms.commands.export import counted
from looms.commands.session import Session
from looms.commands.texts import named, printable
from looms.snapshots import heads
from looms.snapshots.errors import StoreFormatError

ForceOption = Annotated[
    bool, typer.Option("--force", help="Also one that is not over: for one that is damaged and cannot be cancelled.")
]

YesOption = Annotated[bool, typer.Option("--yes", help="Do not ask before a sound run that is not over goes.")]


async def cancel(
    session: Session,
    run: RunArgument,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why; it stands in the log.")] = "",
    grace: Annotated[float, typer.Option(metavar="SECONDS", help="How long it may still act.")] = 30,
) -> None:
    """Cancel a run."""
    id = session.id(run)
    async with session.driver() as driver:
        await driver.cancel(id, reason, grace)
    await _tell(session, id)


async def resume(session: Session, run: RunArgument) -> None:
    """Try a suspended run again, after a deploy for example."""
    id = session.id(run)
    async with session.driver() as driver:
        await driver.resume(id)
    await _tell(session, id)


async def delete(session: Session, run: RunArgument, force: ForceOption = False, yes: YesOption = False) -> None:
    """Remove a run that is over, for good: its log, its snapshots, its keys."""
    id = session.id(run)
    if force and not yes:
        lost = await _lost(session, id)
        if lost is not None and not agreed(f"{lost} Delete it?", f"{lost} Say --yes to delete it"):
            session.out.show("nothing was deleted")
            return
    async with session.driver(tends=True) as driver:
        await driver.delete(id, force=force)
        if force:
            await driver.until_removed()
    if session.out.json:
        session.out.line({"run_id": id})
    else:
        session.out.show(f"{named(id)} is deleted")


async def _lost(session: Session, id: str) -> str | None:
    """What deleting a run loses that nothing is wrong with and that is not over; None where it is no such run."""
    try:
        async with session.reader() as reader:
            seen = await reader.run(id).inspect()
            if seen.status in heads.FINISHED or not (await reader.check(id)).ok:
                return None
    except StoreFormatError:
        return None  # it is what --force is for
    outstanding = f"{counted(len(seen.waits), 'wait')} and {counted(len(seen.effects), 'outstanding effect')}"
    return (
        f"Nothing is wrong with {named(id)}, which is {seen.status}: {counted(seen.seq, 'record')}, {outstanding} "
        f"would be lost, and nobody told. looms cancel {named(id)} ends it in order."
    )


async def _tell(session: Session, id: str) -> None:
    """How the run is now, as the store says."""
    async with session.reader() as reader:
        seen = await reader.run(id).inspect()
    if session.out.json:
        session.out.line({"run_id": id, "status": seen.status, "error": seen.error})
    else:
        session.out.show(f"{named(id)} is {seen.status}" + (f": {printable(seen.error)}" if seen.error else ""))
