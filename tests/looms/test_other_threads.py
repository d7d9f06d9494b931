"""A runtime serves on one event loop: who calls it from elsewhere is told so, and nothing is recorded."""

import os

import anyio
import anyio.to_thread
import pytest

from looms import Event, Module, Reduced, Started, State, WrongThread
from looms.testing import runtime

box = Module("box")


@box.event("filled")
class Filled(Event):
    pass


@box.reducer("box", state=State)
def fill(state: State, event: Started[None] | Filled) -> Reduced[State]:
    return state


async def test_a_call_from_another_threads_event_loop_is_refused() -> None:
    async with runtime([box]) as rt:
        run = await rt.start(fill, run_id="b1")

        async def elsewhere() -> None:
            for call in (run.signal(Filled()), rt.start(fill), rt.publish(Filled()), run.inspect()):
                with pytest.raises(WrongThread, match="another thread"):
                    await call

        await anyio.to_thread.run_sync(anyio.run, elsewhere)
        assert [record.type async for record in run.events()] == ["looms.started"]
        assert [summary.run_id async for summary in rt.runs()] == ["b1"]


async def test_a_handler_in_a_thread_reaches_the_runtime_through_its_loop() -> None:
    async with runtime([box]) as rt:
        run = await rt.start(fill, run_id="b1")

        def in_thread() -> int | None:
            return anyio.from_thread.run(run.signal, Filled()).seq

        assert await anyio.to_thread.run_sync(in_thread) == 2


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
async def test_a_forked_child_is_refused_at_once() -> None:
    async with runtime([box]) as rt:
        run = await rt.start(fill, run_id="b1")
        child = os.fork()
        if child == 0:
            code = 1
            try:
                rt.host.check_open()
            except BaseException as error:  # noqa: BLE001 - the child must end here, whatever happens
                code = 0 if "forked" in str(error) else 2
            finally:
                os._exit(code)
        _, status = await anyio.to_thread.run_sync(os.waitpid, child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        assert (await run.signal(Filled())).seq == 2
