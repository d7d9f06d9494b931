"""What was asked for and has no outcome yet is listed, with how far it is."""

from pathlib import Path

import pytest

import looms
from looms import InvalidInput, OutstandingEffect, Reader, Retry, UnknownRun
from looms.testing import TestClock, runtime
from looms.testing.clock import BEGIN
from tests.actors.desk import ONE, Done, Errand, running


async def failing(errand: Errand) -> Done:
    raise ConnectionError("no line to the shop")


async def test_an_effect_that_failed_tells_its_attempts_its_error_and_its_next_time(path: Path) -> None:
    modules, desk = running(failing, retry=Retry(attempts=3, backoff=60, jitter=0))
    async with runtime(modules, path) as rt, Reader(path) as reader:
        await rt.start(desk, ONE, run_id="d1")
        await rt.clock.advance(5)
        [effect] = [effect async for effect in rt.effects()]
        assert effect == OutstandingEffect(
            run_id="d1",
            effect_id="d1:1:0",
            effect="errands.run",
            attempts=1,
            running=False,
            held=False,
            first_at=BEGIN,
            due=BEGIN + 60_000,
            error="ConnectionError",
            message="no line to the shop",
        )
        assert [effect async for effect in reader.effects("d1")] == [effect]
        await rt.clock.advance(3600)
        assert [effect async for effect in rt.effects()] == []


async def test_effects_are_told_by_run_and_then_oldest_first_of_all_or_of_one(path: Path, clock: TestClock) -> None:
    modules, desk = running(failing, retry=Retry(attempts=9, backoff=60))
    async with runtime(modules, path, clock) as rt:
        for name, times in (("d1", 300), ("d2", 1), ("d3", 300)):
            await rt.start(desk, Errand("x", times), run_id=name)
        ids = [f"d1:1:{n}" for n in range(300)] + ["d2:1:0"] + [f"d3:1:{n}" for n in range(300)]
        assert [effect.effect_id async for effect in rt.effects()] == ids
        assert [effect.effect_id async for effect in rt.effects("d2")] == ["d2:1:0"]
        assert [effect.effect_id async for effect in rt.effects("d3")] == ids[301:]


async def test_a_forks_effects_are_told_to_be_held() -> None:
    modules, desk = running(failing, retry=Retry(attempts=9, backoff=60))
    async with runtime(modules) as rt:
        run = await rt.start(desk, ONE, run_id="d1")
        await run.fork(at=1, run_id="f1")
        [held] = [effect async for effect in rt.effects("f1")]
        assert held.held
        assert held.effect == "errands.run"


async def test_a_run_that_there_is_not_is_told() -> None:
    modules, _ = running(failing)
    async with runtime(modules) as rt:
        with pytest.raises(UnknownRun):
            [effect async for effect in rt.effects("nobody")]
        with pytest.raises(InvalidInput):
            rt.effects("")


def test_they_are_listed_without_await_too(path: Path) -> None:
    modules, desk = running(failing, retry=Retry(attempts=9, backoff=60))
    with looms.open(path, modules=modules) as rt:
        rt.start(desk, Errand("x", 300), run_id="d1")
        assert len(list(rt.effects())) == 300
