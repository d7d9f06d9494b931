"""Something that happens once, for one who waits: what ``anyio.Event`` is, for a hundred thousand waits a second."""

import asyncio
from collections.abc import Generator
from typing import Any, Protocol

import anyio


class Once(Protocol):
    """Awaited by one task, the one that made it; its end is told on the same loop."""

    def set(self) -> None:
        """It happened; a second time is harmless."""
        ...

    def __await__(self) -> Generator[Any, Any, object]:
        """The end of the waiting."""
        ...


def once() -> Once:
    """Something to wait for. On asyncio it is a bare future, which anyio's cancel scopes know how to interrupt:
    `anyio.Event` there is an event around an event around a future, and costs a tenth of all that a signal takes.
    """
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return _Event()
    return _Future(loop=loop) if asyncio.current_task(loop) is not None else _Event()


class _Future(asyncio.Future[None]):
    __slots__ = ()

    def set(self) -> None:
        if not self.done():
            self.set_result(None)


class _Event:
    __slots__ = ("_event",)

    def __init__(self) -> None:
        self._event = anyio.Event()

    def set(self) -> None:
        self._event.set()

    def __await__(self) -> Generator[Any, Any, None]:
        return self._event.wait().__await__()
