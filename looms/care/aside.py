"""Long work in a worker thread, which ends when whoever waits for it is cancelled."""

from collections.abc import Callable
from typing import TypeVar

import anyio.from_thread
import anyio.to_thread

T = TypeVar("T")


async def aside(work: Callable[[Callable[[int], None]], T]) -> T:
    """Do something in a worker thread.

    Args:
        work: is given a function to call now and then, which raises when nobody waits any more.
    """

    def step(_: int) -> None:
        anyio.from_thread.check_cancelled()

    return await anyio.to_thread.run_sync(work, step)
