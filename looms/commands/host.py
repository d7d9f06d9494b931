"""`looms host`: a process that runs the store's runs until it is stopped."""

import os
import signal
from contextlib import ExitStack

import anyio

from looms import Runtime
from looms.commands.session import Session
from looms.commands.texts import printable

SIGNALS = (signal.SIGINT, signal.SIGTERM)


async def host(session: Session) -> None:
    """Run the host of the store until it gets SIGINT (Ctrl-C) or SIGTERM."""
    store, modules = session.store, session.needs_app()
    with ExitStack() as catching:
        received = catching.enter_context(anyio.open_signal_receiver(*SIGNALS))
        async with Runtime(store, modules=modules) as runtime:
            await _opened(session, runtime)
            number = await anext(aiter(received))
            _tell(session, "stopping", f"stopping, on {signal.Signals(number).name}")
            catching.close()  # a second Ctrl-C ends a shutdown that hangs
    _tell(session, "stopped", "stopped; all that was committed is on disk, and all that waits goes on waiting")


async def _opened(session: Session, runtime: Runtime) -> None:
    runs = dict.fromkeys(("running", "waiting", "suspended"), 0)
    for status in runs:
        async for _ in runtime.runs(status=status):
            runs[status] += 1
    counts = ", ".join(f"{count} {status}" for status, count in runs.items())
    store = printable(str(session.store))
    _tell(session, "opened", f"opened {store} (pid {os.getpid()}): {counts}. Ctrl-C stops it.", runs=runs)


def _tell(session: Session, what: str, text: str, **more: object) -> None:
    if session.out.json:
        session.out.line({"event": what, "store": str(session.store), "pid": os.getpid(), **more})
    else:
        session.out.show(text)
    session.out.flush()
