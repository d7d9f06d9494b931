"""Reading a store that another process may be writing."""

import os
from collections.abc import Iterable
from contextlib import AsyncExitStack, closing
from types import TracebackType
from typing import Any, Self, TypeVar

import anyio

from looms.actors.background import background
from looms.actors.clock import SystemClock
from looms.actors.doorbell import ring
from looms.actors.errors import RuntimeClosed
from looms.actors.followers import Followers, NextCommit
from looms.environment_reading import EnvironmentReading
from looms.reducers.givens import items
from looms.reducers.modules import Module
from looms.reducers.registry import Registry
from looms.reducers.state import State
from looms.run_reading import RunReading
from looms.snapshots import stuck
from looms.snapshots.environment import Environment
from looms.snapshots.stuck import Stuck
from looms.store_reading import StoreReading

S = TypeVar("S", bound=State)

LOOK = 1.0  # seconds between looks for a host


class Reader(EnvironmentReading):
    """The reading half of a runtime, beside whoever writes::

        async with looms.Reader("orders.looms", modules=[payments, orders]) as reader:
            state = await reader.run("o1").state()

    Args:
        path: the store's folder.
        modules: the application's modules. Without any, all is shown but states that are not in a snapshot.

    Raises:
        ModuleError: the modules do not fit together.
    """

    def __init__(self, path: str | os.PathLike[str], *, modules: Iterable[Module] = ()) -> None:
        super().__init__(path, SystemClock())
        given = items("modules", modules, "a list of modules, such as [payments, orders]")
        self._code = Registry(given) if given else None
        self._followers = Followers()
        self._store: Environment | None = None
        self._open: AsyncExitStack | None = None

    async def __aenter__(self) -> Self:
        """Open the store for reading.

        Raises:
            StoreNotFound, StoreFormatError: there is no store, or one that this version does not know.
        """
        async with AsyncExitStack() as stack:
            self._store = stack.enter_context(closing(Environment(self.path)))
            tasks = await stack.enter_async_context(background())
            tasks.start_soon(self._listen)
            self._open = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        """Close it; nobody else notices."""
        opened, self._open = self._open, None
        return None if opened is None else await opened.__aexit__(kind, error, trace)

    def run(self, run_id: str) -> RunReading[Any]:
        """The handle of a run, without looking whether it exists.

        Raises:
            InvalidInput: no run could have that id.
        """
        return RunReading(self, run_id)

    def store(self, cls: type[S], id: str) -> StoreReading[S]:
        """The handle of a store, without looking whether it exists.

        Raises:
            TypeError: the class is no store.
            ModuleError: it is of no module here.
            InvalidInput: no store could have that id.
        """
        return StoreReading(self, cls, id)

    async def stuck(self) -> Stuck | None:
        """What the store's host is stuck in at present: a reducer that does not return, and where it is.

        Returns:
            None when the host goes on, or when there is none.
        """
        self.view().close()
        return stuck.now(self.path)

    @property
    def code(self) -> Registry | None:
        """Today's code, where modules were given."""
        return self._code

    def next_commit(self, run_id: str | None = None) -> NextCommit:
        """The next time that there may be something new."""
        return self._followers.next()

    async def _listen(self) -> None:
        """Be told of commits by the host, whenever there is one."""
        while True:
            try:
                async with ring(self.path) as bell:
                    while await bell.rings():
                        self._followers.tell([])
            except OSError:
                pass
            await anyio.sleep(LOOK)
            self._followers.tell([])

    def _environment(self) -> Environment:
        if self._open is None or self._store is None:
            raise RuntimeClosed(f"the reader on {self.path} is not open; use it inside `async with looms.Reader(...)`")
        return self._store
