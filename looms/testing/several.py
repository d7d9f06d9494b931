"""Runtimes that are opened one by one, and closed together."""

import os
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Self

import anyio
from anyio.abc import TaskStatus

from looms.actors.background import background
from looms.reducers.modules import Module
from looms.testing.clock import TestClock
from looms.testing.runtimes import Handlers, RuntimeOnTestClock, runtime


class Runtimes:
    """Opens runtimes on a store and a clock; what the fixture ``looms_runtime`` gives.

    Each is held open by a task of its own, so it may be opened inside of a timeout and closed outside of it.

    Args:
        store: the folder of the store.
        clock: the clock.
    """

    def __init__(self, store: str | os.PathLike[str], clock: TestClock) -> None:
        self.store = store
        self.clock = clock
        self._open: list[tuple[anyio.Event, anyio.Event]] = []

    async def __aenter__(self) -> Self:
        self._background = background()
        self._tasks = await self._background.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        await self.close()
        return await self._background.__aexit__(kind, error, trace)

    async def __call__(
        self,
        modules: Iterable[Module],
        *,
        path: str | os.PathLike[str] | None = None,
        effects: Handlers | None = None,
        **options: Any,
    ) -> RuntimeOnTestClock:
        """Open a runtime.

        Args:
            modules: the modules.
            path: another store than the test's.
            effects: handlers to call instead of the effects' own, as for ``looms.testing.runtime``.
            options: as for ``Runtime``.

        Raises:
            StoreInUse: it is open already; ``await close()`` first, and the store is opened again as after a restart.
        """
        where = self.store if path is None else path
        opened: RuntimeOnTestClock | Exception = await self._tasks.start(self._hold, modules, where, effects, options)
        if isinstance(opened, Exception):
            raise opened
        return opened

    async def close(self) -> None:
        """Close those that are open, as the end of the process would, but gently."""
        while self._open:
            asked, closed = self._open.pop()
            asked.set()
            await closed.wait()

    async def _hold(
        self,
        modules: Iterable[Module],
        path: str | os.PathLike[str],
        effects: Handlers | None,
        options: dict[str, Any],
        *,
        task_status: TaskStatus[RuntimeOnTestClock | Exception],
    ) -> None:
        asked, closed = anyio.Event(), anyio.Event()
        told = False
        try:
            async with runtime(modules, path, self.clock, effects=effects, **options) as opened:
                self._open.append((asked, closed))
                told = True
                task_status.started(opened)
                await asked.wait()
        except Exception as error:
            if told:
                raise
            task_status.started(error)
        finally:
            closed.set()
