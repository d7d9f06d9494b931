"""`looms diff`: what differs between a run as of two of its events, or between two runs."""

from typing import Annotated

import typer
from rich.text import Text

from looms.commands.arguments import RunArgument
from looms.commands.plain import plain
from looms.commands.replay_view import differing
from looms.commands.session import Session
from looms.commands.settings import UsageError
from looms.commands.styles import title
from looms.commands.texts import named, word
from looms.listing import find_run


async def diff(
    session: Session,
    run: RunArgument,
    first: Annotated[
        int | None,
        typer.Option(
            "--from",
            metavar="SEQ",
            min=0,
            help="The event to compare with; 0: before the first. With --with the last, otherwise.",
        ),
    ] = None,
    to: Annotated[
        int | None, typer.Option("--to", metavar="SEQ", min=0, help="The event to compare; the last, otherwise.")
    ] = None,
    other: Annotated[
        str | None, typer.Option("--with", metavar="OTHER", help="Compare with another run, a fork say: --to is of it.")
    ] = None,
) -> None:
    """Show what differs between a run as of two of its events, or between two runs."""
    id = session.id(run)
    there = id if other is None else session.id(other)
    if first is None and other is None:
        raise UsageError("from which event on? Say --from SEQ; or compare with another run: --with OTHER")
    async with session.reader() as reader:
        since = find_run(reader, id).seq if first is None else first
        last = find_run(reader, there).seq if to is None else to
        if session.out.json:
            for change in await reader.run(id).diff(since, last, there):
                session.out.line(plain(change))
            return
        before, after = [
            (await reader.run(whose).replay_to(seq)).after if seq else None
            for whose, seq in ((id, since), (there, last))
        ]
    what = f"what differs from {since} to {last}"
    if other is not None:
        what = f"what differs from {since} to {named(there)} at {last}"
    session.out.show(
        Text("  ").join([word(id, "bold"), title(what)]),
        differing(before, after, session.out.width),
    )
