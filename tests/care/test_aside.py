"""Work in a worker thread ends when nobody waits for it any more, however that came."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress

import anyio
import anyio.to_thread

from looms.care.aside import aside

LIMIT = 10.0  # seconds


class Endless:
    """Work that goes on for as long as somebody waits."""

    def __init__(self) -> None:
        self.begun, self.ended = threading.Event(), threading.Event()

    def __call__(self, step: Callable[[int], None]) -> None:
        self.begun.set()
        try:
            while True:
                step(1)
        finally:
            self.ended.set()


async def test_a_cancelled_scope_ends_it() -> None:
    work = Endless()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(aside, work)
        assert await anyio.to_thread.run_sync(work.begun.wait, LIMIT)
        tasks.cancel_scope.cancel()
    assert work.ended.wait(LIMIT)


def test_a_cancelled_task_of_asyncio_ends_it() -> None:
    """So does a Ctrl-C, which asyncio turns into that."""
    work = Endless()

    async def main() -> None:
        task = asyncio.create_task(aside(work))
        assert await asyncio.to_thread(work.begun.wait, LIMIT)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert work.ended.wait(LIMIT)
