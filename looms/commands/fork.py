"""`looms fork`: another future for a run."""

from typing import Annotated

import typer

from looms.commands.arguments import RunArgument
from looms.commands.session import Session
from looms.commands.texts import named


async def fork(
    session: Session,
    run: RunArgument,
    at: Annotated[int, typer.Option("--at", metavar="SEQ", help="The last event that the two share.")],
    run_id: Annotated[
        str | None, typer.Option("--run-id", metavar="RUN", help="The fork's id; a new one otherwise.")
    ] = None,
    redispatch: Annotated[
        bool, typer.Option("--redispatch", help="Run the effects that were outstanding then; else they are held.")
    ] = False,
) -> None:
    """Make a new run that has the past of one up to an event, and a future of its own."""
    id = session.id(run)
    async with session.driver() as driver:
        effects = "redispatch" if redispatch else "hold"
        made = await driver.fork(id, at, fork_id=None if run_id is None else session.id(run_id), effects=effects)
    async with session.reader() as reader:
        seen = await reader.run(made).inspect()
    origin = seen.forked_from or (id, at)
    held = [effect.id for effect in seen.effects if effect.held]
    if session.out.json:
        session.out.line({"run_id": made, "forked_from": origin, "held": held})
        return
    more = f", which followed from {at} in the same turn" if origin[1] != at else ""
    session.out.show(f"{named(made)} is a fork of {named(origin[0])} at {origin[1]}{more}")
    if held:
        session.out.show(f"held, until looms retry or looms settle: {', '.join(map(named, held))}")
