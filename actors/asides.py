"""What a host does in worker threads of its own, so that its loop goes on meanwhile."""

from collections.abc import Callable
from typing import TypeVar, TypeVarTuple

import anyio
import anyio.to_thread

AT_ONCE = 2

T = TypeVar("T")
Args = TypeVarTuple("Args")


class Asides:
    """Runs functions in worker threads, a few at a time.

    Attributes:
        under_way: how many have begun, or wait for a thread.
    """

    def __init__(self) -> None:
        self._limiter = anyio.CapacityLimiter(AT_ONCE)
        self.under_way = 0

    async def call(self, function: Callable[[*Args], T], *arguments: *Args) -> T:
        """What a function answers; it may ask ``anyio.from_thread.check_cancelled()`` whether the host ends."""
        self.under_way += 1
        try:
            return await anyio.to_thread.run_sync(function, *arguments, limiter=self._limiter)
        finally:
            self.under_way -= 1
