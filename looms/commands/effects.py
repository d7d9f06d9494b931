"""`looms effects`: what was asked for and has no outcome yet."""

import time
from typing import Annotated

import typer
from rich.text import Text

from looms import OutstandingEffect
from looms.commands.moments import age, length
from looms.commands.plain import plain
from looms.commands.runs import BATCH, batches
from looms.commands.session import Session
from looms.commands.stuck_view import tell_stuck
from looms.commands.styles import ASKED, STATUS
from looms.commands.tables import Rows
from looms.commands.texts import named, printable, word
from looms.reducers.calls import CALL
from looms.snapshots.lock import has_host


async def effects(
    session: Session,
    run: Annotated[
        str | None, typer.Argument(metavar="[RUN]", help="A run's id; all runs without.", show_default=False)
    ] = None,
) -> None:
    """List the effects that are outstanding: attempts, the last error, the next time.

    The exit code is 1 when one of them cannot be read.
    """
    shown = 0
    hosted = has_host(str(session.store))
    async with session.reader() as reader:
        found = reader.effects(None if run is None else session.id(run))
        if session.out.json:
            async for effect in found:
                session.out.line(plain(effect))
                session.code |= effect.damage is not None
            return
        async for batch in batches(found, BATCH):
            session.out.show(listed(batch, header=not shown, hosted=hosted))
            shown += len(batch)
            for one in batch:
                if one.damage is not None:
                    session.code = 1
                    session.out.note(
                        f"{named(one.effect_id)} is damaged: {printable(one.damage)}. looms check tells more"
                    )
    tell_stuck(session.out, session.store)
    if not shown:
        session.out.show("No effects are outstanding." if run is None else "It has no effects outstanding.")


def listed(found: list[OutstandingEffect], *, header: bool = True, hosted: bool = True) -> Rows:
    """Effects as a table; whether there is a host to try them."""
    now = time.time_ns() // 1_000_000
    rows = Rows("id", "effect", ">attempts", "next", "~last error", header=header)
    for one in found:
        error = "" if one.error is None else one.error + (f": {one.message}" if one.message else "")
        failed = word(error, STATUS["failed"])
        attempts = "?" if one.damage is not None else str(one.attempts)
        rows.add_row(word(one.effect_id, "bold"), word(_called(one)), attempts, _next(one, now, hosted), failed)
    return rows


def _called(one: OutstandingEffect) -> str:
    """Which effect; of a workflow's step that is a function, which step."""
    if one.step is None:
        return one.effect or "?"
    return one.step if one.effect == CALL.name else f"{one.effect} ({one.step})"


def _next(one: OutstandingEffect, now: int, hosted: bool) -> Text:
    """When it is tried next. A row that says it is running, in a store without a host, is of a process that died."""
    if one.damage is not None:
        return Text("damaged", STATUS["failed"])
    if one.held:
        return Text("held", STATUS["suspended"])
    if not one.running and one.due is not None and one.due > now:
        return Text(age(one.due, now))
    if not hosted:
        return Text("when a host runs")
    if not one.running:
        return Text("now")
    return Text("running" if one.since is None else f"running for {length(max(now - one.since, 0))}", ASKED)
