"""The writer: the one thread that commits, so that the loop never waits for the disk."""

from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import Protocol

import anyio

from looms.actors.on_loop import caller
from looms.actors.once import once


class Writing(Protocol):
    """Makes the commits of a host, while its loop goes on."""

    async def write(self, commit: Callable[[], object]) -> None:
        """Have a commit made. Returns when it is made or has failed, also when this is cancelled meanwhile.

        Raises:
            BaseException: what the commit raised.
        """
        ...

    def close(self) -> None:
        """Make no more, after the one that is under way."""
        ...


class Writer:
    """Has commits made in a thread of its own, which is there for as long as it is open.

    A lone signal waits for two changes of threads and for the disk, and for hardly anything else: so what is between
    the loop and this thread is a queue in C and a future, and not a pool.
    """

    def __init__(self) -> None:
        self._orders: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._on_loop = caller()
        self._thread = Thread(target=self._serve, name="looms writer", daemon=True)
        self._thread.start()

    async def write(self, commit: Callable[[], object]) -> None:
        """Have a commit made. Returns when it is made or has failed, also when this is cancelled meanwhile.

        Raises:
            BaseException: what the commit raised.
        """
        made = once()
        failures: list[BaseException] = []

        def order() -> None:
            try:
                commit()
            except BaseException as error:  # noqa: BLE001 - raised on the loop
                failures.append(error)
            with suppress(RuntimeError):  # the event loop is over: nobody waits
                self._on_loop(made.set)

        self._orders.put(order)
        with anyio.CancelScope(shield=True):
            await made
        if failures:
            raise failures[0]

    def close(self) -> None:
        """End the thread, after what it is writing."""
        self._orders.put(None)
        self._thread.join()

    def _serve(self) -> None:
        while self._serve_next():
            pass

    def _serve_next(self) -> bool:
        """Make the next commit; False: there is none. In a call of its own: nothing of a batch outlives it here."""
        order = self._orders.get()
        if order is not None:
            order()
        return order is not None
