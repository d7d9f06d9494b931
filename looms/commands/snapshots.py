"""`looms snapshots`: the snapshots of a run."""

import time
from typing import Annotated

import typer
from rich.console import RenderableType

from looms import Snapshot
from looms.commands.arguments import RunArgument
from looms.commands.moments import age, size
from looms.commands.plain import plain, plain_run
from looms.commands.run_view import run_view
from looms.commands.session import Session
from looms.commands.tables import Rows


async def snapshots(
    session: Session,
    run: RunArgument,
    at: Annotated[int | None, typer.Option("--at", metavar="SEQ", min=1, help="Print the run as of this one.")] = None,
) -> None:
    """List the snapshots of a run, or print one."""
    async with session.reader() as reader:
        handle = reader.run(session.id(run))
        if at is not None:
            held = await handle.snapshot(at)
            if session.out.json:
                session.out.line(plain_run(held))
            else:
                session.out.show(run_view(held, time.time_ns() // 1_000_000, session.out.width))
            return
        found = [snapshot async for snapshot in handle.snapshots()]
    if session.out.json:
        for snapshot in found:
            session.out.line(plain(snapshot))
    elif found:
        session.out.show(listed(found))
    else:
        session.out.show("No snapshots yet: one is written every so many records (256, unless the host was told else).")


def listed(found: list[Snapshot]) -> RenderableType:
    """Snapshots as a table."""
    now = time.time_ns() // 1_000_000
    rows = Rows(">seq", "kind", "stands on", ">size", ">taken")
    for snapshot in found:
        base = "" if snapshot.base is None else str(snapshot.base)
        rows.add_row(str(snapshot.seq), snapshot.kind, base, size(snapshot.bytes), age(snapshot.at, now))
    return rows
