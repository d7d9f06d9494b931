"""`looms replay`: one event of a run revisited."""

import time
from typing import Annotated

import typer

from looms.commands.arguments import RunArgument
from looms.commands.plain import plain_replay
from looms.commands.replay_view import replay_view
from looms.commands.session import Session


async def replay(
    session: Session,
    run: RunArgument,
    to: Annotated[int, typer.Option("--to", metavar="SEQ", min=1, help="The event to go back to.")],
) -> None:
    """Show what one event changed: the run before it and after it. Nothing is run, nothing is written."""
    async with session.reader() as reader:
        revisited = await reader.run(session.id(run)).replay_to(to)
    if session.out.json:
        session.out.line(plain_replay(revisited))
    else:
        session.out.show(replay_view(revisited, time.time_ns() // 1_000_000, session.out.width))
