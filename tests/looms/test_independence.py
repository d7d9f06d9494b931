"""Runs are independent: what one of them is given, or takes long for, keeps the others for a turn of it at the most."""

import time
from pathlib import Path
from typing import Any

import anyio
import pytest

from looms import Event, Module, Reduced, Run, Runtime, Started, State, complete, replace, step

crowd = Module("crowd")

FLOOD = 4_000


@crowd.event("pushed")
class Pushed(Event):
    seconds: float = 0


class Pushes(State):
    count: int = 0


@crowd.reducer("door", state=Pushes)
def door(state: Pushes, event: Started[None] | Pushed) -> Reduced[Pushes]:
    until = time.perf_counter() + (event.seconds if isinstance(event, Pushed) else 0)
    while time.perf_counter() < until:
        pass
    return replace(state, count=state.count + 1)


@crowd.reducer("short", state=Pushes)
def short(state: Pushes, event: Started[None]) -> Reduced[Pushes]:
    return step(state, complete(None))


@pytest.fixture
def told() -> list[str]:
    """Whose calls were answered, in order."""
    return []


async def push(run: Run[Any, Any], told: list[str], seconds: float = 0) -> None:
    await run.signal(Pushed(seconds))
    told.append(run.id)


async def test_a_flood_to_one_run_keeps_another_for_two_commits_at_the_most(tmp_path: Path, told: list[str]) -> None:
    async with Runtime(tmp_path / "s", modules=[crowd]) as rt:
        flooded, other = await rt.start(door, run_id="flooded"), await rt.start(door, run_id="other")
        before = [commit.number async for commit in rt.commits()][-1]
        async with anyio.create_task_group() as tasks:
            for _ in range(FLOOD):
                tasks.start_soon(push, flooded, told)
            tasks.start_soon(push, other, told)
        numbers = {"flooded": list[int](), "other": list[int]()}
        async for commit in rt.commits(after=before):
            for turn in commit.turns:
                numbers[turn.run_id].append(commit.number)
        assert numbers["other"][0] <= numbers["flooded"][0] + 1
        assert numbers["flooded"][-1] > numbers["other"][0]
        assert told.index("other") < FLOOD


async def test_a_run_that_is_slow_takes_one_thing_at_a_time_and_others_come_between(
    tmp_path: Path, told: list[str]
) -> None:
    async with Runtime(tmp_path / "s", modules=[crowd]) as rt:
        slow, other = await rt.start(door, run_id="slow"), await rt.start(door, run_id="other")
        await slow.signal(Pushed(0.005))  # from now on it is known to be
        async with anyio.create_task_group() as tasks:
            for _ in range(10):
                tasks.start_soon(push, slow, told, 0.005)
            tasks.start_soon(push, other, told)
        assert told.index("other") < 10, told
        assert (await slow.state()) == Pushes(12)


async def test_a_run_of_which_nothing_is_known_takes_few_things_before_others_come(
    tmp_path: Path, told: list[str]
) -> None:
    async with Runtime(tmp_path / "s", modules=[crowd]) as rt:
        slow, other = await rt.start(door, run_id="slow"), await rt.start(door, run_id="other")
        async with anyio.create_task_group() as tasks:
            for _ in range(30):
                tasks.start_soon(push, slow, told, 0.005)
            tasks.start_soon(push, other, told)
        assert told.index("other") < 10, told


async def test_runs_begin_and_end_beside_one_that_is_slow(tmp_path: Path, told: list[str]) -> None:
    async with Runtime(tmp_path / "s", modules=[crowd]) as rt:
        slow = await rt.start(door, run_id="slow")
        await slow.signal(Pushed(0.005))
        async with anyio.create_task_group() as tasks:
            for _ in range(20):
                tasks.start_soon(push, slow, told, 0.005)
            begun = await rt.start(short, run_id="short")
            await begun.result(timeout=30)
            assert told.count("slow") < 20
