"""A clock that stands still until a test moves it."""

import math
from typing import ClassVar

import anyio

from looms.actors.host import Host
from looms.reducers.givens import refused, whole
from looms.reducers.moments import LAST, is_seconds
from looms.testing.settling import settle

BEGIN = 1_767_225_600_000  # 2026-01-01T00:00:00Z


class TestClock:
    """The time of a test: it goes from one due moment to the next, and nothing is early, late or slept through.

    Args:
        at: where it begins, in milliseconds since 1970.
    """

    __test__: ClassVar[bool] = False  # pytest would take it for a class of tests

    def __init__(self, at: int = BEGIN) -> None:
        self._now = whole("at", at)
        self._sleepers: dict[anyio.Event, int] = {}
        self._hosts: list[Host] = []

    def now(self) -> int:
        """Milliseconds since 1970 (UTC)."""
        return self._now

    async def sleep_until(self, at: int) -> None:
        """Return when the test has moved the clock to ``at``."""
        given: object = at
        if not is_seconds(given):
            refused("at", at, "milliseconds since 1970")
        while at > self._now:
            due = anyio.Event()
            self._sleepers[due] = at
            try:
                await due.wait()
            finally:
                self._sleepers.pop(due, None)

    async def advance(self, seconds: float) -> None:
        """Move the clock, and return when all that was due has happened, at its own time, and is committed.

        At each due moment on the way the runtimes on this clock, and their handlers, go on until all they can do is
        wait. ``advance(0)`` lets things settle without moving the clock.

        Raises:
            ValueError: a number of seconds that is negative, or none.
        """
        if not is_seconds(seconds) or seconds < 0:
            raise ValueError(f"advance({seconds!r}): give a number of seconds from 0; time does not go back")
        target = self._now + math.ceil(round(seconds * 1000, 6))
        if target > LAST:
            raise ValueError(f"advance({seconds!r}) leads beyond the year 9999, where no moment is")
        await self._settled()
        while (due := min(self._sleepers.values(), default=target)) <= target and self._sleepers:
            self._now = max(self._now, due)
            for event, at in list(self._sleepers.items()):
                if at <= self._now:
                    self._sleepers.pop(event)
                    event.set()
            await self._settled()
        self._now = target
        await self._settled()

    def attach(self, host: Host) -> None:
        """Have a host settle whenever the clock has moved; whoever serves one on this clock does it."""
        self._hosts.append(host)

    def detach(self, host: Host) -> None:
        """Have it settle no more."""
        self._hosts.remove(host)

    async def _settled(self) -> None:
        for host in list(self._hosts):
            await settle(host)
