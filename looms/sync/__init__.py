"""The same API without `await`: for scripts, notebooks and synchronous web frameworks.

Nothing is done twice here: each method hands its call to the one of the same name in `looms.runtime`, `looms.run` or
`looms.reader`, on an event loop in a thread of its own (`looms.sync.loop`), and waits for the answer.
"""

import os
from collections.abc import Callable, Iterable

from looms.actors.clock import Clock
from looms.actors.retention import Retention
from looms.reader import Reader
from looms.reducers.modules import Module
from looms.runtime import Runtime
from looms.snapshots.environment import Durability
from looms.snapshots.stuck import Stuck
from looms.sync.loop import Backend, Loop
from looms.sync.reader import SyncReader
from looms.sync.runtime import SyncRuntime


def open(
    path: str | os.PathLike[str],
    *,
    modules: Iterable[Module],
    clock: Clock | None = None,
    durability: Durability = "commit",
    snapshot_every: int = 256,
    max_resident: int = 10_000,
    max_mailbox: int = 1_024,
    max_turn_records: int = 10_000,
    map_size: int | None = None,
    strict: bool = False,
    retention: Retention | None = None,
    stuck_after: float | None = 1.0,
    on_stuck: Callable[[Stuck], None] | None = None,
    backend: Backend = "asyncio",
) -> SyncRuntime:
    """Open a store and serve it, for code without an event loop::

        with looms.open("orders.looms", modules=[payments, orders]) as runtime:
            run = runtime.start(order, PlaceOrder(order_id="o1", amount=40), run_id="o1")
            print(run.result(timeout=5))

    It is open when this returns; the end of a ``with`` closes it, or ``close()``, or else the end of the main thread.

    Args:
        path: the store's folder; it is made when it is not there.
        modules: the application's modules, in any order.
        clock: as all that follows, see ``Runtime``.
        durability: see ``Runtime``.
        snapshot_every: see ``Runtime``.
        max_resident: see ``Runtime``.
        max_mailbox: see ``Runtime``.
        max_turn_records: see ``Runtime``.
        map_size: see ``Runtime``.
        strict: see ``Runtime``.
        retention: see ``Runtime``.
        stuck_after: see ``Runtime``.
        on_stuck: see ``Runtime``.
        backend: the event loop that async handlers run on: ``"asyncio"`` or ``"trio"``.

    Raises:
        ModuleError, InvalidInput, StoreInUse, StoreFormatError: as ``Runtime`` does when it is made or opened.
    """
    runtime = Runtime(
        path,
        modules=modules,
        clock=clock,
        durability=durability,
        snapshot_every=snapshot_every,
        max_resident=max_resident,
        max_mailbox=max_mailbox,
        max_turn_records=max_turn_records,
        map_size=map_size,
        strict=strict,
        retention=retention,
        stuck_after=stuck_after,
        on_stuck=on_stuck,
    )
    return SyncRuntime(runtime, Loop(runtime, f"the runtime on {runtime.path}", backend))


def open_reader(path: str | os.PathLike[str], *, modules: Iterable[Module] = ()) -> SyncReader:
    """Open a store for reading, beside whoever writes it, for code without an event loop; see ``Reader``.

    Raises:
        ModuleError, StoreNotFound, StoreFormatError: as ``Reader`` does when it is made or opened.
    """
    reader = Reader(path, modules=modules)
    return SyncReader(reader, Loop(reader, f"the reader on {reader.path}"))
