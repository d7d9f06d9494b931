"""Long work in a worker thread, which ends when whoever waits for it is cancelled."""

from collections.abc import Callable
from typing import TypeVar

import anyio.from_thread
import anyio.to_thread

T = TypeVar("T")


class NobodyWaits(Exception):
    """Ends work that nobody waits for any more."""


async def aside(work: Callable[[Callable[[int], None]], T]) -> T:
    """Do something in a worker thread.

    Args:
        work: is given a function to call now and then, which raises when nobody waits any more.
    """
    waiting = True

    def step(_: int) -> None:
        if not waiting:  # a Ctrl-C cancels asyncio's task itself, of which anyio's scopes do not hear
            raise NobodyWaits
        anyio.from_thread.check_cancelled()

    try:
        return await anyio.to_thread.run_sync(work, step)
    finally:
        waiting = False
