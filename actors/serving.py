"""Serving a store: a host, and the door at which other processes ask it."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from looms.actors import logs
from looms.actors.background import background
from looms.actors.clock import Clock, MovedClock
from looms.actors.doorbell import Doorbell
from looms.actors.host import Host
from looms.actors.neighbours import Neighbours
from looms.actors.options import Options
from looms.actors.requests_served import RequestsServed
from looms.actors.writer import Writer, Writing
from looms.reducers.registry import Registry
from looms.snapshots.store import Store


@asynccontextmanager
async def serve(
    store: Store, code: Registry, clock: Clock, options: Options, writer: Callable[[], Writing] = Writer
) -> AsyncIterator[Host]:
    """Serve a store while inside.

    Raises:
        ModuleError: ``options.strict``, and there are runs whose definition is missing.
    """
    host = Host(store, code, clock, options, writer)
    try:
        async with background() as tasks:
            host.begin(tasks)
            if options.serves:
                served = RequestsServed(host, tasks)
                tasks.start_soon(Doorbell(store.path, host.followers, served.look).run)
                tasks.start_soon(served.forget)
                tasks.start_soon(Neighbours(store).run)
            logs.info("host started", path=store.path)
            if isinstance(clock, MovedClock):
                clock.attach(host)
            try:
                yield host
            finally:
                host.open = False
                if isinstance(clock, MovedClock):
                    clock.detach(host)
    finally:
        host.close()
        logs.info("host stopped", path=store.path)
