"""`looms show`: one run."""

import time

from looms import Reader, RunState
from looms.commands.arguments import RunArgument
from looms.commands.moments import age
from looms.commands.plain import plain, plain_run
from looms.commands.run_view import NO_APP, run_view
from looms.commands.session import Session
from looms.commands.stuck_view import stuck_view, tell_stuck
from looms.commands.texts import printable
from looms.snapshots import stuck


async def show(session: Session, run: RunArgument) -> None:
    """Show a run: its status, threads, waits, effects, mailbox and state."""
    id, found = session.id(run), stuck.now(str(session.store))
    at = found if found is not None and found.run_id == id else None
    # What the host does not get through is not tried here too: its states are told as far as they are stored.
    folds = at is None or not at.folding
    async with session.reader() if folds else Reader(session.store) as reader:
        seen = await reader.run(id).inspect()
        if session.out.json:
            session.out.line(plain_run(seen) | ({} if at is None else {"stuck": plain(at)}))
            return
        now = time.time_ns() // 1_000_000
        started, last = await _age(reader, seen, 1, now), await _age(reader, seen, seen.seq, now)
    why = lacking(session, seen) if folds else "bringing it back does not come to an end"
    session.out.show(run_view(seen, now, session.out.width, note=f"started {started}, last event {last}", lacking=why))
    if at is not None:
        session.out.show("", stuck_view(at))
    elif found is not None:
        tell_stuck(session.out, session.store)


def lacking(session: Session, seen: RunState) -> str:
    """Why states of a run are not known."""
    if session.settings.app is None:
        return NO_APP
    names = {name for module in session.modules for name in module.definitions}
    missing = [thread.kind for thread in seen.threads.values() if thread.state is None and thread.kind not in names]
    app = printable(session.settings.app)
    if not missing:
        return f"the code of {app} cannot fold it"
    module = missing[0].rpartition(".")[0]
    if any(known.name == module for known in session.modules):
        return f"{printable(missing[0])} is not in {app}"
    return f"module {printable(module)} is not in {app}"


async def _age(reader: Reader, seen: RunState, seq: int, now: int) -> str:
    async for record in reader.run(seen.run_id).events(after=seq - 1, to=seq):
        return age(record.at, now)
    return "at an unknown time"
