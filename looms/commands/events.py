"""`looms events`: the log of a run."""

import time
from typing import Annotated

import typer

from looms.commands.arguments import RunArgument
from looms.commands.plain import plain_record
from looms.commands.record_view import record_row
from looms.commands.session import Session
from looms.commands.settings import UsageError
from looms.reducers.errors import closest


async def events(
    session: Session,
    run: RunArgument,
    first: Annotated[int, typer.Option("--from", metavar="SEQ", min=1, help="Begin at this one.")] = 1,
    to: Annotated[int | None, typer.Option(metavar="SEQ", min=1, help="End with this one.")] = None,
    type: Annotated[list[str] | None, typer.Option(metavar="TYPE", help="Only this type; may be repeated.")] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Stay, and print what comes.")] = False,
) -> None:
    """Print the log of a run, oldest first."""
    if to is not None and first > to:
        raise UsageError(f"--from {first} is behind --to {to}")
    shown, seen = 0, set()
    async with session.reader() as reader:
        async for record in reader.run(session.id(run)).events(after=first - 1, to=to, follow=follow):
            seen.add(record.type)
            if type and record.type not in type:
                continue
            shown += 1
            if session.out.json:
                session.out.line(plain_record(record))
            else:
                session.out.show(record_row(record, time.time_ns() // 1_000_000))
            if follow:
                session.out.flush()
    if not shown and not session.out.json:
        hints = [closest(one, seen | known(session)) for one in type or () if one not in seen]
        hint = next(filter(None, hints), ".")
        session.out.show(f"No such events{hint} The whole log: looms events RUN, without --from, --to and --type.")


def known(session: Session) -> set[str]:
    """The events of the application, by name."""
    return {name for module in session.modules for name in module.events}
