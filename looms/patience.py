"""How long somebody waits who is no run: seconds of his own, or until a moment of the runtime's clock."""

import math
from collections.abc import Awaitable, Callable
from datetime import datetime

import anyio

from looms.actors.clock import Clock
from looms.reducers.errors import InvalidInput
from looms.reducers.givens import refused
from looms.reducers.moments import is_seconds, millis


class Patience:
    """A wait's end, counted from when this is made.

    Args:
        clock: the runtime's.
        timeout: seconds of real time; 0 only looks; None: for ever.
        deadline: a moment with a zone, of the runtime's clock.

    Raises:
        InvalidInput: one of them cannot be meant.
    """

    def __init__(self, clock: Clock, timeout: float | None, deadline: datetime | None) -> None:
        check_timeout(timeout)
        self._clock = clock
        self._timeout = timeout
        self._until = math.inf if timeout is None else anyio.current_time() + timeout
        try:
            self._due = None if deadline is None else millis(deadline)
        except ValueError as error:
            raise InvalidInput(f"deadline={error}") from error
        self._deadline = deadline

    def __str__(self) -> str:
        parts = [] if self._timeout is None else [f"within {self._timeout:g} s"]
        parts += [] if self._deadline is None else [f"until {self._deadline.isoformat()}"]
        return " or ".join(parts)

    def is_over(self, now: int) -> bool:
        """Whether nothing is to be waited for at all: there was to be one look only."""
        return (self._timeout is not None and self._timeout <= 0) or (self._due is not None and self._due <= now)

    async def until(self, settled: Callable[[], Awaitable[None]]) -> None:
        """Wait until something is settled, or it is over."""
        if self._timeout is not None and self._timeout <= 0:
            await settled()  # it is looked once, and soon
        elif self._due is None:
            with anyio.CancelScope(deadline=self._until):
                await settled()
        else:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._ring, self._due, tasks.cancel_scope)
                with anyio.CancelScope(deadline=self._until):
                    await settled()
                tasks.cancel_scope.cancel()

    async def _ring(self, due: int, scope: anyio.CancelScope) -> None:
        await self._clock.sleep_until(due)
        scope.cancel()


def check_timeout(timeout: float | None) -> None:
    """Check a number of seconds that a caller waits.

    Raises:
        InvalidInput: it is none.
    """
    if timeout is not None and not is_seconds(timeout) and timeout != math.inf:
        refused("timeout", timeout, "seconds, 0 to look only, or None to wait for ever")
