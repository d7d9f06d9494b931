"""A handler's place is kept by its thread until that has ended: and one whose thread never began keeps none."""

import threading

import anyio
import anyio.lowlevel

from looms.actors.threads import Threads


async def test_one_that_is_given_up_before_its_thread_begins_never_runs_and_keeps_no_place() -> None:
    ran: list[int] = []
    threads = Threads(1, lambda: None)
    for n in range(3):
        with anyio.CancelScope() as scope:
            scope.cancel()
            await threads.call(ran.append, n)
    assert (threads.abandoned, threads.waited_for) == (0, 0)
    await threads.call(ran.append, 3)
    assert ran == [3]


async def test_whenever_one_is_given_up_its_place_is_free_in_the_end() -> None:
    threads = Threads(4, lambda: None)

    def handler() -> None:
        pass

    async def given_up(turns: int) -> None:
        with anyio.CancelScope() as scope:
            tasks.start_soon(cancel, scope, turns)
            await threads.call(handler)

    async def cancel(scope: anyio.CancelScope, turns: int) -> None:
        for _ in range(turns):
            await anyio.lowlevel.checkpoint()
        scope.cancel()

    async with anyio.create_task_group() as tasks:
        for n in range(300):
            await given_up(n % 12)
    with anyio.fail_after(20):
        while threads.abandoned:  # noqa: ASYNC110 - threads that have ended tell the loop in its own time
            await anyio.sleep(0.001)
    assert threads.waited_for == 0


async def test_one_that_was_given_up_in_its_thread_keeps_its_place_until_that_ends() -> None:
    gate, begun, told = threading.Event(), threading.Event(), anyio.Event()
    threads = Threads(1, told.set)

    def handler() -> None:
        begun.set()
        gate.wait(20)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(threads.call, handler)
        await anyio.to_thread.run_sync(begun.wait)
        tasks.cancel_scope.cancel()
    assert threads.abandoned == 1
    gate.set()
    with anyio.fail_after(20):
        await told.wait()
    assert threads.abandoned == 0
