"""Runs that are over go by themselves when they are old enough, and nothing else does."""

import math
from pathlib import Path
from typing import Any

import pytest

from looms import DAY, InvalidInput, Retention, Runtime, StoreFull
from looms.snapshots.tables import ENDED, LOG, RUNS
from looms.testing import TestClock, runtime
from tests.looms.shop import MODULES, OPEN, Closed, Open, Paid, order, till

pytestmark = pytest.mark.anyio


async def ids(rt: Runtime) -> list[str]:
    return [summary.run_id async for summary in rt.runs()]


async def fill(rt: Runtime) -> None:
    for n in range(10_000):
        run = await rt.start(order, Open(owner="x" * 5_000), run_id=f"o{n}")
        await run.signal(Paid())


async def closed(rt: Runtime, id: str) -> None:
    run = await rt.start(till, OPEN, run_id=id)
    await run.signal(Closed())


async def test_a_finished_run_goes_when_it_is_old_enough_and_not_before(path: Path, clock: TestClock) -> None:
    async with runtime(MODULES, path, clock, retention=Retention(finished=90 * DAY)) as rt:
        await closed(rt, "a")
        await rt.start(till, OPEN, run_id="open")
        await clock.advance(DAY)
        await closed(rt, "b")
        await clock.advance(89 * DAY - 1)
        assert await ids(rt) == ["a", "open", "b"]
        await clock.advance(1)
        assert await ids(rt) == ["open", "b"]
        await clock.advance(DAY)
        assert await ids(rt) == ["open"]
        with rt.view() as view:
            assert [sum(1 for _ in view.keys(table)) for table in (RUNS, LOG, ENDED)] == [1, 1, 0]


async def test_each_way_to_end_may_have_an_age_of_its_own(path: Path, clock: TestClock) -> None:
    retention = Retention(finished=10, failed=math.inf, cancelled=100)
    async with runtime(MODULES, path, clock, retention=retention) as rt:
        await closed(rt, "completed")
        cancelled = await rt.start(till, OPEN, run_id="cancelled")
        await cancelled.cancel()
        await clock.advance(10)
        assert await ids(rt) == ["cancelled"]
        await clock.advance(90)
        assert await ids(rt) == []


async def test_what_came_of_age_while_no_host_ran_goes_soon_after_the_start(path: Path, clock: TestClock) -> None:
    async with runtime(MODULES, path, clock) as rt:
        for n in range(200):
            await closed(rt, f"t{n}")
        await clock.advance(5)
    async with runtime(MODULES, path, clock) as rt:
        await clock.advance(1000)
        assert len(await ids(rt)) == 200
    async with runtime(MODULES, path, clock, retention=Retention(finished=60)) as rt:
        await clock.advance(0)
        assert await ids(rt) == []


async def test_a_run_that_ends_later_may_go_first(path: Path, clock: TestClock) -> None:
    async with runtime(MODULES, path, clock, retention=Retention(completed=1000, cancelled=70)) as rt:
        await closed(rt, "completed")
        await clock.advance(100)
        await (await rt.start(till, OPEN, run_id="cancelled")).cancel()
        await clock.advance(70)
        assert await ids(rt) == ["completed"]


async def test_a_full_store_empties_itself(path: Path, clock: TestClock) -> None:
    """Ordinary commits are refused when the store is full; what makes room goes on, and then they are not."""
    small = 2 << 20
    async with runtime(MODULES, path, clock, map_size=small, durability="relaxed") as rt:
        with pytest.raises(StoreFull, match="looms prune"):
            await fill(rt)
        n = len(await ids(rt))
    assert n > 50
    await clock.advance(60)
    async with runtime(
        MODULES, path, clock, map_size=small, durability="relaxed", retention=Retention(finished=30)
    ) as rt:
        await clock.advance(120)
        assert [id for id in await ids(rt) if id != f"o{n - 1}"] == []  # the last one may not have been over
        for m in range(n // 2):
            await rt.start(order, Open(owner="x" * 5_000), run_id=f"again{m}")


@pytest.mark.parametrize("wrong", [-1, math.nan, "90d", True])
async def test_an_age_that_is_none_is_refused(wrong: Any) -> None:
    with pytest.raises(InvalidInput, match="finished="):
        Retention(finished=wrong)


async def test_something_else_than_a_retention_is_refused(path: Path) -> None:
    with pytest.raises(InvalidInput, match="Retention"):
        Runtime(path, modules=MODULES, retention=90)  # type: ignore[arg-type]
