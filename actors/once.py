"""Something that happens once, for one who waits: what ``anyio.Event`` is, for a hundred thousand waits a second."""

import asyncio
from collections.abc import Awaitable

import anyio


class Once:
    """Made by the task that waits, when it begins to.

    On asyncio it is a bare future, which anyio's cancel scopes know how to interrupt. `anyio.Event` there is an event
    around an event around a future, and costs a tenth of all that a signal takes on the loop.
    """

    __slots__ = ("_event", "_future")

    def __init__(self) -> None:
        self._event: anyio.Event | None = None
        self._future: asyncio.Future[None] | None = None
        try:
            on_asyncio = asyncio.current_task() is not None
        except RuntimeError:
            on_asyncio = False
        if on_asyncio:
            self._future = asyncio.get_running_loop().create_future()
        else:
            self._event = anyio.Event()

    def set(self) -> None:
        """It happened. On the loop of who waits; a second time is harmless."""
        if self._future is None:
            assert self._event is not None
            self._event.set()
        elif not self._future.done():
            self._future.set_result(None)

    def wait(self) -> Awaitable[None]:
        """To be awaited, by one: the end of the waiting."""
        if self._future is not None:
            return self._future
        assert self._event is not None
        return self._event.wait()
