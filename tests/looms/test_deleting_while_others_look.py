"""Whoever looks at a run while it is deleted brings nothing of it back."""

from collections.abc import Awaitable
from contextlib import suppress

import anyio

from looms import Event, Module, Reduced, RunActive, RunExists, RunFinished, Started, State, UnknownRun, complete, step
from looms.testing import runtime

shelf = Module("shelf")


@shelf.event("read")
class Read(Event):
    pass


@shelf.reducer("book", state=State)
def book(state: State, event: Started[None] | Read) -> Reduced[State]:
    return step(state, complete()) if isinstance(event, Read) else state


async def test_a_run_that_is_looked_at_while_it_is_deleted_is_gone_for_all() -> None:
    async with runtime([shelf]) as rt:
        for n in range(50):
            run = await rt.start(book, run_id="b1")

            async def look() -> None:
                with suppress(UnknownRun):
                    while True:
                        await rt.run("b1").inspect()

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(look)
                await run.signal(Read())
                await run.delete()
            again = await rt.start(book, run_id="b1", exists="return")
            assert [record.type async for record in again.events()] == ["looms.started"], n
            assert [summary.run_id async for summary in rt.runs()] == ["b1"]
            await again.cancel()
            await again.delete()


async def test_a_run_may_end_go_and_come_again_in_one_commit() -> None:
    async with runtime([shelf]) as rt:
        for _ in range(20):
            run = await rt.start(book, run_id="b1", exists="return")
            async with anyio.create_task_group() as tasks:
                for call in (run.signal(Read()), run.delete(), rt.start(book, run_id="b1")):
                    tasks.start_soon(whatever_comes_of, call)
            run = await rt.start(book, run_id="b1", exists="return")
            last = [record.type async for record in run.events()][-1]
            assert (await run.inspect()).status == ("completed" if last == "shelf.read" else "waiting")
            assert [summary.run_id async for summary in rt.runs()] == ["b1"]


async def whatever_comes_of(call: Awaitable[object]) -> None:
    with suppress(RunExists, RunFinished, RunActive, UnknownRun):
        await call
