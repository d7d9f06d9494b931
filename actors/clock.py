"""The time, and waiting for it."""

import time
from typing import Any, Protocol, runtime_checkable

import anyio

from looms.reducers.errors import InvalidInput
from looms.reducers.messages import shown
from looms.reducers.moments import LAST, due_after

_LONGEST = 60.0  # seconds: a clock may be set, and a machine may sleep, so nobody trusts a longer wait


class Clock(Protocol):
    """Where a runtime has its time from."""

    def now(self) -> int:
        """Milliseconds since 1970 (UTC)."""
        ...

    async def sleep_until(self, at: int) -> None:
        """Return when ``now()`` is ``at`` or later, never before."""
        ...


@runtime_checkable
class MovedClock(Clock, Protocol):
    """A clock that somebody moves: before it goes on, it lets the hosts on it do all that is due."""

    def attach(self, host: Any) -> None:
        """A host is served on this clock."""
        ...

    def detach(self, host: Any) -> None:
        """It is no more."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> int:
        """Milliseconds since 1970 (UTC)."""
        return time.time_ns() // 1_000_000

    async def sleep_until(self, at: int) -> None:
        """Return when ``now()`` is ``at`` or later; the clock is looked at again at least once a minute."""
        while (left := at - self.now()) > 0:  # noqa: ASYNC110 - it is the clock that is waited for
            await anyio.sleep(min(left / 1000, _LONGEST))


class CheckedClock:
    """A clock of the application's, of which nobody knows what it gives.

    Args:
        clock: the clock.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.sleep_until = clock.sleep_until

    def now(self) -> int:
        """Milliseconds since 1970 (UTC).

        Raises:
            InvalidInput: what the clock gives is none.
        """
        now = self._clock.now()
        if type(now) is not int or not 0 <= now <= LAST:
            raise InvalidInput(
                f"{type(self._clock).__qualname__}.now() gives {shown(now)}; a clock gives whole milliseconds since "
                f"1970, from 0 to {LAST} (the end of the year 9999)"
            )
        return now


def after(clock: Clock, seconds: float) -> int:
    """The first millisecond that is not before so many seconds from now, or else the last one of the year 9999."""
    try:
        return due_after(clock.now(), seconds)
    except ValueError:
        return LAST
