"""What the store's host is stuck in, for people: while it is, it serves nobody, and somebody should know why."""

import time
from pathlib import Path

import anyio
from rich.console import Group, RenderableType
from rich.text import Text

from looms.commands.moments import length
from looms.commands.output import Output
from looms.commands.styles import STATUS
from looms.commands.texts import named, printable
from looms.snapshots import stuck
from looms.snapshots.stuck import Stuck

PATIENCE = 2.0  # seconds that an answer may take before it is told why it does


def said(found: Stuck) -> str:
    """One line of it."""
    now = time.time_ns() // 1_000_000
    where = f" ({found.module})" if found.module else ""
    return (
        f"the host (process {found.pid}) serves nobody: {printable(found.what)}{printable(where)}, "
        f"running for {length(max(now - found.since, 0))} by now"
    )


def stuck_view(found: Stuck) -> RenderableType:
    """All of it, with the code that it is at."""
    return Group(Text(said(found), STATUS["suspended"]), Text(printable(found.stack)))


def tell_stuck(out: Output, store: Path) -> bool:
    """Say on stderr that the host of a store is stuck, if it is."""
    found = stuck.now(str(store))
    if found is not None:
        more = "" if found.run_id is None else f". looms show {named(found.run_id)} tells where"
        out.note(said(found) + more)
    return found is not None


async def tell_when_stuck(out: Output, store: Path) -> None:
    """The same for one who waits for an answer: once, when there is something to say."""
    while True:
        await anyio.sleep(PATIENCE)
        if tell_stuck(out, store):
            return
