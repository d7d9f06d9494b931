"""A clock that is set an hour forward or back: nothing happens before its time as the clock is read, nothing is lost or
happens twice, and no run's records go back in time."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from looms import Runtime
from looms.actors import clock as clocks
from looms.actors.clock import SystemClock
from tests.crash.faults import PATIENCE
from tests.crash.works import Asked, clerk, desk, modules, noted

HOUR = 3_600_000  # milliseconds


class SetClock(SystemClock):
    """The machine's clock, which somebody sets."""

    def __init__(self) -> None:
        self.set_by = 0

    def now(self) -> int:
        return super().now() + self.set_by


@pytest.fixture(autouse=True)
def looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the clock looked at again soon: once a minute is too seldom for a test."""
    monkeypatch.setattr(clocks, "_LONGEST", 0.005)


@asynccontextmanager
async def serving(store: Path, clock: SetClock) -> AsyncIterator[Runtime]:
    with anyio.fail_after(PATIENCE):
        async with Runtime(store, modules=modules, clock=clock) as rt:
            yield rt


async def fired(rt: Runtime, *run_ids: str) -> list[str]:
    """Wait for these to go on after their sleep; returns all that have, in the order of the commits."""
    more = rt.next_commit()
    while any([(await rt.run(one).inspect()).seq == 1 for one in run_ids]):
        await more.wait()
        more = rt.next_commit()
    return [turn.run_id async for commit in rt.commits() for turn in commit.turns if turn.first == 2]


async def times(rt: Runtime, run_id: str) -> list[int]:
    return [record.at async for record in rt.run(run_id).events()]


async def test_an_hour_forward_and_back_and_forward_again(store: Path) -> None:
    clock = SetClock()
    async with serving(store, clock) as rt:
        began = clock.now()
        for minutes in (90, 30, 10, 20):
            await rt.start(clerk, 60 * minutes, run_id=f"{minutes}")
        clock.set_by += HOUR
        assert await fired(rt, "10", "20", "30") == ["10", "20", "30"]
        clock.set_by -= HOUR
        await rt.run("30").cancel("it goes on, though the clock is behind")
        await anyio.sleep(0.05)
        assert await fired(rt) == ["10", "20", "30"]
    async with serving(store, clock) as rt:  # the next host finds the same
        clock.set_by += 2 * HOUR
        assert await fired(rt, "90") == ["10", "20", "30", "90"]
        for minutes in (90, 30, 10, 20):
            _, after, *rest = await times(rt, f"{minutes}")
            assert after >= began + 60_000 * minutes
            assert rest == sorted([after, *rest])[1:]
            assert len(rest) == (minutes == 30)


async def test_what_is_due_in_a_moment_waits_for_its_time_when_the_clock_is_set_back(store: Path) -> None:
    clock = SetClock()
    async with serving(store, clock) as rt:
        run = await rt.start(desk, 0, run_id="d")
        clock.set_by -= HOUR
        await run.signal(Asked(1, "sleep"), Asked(2, "wait", "x"))
        asked = (await times(rt, "d"))[-1]
        await anyio.sleep(0.1)
        # A record is never earlier than the one before it, so what it asks for is due an hour from now.
        assert (await run.inspect()).seq == 3
        clock.set_by += HOUR
        more = rt.next_commit()
        while (await run.inspect()).waits:
            await more.wait()
            more = rt.next_commit()
        assert (await run.state()).counts == {"Asked": 2, "TimedOut": 2}
        assert min((await times(rt, "d"))[3:]) >= asked + 30


@pytest.mark.parametrize("set_by", [HOUR, -HOUR])
async def test_effects_are_recorded_once_each_whatever_the_clock_says(store: Path, ledger: Path, set_by: int) -> None:
    clock = SetClock()
    async with serving(store, clock) as rt, anyio.create_task_group() as tasks:
        run = await rt.start(desk, 0, run_id="d")

        async def jump() -> None:
            for _ in range(20):
                clock.set_by = set_by - clock.set_by  # there and back
                await anyio.sleep(0.003)
            clock.set_by = max(set_by, 0)

        tasks.start_soon(jump)
        for n in range(12):
            await run.signal(Asked(n, "stamp"))
        more = rt.next_commit()
        while (await run.inspect()).effects:
            await more.wait()
            more = rt.next_commit()
        records = [record async for record in run.events()]
        outcomes = [record.effect_id for record in records if record.final]
        assert len(outcomes) == len(set(outcomes)) == 12
        assert {id for id, _ in noted(ledger)} == set(outcomes)
        assert [record.at for record in records] == sorted(record.at for record in records)
