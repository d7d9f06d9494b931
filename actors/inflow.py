"""Back-pressure: what callers have sent and is not committed yet is bounded, and whoever brings more waits his turn."""

from collections import deque
from collections.abc import Callable
from typing import TypeVar

import anyio

MOST_CALLS = 16_384
MOST_BYTES = 64 << 20

T = TypeVar("T")


class Inflow:
    """The calls that are not answered yet, and the bytes that they brought.

    When there are too many, the next ones wait before they are taken at all, first come, first served: where senders
    outrun the disk they get as slow as it is, and what a host holds for them is a few times these bytes at most.

    Args:
        most_calls: how many calls there may be, about.
        most_bytes: how many bytes they may have brought, about: the last one may be as large as it is.
    """

    __slots__ = ("_bytes", "_calls", "_most_bytes", "_most_calls", "_waiting")

    def __init__(self, most_calls: int = MOST_CALLS, most_bytes: int = MOST_BYTES) -> None:
        self._most_calls = most_calls
        self._most_bytes = most_bytes
        self._calls = 0
        self._bytes = 0
        self._waiting: deque[anyio.Event] = deque()

    @property
    def full(self) -> bool:
        """Whether the next one has to wait: there are too many, or others wait already."""
        return self._at_bound or bool(self._waiting)

    @property
    def _at_bound(self) -> bool:
        return self._calls >= self._most_calls or self._bytes >= self._most_bytes

    async def admit(self, ask: Callable[[], T]) -> T:
        """Let somebody ask when there is room, and it is his turn."""
        if self.full:
            turn = anyio.Event()
            self._waiting.append(turn)
            try:
                await turn.wait()
            except BaseException:
                if turn.is_set():
                    self._go_on()
                else:
                    self._waiting.remove(turn)
                raise
        try:
            return ask()
        finally:
            self._go_on()  # what was asked may have been refused at once

    def enter(self, size: int) -> None:
        """A call is taken that brings so many bytes."""
        self._calls += 1
        self._bytes += size

    def leave(self, size: int) -> None:
        """It is answered."""
        self._calls -= 1
        self._bytes -= size
        self._go_on()

    def _go_on(self) -> None:
        if self._waiting and not self._at_bound:
            self._waiting.popleft().set()

    def let_all_in(self) -> None:
        """Nobody takes anything any more: whoever waits is told so when he asks."""
        while self._waiting:
            self._waiting.popleft().set()
