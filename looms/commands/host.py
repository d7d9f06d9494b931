"""`looms host`: a process that runs the store's runs until it is stopped."""

import math
import os
import signal
from collections.abc import Callable
from contextlib import ExitStack
from typing import Annotated

import anyio
import msgspec
import typer

from looms import Retention, Runtime, Stuck
from looms.commands.collector import collect_seldom
from looms.commands.moments import length
from looms.commands.session import Session
from looms.commands.settings import retention_of, seconds
from looms.commands.texts import printable

MOST = 1_000  # runs of a status that are counted when a store is opened
LET_END = 5.0  # seconds that handlers in threads have to end by themselves, when all else is closed
STUCK = 70  # the exit code of one that was stuck: an error in software, as sysexits.h has it
SIGNALS = (signal.SIGINT, signal.SIGTERM)


async def host(
    session: Session,
    retention: Annotated[
        str | None,
        typer.Option(metavar="AGES", help="Delete what is older: finished=90d,failed=forever,snapshots=30d."),
    ] = None,
    exit_when_stuck: Annotated[
        str | None,
        typer.Option(metavar="AGE", help="End this process when a reducer does not return for so long: 30s."),
    ] = None,
) -> None:
    """Run the host of the store until it gets SIGINT (Ctrl-C) or SIGTERM."""
    store, modules, settings = session.store, session.needs_app(), session.settings
    kept = retention_of(retention) if retention else settings.retention
    with ExitStack() as catching:
        received = catching.enter_context(anyio.open_signal_receiver(*SIGNALS))
        runtime = Runtime(
            store, modules=modules, map_size=settings.map_size, retention=kept, on_stuck=_ender(exit_when_stuck)
        )
        async with runtime:
            dispatcher = runtime.host.dispatcher
            await _opened(session, runtime, kept)
            collect_seldom()
            number = await anext(aiter(received))
            _tell(session, "stopping", f"stopping, on {signal.Signals(number).name}")
            catching.close()  # a second Ctrl-C ends a shutdown that hangs
        with anyio.move_on_after(LET_END):
            while dispatcher.abandoned:  # noqa: ASYNC110 - threads tell nobody that they are done
                await anyio.sleep(0.05)
    left, more = dispatcher.abandoned, ""
    if left:
        handlers = ", ".join(f"{count} of {printable(name)}" for name, count in left.items())
        more = f"; handlers that do not end are left behind: {handlers}"
    text = f"stopped; all that was committed is on disk, and all that waits goes on waiting{more}"
    _tell(session, "stopped", text, **({"left": left} if left else {}))
    if left:
        os._exit(0)  # Python would wait for their threads, perhaps for ever


def _ender(exit_when_stuck: str | None) -> Callable[[Stuck], None] | None:
    """What ends this process when it is stuck for so long, as a kill would: no code of it can be made to return."""
    if exit_when_stuck is None:
        return None
    most = seconds(exit_when_stuck, "--exit-when-stuck")

    def end(found: Stuck) -> None:
        if found.seconds >= most:
            message = f"looms host ends: {found.what} does not return ({found.seconds:.0f} s)\n"
            os.write(2, message.encode(errors="backslashreplace"))
            os._exit(STUCK)

    return end


async def _opened(session: Session, runtime: Runtime, kept: Retention | None) -> None:
    runs = {}
    for status in ("running", "waiting", "suspended"):
        runs[status] = len([run async for run in runtime.runs(status=status, limit=MOST)])
    counts = ", ".join(f"{MOST} or more {s}" if count == MOST else f"{count} {s}" for s, count in runs.items())
    store = printable(str(session.store))
    more = {} if kept is None else {"retention": _ages(kept)}
    lets_go = "" if kept is None else f" Lets go of what is older than {_said(kept)}."
    text = f"opened {store} (pid {os.getpid()}): {counts}.{lets_go} Ctrl-C stops it."
    _tell(session, "opened", text, runs=runs, **more)


def _ages(kept: Retention) -> dict[str, float | None]:
    """The ages in seconds; None is for ever."""
    given = {name: age for name, age in msgspec.structs.asdict(kept).items() if age is not None}
    return {name: None if age == math.inf else age for name, age in given.items()}


def _said(kept: Retention) -> str:
    ages = ((name, age) for name, age in _ages(kept).items() if name != "keep_every")
    return ", ".join(f"{name} {'forever' if age is None else length(int(age * 1_000))}" for name, age in ages)


def _tell(session: Session, what: str, text: str, **more: object) -> None:
    if session.out.json:
        session.out.line({"event": what, "store": str(session.store), "pid": os.getpid(), **more})
    else:
        session.out.show(text)
    session.out.flush()
