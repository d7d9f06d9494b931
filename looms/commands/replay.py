"""`looms replay`: one event of a run revisited, or one after the other."""

import logging
import sys
import time
from importlib.util import find_spec
from typing import Annotated

import typer

from looms import Reader
from looms.commands.arguments import RunArgument
from looms.commands.logs import log_to_stderr
from looms.commands.plain import plain_replay
from looms.commands.replay_view import replay_view
from looms.commands.session import Session
from looms.commands.settings import UsageError
from looms.commands.step_view import step_view
from looms.listing import find_run
from looms.reducers.errors import SeqOutOfRange


async def replay(
    session: Session,
    run: RunArgument,
    to: Annotated[
        int | None, typer.Option("--to", metavar="SEQ", min=1, help="The event to go back to; the last one to walk to.")
    ] = None,
    step: Annotated[
        bool, typer.Option("--step", help="Walk from event to event: with the arrow keys, or as text in a pipe.")
    ] = False,
    first: Annotated[int | None, typer.Option("--from", metavar="SEQ", min=1, help="The first one to walk.")] = None,
) -> None:
    """Show what one event changed: the run before it and after it. Nothing is run, nothing is written."""
    id = session.id(run)
    if not step and (to is None or first is not None):
        raise UsageError("which event? Say --to SEQ; or walk through them: --step, with or without --from and --to")
    if first is not None and to is not None and first > to:
        raise UsageError(f"--from {first} is behind --to {to}")
    async with session.reader() as reader:
        if step:
            await _walk(session, reader, id, first or 1, to)
            return
        revisited = await reader.run(id).replay_to(to or 0)
    if session.out.json:
        session.out.line(plain_replay(revisited))
    else:
        session.out.show(replay_view(revisited, time.time_ns() // 1_000_000, session.out.width))


async def _walk(session: Session, reader: Reader, id: str, first: int, to: int | None) -> None:
    """Walk a run's events: whoever sits at a terminal goes as he likes, a pipe gets all of them.

    Raises:
        SeqOutOfRange: the first one is not there.
    """
    last = find_run(reader, id).seq
    if first > last:
        raise SeqOutOfRange(f"seq {first}: run {id} has records 1 to {last}")
    # The screen is drawn on stderr: stdout is for results alone.
    if session.out.live and not session.out.json and sys.stdin.isatty() and sys.stderr.isatty():
        if find_spec("textual") is None:
            raise UsageError(
                "--step in a terminal needs textual; install it with: pip install 'looms[cli]'. "
                "Without it the walk can be read: looms replay RUN --step | less"
            )
        from looms.commands.stepping import Stepper

        log_to_stderr(logging.CRITICAL)  # what is logged would be written across the screen
        newest = (lambda: find_run(reader, id).seq) if to is None else None
        await Stepper(reader.run(id), first, last if to is None else min(to, last), newest).run_async()
        return
    async for revisited in reader.run(id).replays(first - 1, to=to):
        if session.out.json:
            session.out.line(plain_replay(revisited))
        else:
            session.out.show(step_view(revisited, time.time_ns() // 1_000_000, session.out.width))
