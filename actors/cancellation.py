"""Waiting that no cancellation interrupts: it is heard when the waiting is over.

From those of anyio's scopes one can be shielded, and they come again for as long as they are wanted. One of asyncio's
own (``task.cancel()``, which ``asyncio.timeout`` calls too) comes once, through every shield: it is caught here, and
asked for once more when its task next waits for something, if it is still wanted then. A timeout whose block is over
by that time has taken it back (``Task.uncancel``).
"""

import asyncio
import math
from collections.abc import Awaitable, Callable
from typing import Any, Self

import anyio


class Postponed:
    """The cancellations of a task that it could not be told of yet: it is told at the end of this context."""

    def __init__(self) -> None:
        self._task: asyncio.Task[Any] | None = None
        self._wanted_before = 0  # how many cancellations of the task were wanted before the first of these

    def __enter__(self) -> Self:
        return self

    def __exit__(self, type: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if self._task is not None and not isinstance(error, asyncio.CancelledError):
            asyncio.get_running_loop().call_soon(_cancel_again, self._task, self._wanted_before)

    def postpone(self, cancellation: BaseException) -> None:
        """One was caught, outside of all shields."""
        if anyio.current_effective_deadline() > -math.inf:
            self._keep(cancellation)

    async def until(self, wait: Callable[[], Awaitable[None]]) -> None:
        """Wait for something to its end. It is called again when the waiting was interrupted."""
        while True:
            try:
                with anyio.CancelScope(shield=True):
                    return await wait()
            except anyio.get_cancelled_exc_class() as cancellation:
                self._keep(cancellation)

    def _keep(self, cancellation: BaseException) -> None:
        if not isinstance(cancellation, asyncio.CancelledError):
            raise cancellation  # trio has none but those of scopes
        if self._task is None:
            self._task = asyncio.current_task()
            self._wanted_before = 0 if self._task is None else max(0, self._task.cancelling() - 1)


def _cancel_again(task: "asyncio.Task[Any]", wanted_before: int) -> None:
    if not task.done() and task.cancelling() > wanted_before:
        task.cancel()
        task.uncancel()  # it was counted when it came first
