"""The clock of a test goes from one due moment to the next; when it stands again, all that was due has happened."""

from pathlib import Path
from typing import Any

import anyio
import pytest

from looms import EffectContext, Retry
from looms.testing import TestClock, runtime
from looms.testing.clock import BEGIN
from tests.actors.desk import ONE, Done, Errand, Progressed, running
from tests.looms.shop import MODULES, OPEN, Paid, log, order, till, types


def test_a_clock_begins_where_it_is_told_and_tells_the_time_without_a_runtime() -> None:
    assert TestClock().now() == BEGIN
    assert TestClock(at=5).now() == 5


async def test_a_clock_is_moved_without_a_runtime() -> None:
    clock = TestClock()
    woken: list[int] = []

    async def sleep(seconds: float) -> None:
        await clock.sleep_until(BEGIN + round(seconds * 1000))
        woken.append(clock.now() - BEGIN)

    async with anyio.create_task_group() as tasks:
        for seconds in (3, 1, 2, 1):
            tasks.start_soon(sleep, seconds)
        await anyio.wait_all_tasks_blocked()
        await clock.advance(2.5)
        await anyio.wait_all_tasks_blocked()
        assert clock.now() == BEGIN + 2_500
        assert len(woken) == 3
        await clock.advance(0.5)
    assert len(woken) == 4


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf"), "1", None, True])
async def test_a_clock_goes_forward_by_seconds_alone(seconds: Any) -> None:
    clock = TestClock()
    with pytest.raises(ValueError, match="advance"):
        await clock.advance(seconds)
    assert clock.now() == BEGIN


async def test_parts_of_milliseconds_add_up() -> None:
    clock = TestClock()
    await clock.advance(0.07)
    assert clock.now() == BEGIN + 70
    await clock.advance(0.000_1)
    assert clock.now() == BEGIN + 71


async def test_what_follows_from_what_was_due_has_happened_when_the_clock_stands(path: Path, clock: TestClock) -> None:
    seen: list[tuple[float, int]] = []

    async def handler(request: Errand, ctx: EffectContext) -> Done:
        seen.append(((clock.now() - BEGIN) / 1000, ctx.attempt))
        await ctx.emit(Progressed(percent=ctx.attempt))
        if ctx.attempt < 3:
            await clock.sleep_until(clock.now() + 5_000)
            raise OSError("the line is dead")
        return Done()

    modules, desk = running(handler, retry=Retry(backoff=10, factor=1, jitter=0))
    async with runtime([*MODULES, *modules], path, clock) as rt:
        run, waiting = await rt.start(desk, ONE), await rt.start(order, OPEN)
        await clock.advance(3_600)
        assert seen == [(0, 1), (15, 2), (30, 3)]
        assert await types(run) == ["looms.started", "office.progressed", "office.done"]
        assert [record.at - BEGIN for record in await log(waiting)] == [0, 60_000]
        assert clock.now() == BEGIN + 3_600_000


async def test_a_runtime_of_a_test_has_a_store_of_its_own_and_keeps_one_that_is_given(path: Path) -> None:
    async with runtime(MODULES) as one, runtime(MODULES) as two:
        assert one.path != two.path
        await one.start(till, OPEN, run_id="t1")
        assert [summary async for summary in two.runs()] == []
        gone = Path(one.path)
    assert not gone.exists()  # noqa: ASYNC240 - it is looked for once
    clock = TestClock()
    for n in range(3):
        async with runtime(MODULES, path, clock) as rt:
            run = await rt.start(till, OPEN, run_id="t1", exists="return")
            await run.signal(Paid())
            assert (await run.state()).payments == n + 1


async def test_what_a_test_raises_comes_out_as_it_is() -> None:
    with pytest.raises(LookupError, match="x"):
        async with runtime(MODULES):
            raise LookupError("x")


async def test_handlers_in_threads_have_ended_when_the_clock_stands() -> None:
    def handler(request: Errand) -> Done:
        return Done(what=request.what)

    modules, desk = running(handler, concurrency=2)
    async with runtime(modules) as rt:
        for n in range(10):
            run = await rt.start(desk, Errand(what=str(n), times=3))
            await rt.clock.advance(0)
            assert len((await run.state()).done) == 3
