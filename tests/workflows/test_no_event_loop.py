"""No event loop runs inside of a workflow: whoever asks for one is told so by name, and the host is unharmed."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
import trio

from looms import Module, NotDurable, ReducerError, Workflow
from looms.testing import TestClock, runtime
from tests.workflows.desk import Rang, Shut, desk

pytestmark = pytest.mark.anyio

Code = Callable[[Workflow], Awaitable[Any]]


async def sleeps(ctx: Workflow) -> None:
    await anyio.sleep(1)


async def gives_way(ctx: Workflow) -> None:
    await asyncio.sleep(0)


async def sleeps_by_asyncio(ctx: Workflow) -> None:
    await asyncio.sleep(1)


async def sleeps_by_trio(ctx: Workflow) -> None:
    await trio.sleep(1)


async def sets_a_limit(ctx: Workflow) -> None:
    with anyio.move_on_after(1):
        await ctx.wait(Shut)


async def sets_a_limit_by_trio(ctx: Workflow) -> None:
    with trio.move_on_after(1):
        await trio.sleep_forever()


async def begins_tasks(ctx: Workflow) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(anyio.sleep, 1)


async def begins_a_task(ctx: Workflow) -> None:
    asyncio.get_running_loop().call_soon(print)


async def waits_for_a_future(ctx: Workflow) -> None:
    await asyncio.get_running_loop().create_future()


async def waits_for_an_event(ctx: Workflow) -> None:
    await anyio.Event().wait()


async def goes_to_a_thread(ctx: Workflow) -> None:
    await anyio.to_thread.run_sync(print)


async def in_a_branch(ctx: Workflow) -> None:
    await ctx.gather(anyio.sleep(1))


async def awaits_its_own(ctx: Workflow) -> None:
    class Own:
        def __await__(self) -> Any:
            yield "something"

    await Own()


NAMES: dict[Code, str] = {
    sleeps: "sleep",
    gives_way: "sleep",
    sleeps_by_asyncio: "sleep",
    sleeps_by_trio: "sleep",
    sets_a_limit: "",
    sets_a_limit_by_trio: "",
    begins_tasks: "",
    begins_a_task: "",
    waits_for_a_future: "",
    waits_for_an_event: "",
    goes_to_a_thread: "run_sync",
    in_a_branch: "sleep",
    awaits_its_own: "Own",
}


def module_of(before: Code | None, after: Code) -> tuple[Module, Any]:
    module = Module("loops", requires=[desk])

    @module.workflow("loop")
    async def loop(ctx: Workflow) -> None:
        if before is not None:
            await before(ctx)
        await ctx.wait(Rang)
        await after(ctx)

    return module, loop


async def nothing(ctx: Workflow) -> None:
    pass


async def test_asking_for_an_event_loop_is_refused_by_name_live_and_when_played_again(
    path: Path, clock: TestClock
) -> None:
    for n, (code, name) in enumerate(NAMES.items()):
        module, workflow = module_of(None, code)
        store = path.with_suffix(f".{n}")
        async with runtime([module], path=store, clock=clock) as rt:
            run = await rt.start(workflow, run_id="r")
            refused = await error_of(run.signal(Rang()), code)
            assert isinstance(refused, NotDurable)
            assert name in refused.awaited
            assert (await run.inspect()).status == "waiting"
            with anyio.fail_after(5):  # nobody cancelled the host's own task
                await rt.start(workflow, run_id="s")
        module, _ = module_of(code, nothing)
        async with runtime([module], path=store, clock=clock) as rt:
            refused = await error_of(rt.run("r").signal(Rang()), code)
            assert isinstance(refused, NotDurable)
            report = await rt.verify("s")
            assert report.first_divergence is not None
            assert str(report.first_divergence.error).startswith("NotDurable"), code.__name__
            with anyio.fail_after(5):
                assert (await rt.run("s").inspect()).status == "waiting"


async def error_of(asking: Awaitable[Any], code: Code) -> BaseException | None:
    try:
        await asking
    except ReducerError as refused:
        return refused.__cause__
    raise AssertionError(f"{code.__name__} was not refused")


async def test_what_needs_no_event_loop_may_be_awaited_and_steps_may_have_one() -> None:
    module = Module("loops", requires=[desk])

    async def plain(n: int) -> int:
        return n + 1

    async def limited() -> str:
        with anyio.move_on_after(0):
            await anyio.sleep(1)
        return "moved on"

    @module.workflow("loop")
    async def loop(ctx: Workflow) -> list[Any]:
        return [await plain(1), await ctx.run(limited)]

    async with runtime([module]) as rt:
        assert await (await rt.start(loop)).result(timeout=5) == [2, "moved on"]
