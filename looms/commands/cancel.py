"""`looms cancel`, `looms resume`, `looms delete`: how an operator ends runs, or sets one going again."""

from typing import Annotated

import typer

from looms.commands.arguments import RunArgument
from looms.commands.session import Session
from looms.commands.texts import named, printable

ForceOption = Annotated[
    bool, typer.Option("--force", help="Also one that is not over: for one that is damaged and cannot be cancelled.")
]


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


async def delete(session: Session, run: RunArgument, force: ForceOption = False) -> None:
    """Remove a run that is over, for good: its log, its snapshots, its keys."""
    id = session.id(run)
    async with session.driver(tends=True) as driver:
        await driver.delete(id, force=force)
        if force:
            await driver.until_removed()
    if session.out.json:
        session.out.line({"run_id": id})
    else:
        session.out.show(f"{named(id)} is deleted")


async def _tell(session: Session, id: str) -> None:
    """How the run is now, as the store says."""
    async with session.reader() as reader:
        seen = await reader.run(id).inspect()
    if session.out.json:
        session.out.line({"run_id": id, "status": seen.status, "error": seen.error})
    else:
        session.out.show(f"{named(id)} is {seen.status}" + (f": {printable(seen.error)}" if seen.error else ""))
