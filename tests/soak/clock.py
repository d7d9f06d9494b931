"""A clock that runs faster than the machine's: an hour of timers, deadlines and ages goes by in minutes."""

import time

import anyio


class FastClock:
    """So many milliseconds go by in each of the machine's.

    Args:
        speed: how many.
    """

    def __init__(self, speed: float) -> None:
        self._speed = speed
        self._began, self._at = time.monotonic(), time.time_ns() // 1_000_000

    def now(self) -> int:
        """Milliseconds since 1970, as this clock has it."""
        return self._at + int((time.monotonic() - self._began) * self._speed * 1_000)

    async def sleep_until(self, at: int) -> None:
        """Return when ``now()`` is ``at`` or later."""
        while (left := at - self.now()) > 0:  # noqa: ASYNC110 - it is the clock that is waited for
            await anyio.sleep(min(left / 1_000 / self._speed, 60))
