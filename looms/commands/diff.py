"""`looms diff`: what differs between a run as of two of its events."""

from typing import Annotated

import typer
from rich.text import Text

from looms.commands.arguments import RunArgument
from looms.commands.plain import plain
from looms.commands.replay_view import differing
from looms.commands.session import Session
from looms.commands.styles import title
from looms.commands.texts import word
from looms.listing import find_run


async def diff(
    session: Session,
    run: RunArgument,
    first: Annotated[
        int, typer.Option("--from", metavar="SEQ", min=0, help="The event to compare with; 0: before the first.")
    ],
    to: Annotated[
        int | None, typer.Option("--to", metavar="SEQ", min=0, help="The event to compare; the last, otherwise.")
    ] = None,
) -> None:
    """Show what differs between a run as of two of its events."""
    id = session.id(run)
    async with session.reader() as reader:
        handle = reader.run(id)
        last = find_run(reader, id).seq if to is None else to
        if session.out.json:
            for change in await handle.diff(first, last):
                session.out.line(plain(change))
            return
        before, after = [(await handle.replay_to(seq)).after if seq else None for seq in (first, last)]
    session.out.show(
        Text("  ").join([word(id, "bold"), title(f"what differs from {first} to {last}")]),
        differing(before, after, session.out.width),
    )
