"""`looms effects`: what was asked for and has no outcome yet."""

import time
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from looms import OutstandingEffect
from looms.commands.moments import age
from looms.commands.plain import plain
from looms.commands.runs import BATCH, batches
from looms.commands.session import Session
from looms.commands.styles import ASKED, STATUS, table
from looms.commands.texts import word


async def effects(
    session: Session,
    run: Annotated[
        str | None, typer.Argument(metavar="[RUN]", help="A run's id; all runs without.", show_default=False)
    ] = None,
) -> None:
    """List the effects that are outstanding: attempts, the last error, the next time."""
    shown = 0
    async with session.reader() as reader:
        found = reader.effects(None if run is None else session.id(run))
        if session.out.json:
            async for effect in found:
                session.out.line(plain(effect))
            return
        async for batch in batches(found, BATCH):
            session.out.show(listed(batch, header=not shown))
            shown += len(batch)
    if not shown:
        session.out.show("No effects are outstanding." if run is None else "It has no effects outstanding.")


def listed(found: list[OutstandingEffect], *, header: bool = True) -> Table:
    """Effects as a table."""
    now = time.time_ns() // 1_000_000
    rows = table("id", "effect", ">attempts", "next", "last error", header=header)
    for one in found:
        error = "" if one.error is None else one.error + (f": {one.message}" if one.message else "")
        failed = word(error, STATUS["failed"])
        rows.add_row(word(one.effect_id, "bold"), word(one.effect), str(one.attempts), _next(one, now), failed)
    return rows


def _next(one: OutstandingEffect, now: int) -> Text:
    """When it is tried next."""
    if one.held:
        return Text("held", STATUS["suspended"])
    if one.running:
        return Text("running", ASKED)
    return Text("now" if one.due is None else age(one.due, now) if one.due > now else "now")
