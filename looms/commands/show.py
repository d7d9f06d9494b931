"""`looms show`: one run."""

import time

from looms import Reader, RunState
from looms.commands.arguments import RunArgument
from looms.commands.moments import age
from looms.commands.plain import plain_run
from looms.commands.run_view import run_view
from looms.commands.session import Session


async def show(session: Session, run: RunArgument) -> None:
    """Show a run: its status, threads, waits, effects, mailbox and state."""
    async with session.reader() as reader:
        seen = await reader.run(session.id(run)).inspect()
        if session.out.json:
            session.out.line(plain_run(seen))
            return
        now = time.time_ns() // 1_000_000
        started, last = await _age(reader, seen, 1, now), await _age(reader, seen, seen.seq, now)
    session.out.show(run_view(seen, now, session.out.width, note=f"started {started}, last event {last}"))


async def _age(reader: Reader, seen: RunState, seq: int, now: int) -> str:
    async for record in reader.run(seen.run_id).events(after=seq - 1, to=seq):
        return age(record.at, now)
    return "at an unknown time"
