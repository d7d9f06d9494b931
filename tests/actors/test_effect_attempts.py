"""How far an effect's attempts are is on disk: a restart changes nothing, and an operator may put things right."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from looms import (
    EffectContext,
    InvalidEvent,
    Module,
    ReducerError,
    Retry,
    RunFinished,
    UnknownEffect,
    UnknownEvent,
    UnknownRun,
)
from looms.testing import TestClock, runtime
from tests.actors.desk import ONE, Closed, Done, Errand, log, running, types
from tests.actors.logged import Logged, said
from tests.actors.rows import owned, rows
from tests.actors.test_effect_results import Happened


class Failing:
    """A handler that fails at all attempts but the given one, and when it was tried."""

    def __init__(self, clock: TestClock, good: int = 1_000) -> None:
        self.clock = clock
        self.good = good
        self.begin = clock.now()
        self.tried: list[tuple[float, int]] = []

    async def handler(self, request: Errand, ctx: EffectContext) -> Done:
        self.tried.append(((self.clock.now() - self.begin) / 1000, ctx.attempt))
        if ctx.attempt < self.good:
            raise OSError(f"attempt {ctx.attempt}")
        return Done(what=request.what)


async def test_a_pending_backoff_goes_on_after_a_restart(path: Path, clock: TestClock) -> None:
    failing = Failing(clock, good=3)
    modules, desk = running(failing.handler, retry=Retry(backoff=100, jitter=0))
    async with runtime(modules, path, clock) as rt:
        await rt.start(desk, ONE, run_id="d1")
        await clock.advance(10)
    await clock.advance(30)
    async with runtime(modules, path, clock) as rt:
        await clock.advance(59)
        assert failing.tried == [(0, 1)]
        await clock.advance(1)
        assert failing.tried == [(0, 1), (100, 2)]
    async with runtime(modules, path, clock) as rt:
        await clock.advance(200)
        assert failing.tried == [(0, 1), (100, 2), (300, 3)]
        assert (await rt.run("d1").state()).done == ("shopping",)


async def test_a_backoff_that_was_over_while_nothing_ran_is_over(path: Path, clock: TestClock) -> None:
    failing = Failing(clock, good=2)
    modules, desk = running(failing.handler, retry=Retry(backoff=100, jitter=0))
    async with runtime(modules, path, clock) as rt:
        await rt.start(desk, ONE, run_id="d1")
        await clock.advance(0)
    await clock.advance(1_000)
    async with runtime(modules, path, clock) as rt:
        await clock.advance(0)
        assert failing.tried == [(0, 1), (1_000, 2)]


async def test_no_attempt_begins_after_the_give_up_time_also_when_nothing_ran_meanwhile(
    path: Path, clock: TestClock
) -> None:
    failing = Failing(clock)
    modules, desk = running(failing.handler, retry=Retry(attempts=9, backoff=10, factor=1, jitter=0, give_up=25))
    async with runtime(modules, path, clock) as rt:
        await rt.start(desk, ONE, run_id="d1")
        await clock.advance(10)
    await clock.advance(1_000)
    async with runtime(modules, path, clock) as rt:
        await clock.advance(0)
        assert failing.tried == [(0, 1), (10, 2)]
        (failed,) = (await rt.run("d1").state()).failed
        assert (failed.error, failed.message, failed.attempts) == ("OSError", "attempt 2", 2)


async def test_no_attempt_begins_after_the_give_up_time_also_when_it_had_to_wait_for_its_place(
    clock: TestClock, path: Path
) -> None:
    tried = []
    gate = anyio.Event()

    async def handler(request: Errand, ctx: EffectContext) -> Done:
        tried.append((request.what, ctx.attempt))
        if request.what == "a" and ctx.attempt == 1:
            raise OSError("the line is dead")
        await gate.wait()
        return Done()

    modules, desk = running(handler, concurrency=1, retry=Retry(backoff=10, jitter=0, give_up=25))
    async with runtime(modules, path, clock) as rt:
        for name in "ab":
            await rt.start(desk, Errand(what=name), run_id=name)
        await clock.advance(60)
        gate.set()
        await clock.advance(0)
        assert tried == [("a", 1), ("b", 1)]
        (failed,) = (await rt.run("a").state()).failed
        assert (failed.error, failed.attempts) == ("OSError", 1)


async def test_an_attempt_that_was_cut_off_after_the_last_failure_is_told_as_what_it_was(
    path: Path, clock: TestClock
) -> None:
    async def handler(request: Errand, ctx: EffectContext) -> Done:
        if ctx.attempt == 1:
            raise OSError("the line is dead")
        await anyio.sleep_forever()
        return Done()

    modules, desk = running(handler, retry=Retry(attempts=2, backoff=1))
    async with runtime(modules, path, clock) as rt:
        await rt.start(desk, ONE, run_id="d1")
        await clock.advance(2)
    async with runtime(modules, path, clock) as rt:
        await clock.advance(0)
        (failed,) = (await rt.run("d1").state()).failed
        assert (failed.error, failed.attempts) == ("Interrupted", 2)


async def test_todays_settings_hold_for_an_effect_that_was_asked_for_before(path: Path, clock: TestClock) -> None:
    failing = Failing(clock)
    modules, desk = running(failing.handler, retry=Retry(attempts=9, backoff=10, factor=1, jitter=0))
    async with runtime(modules, path, clock) as rt:
        await rt.start(desk, ONE, run_id="d1")
        await clock.advance(20)
    modules, _ = running(failing.handler, retry=Retry(attempts=2))
    async with runtime(modules, path, clock) as rt:
        await clock.advance(60)
        assert failing.tried == [(0, 1), (10, 2), (20, 3)]
        (failed,) = (await rt.run("d1").state()).failed
        assert (failed.message, failed.attempts) == ("attempt 3", 3)


async def test_an_effect_whose_module_is_gone_stays_outstanding_and_runs_when_it_is_back(
    path: Path, clock: TestClock, logged: Logged
) -> None:
    tried = []

    async def handler(request: Errand, ctx: EffectContext) -> Done:
        tried.append((ctx.effect_id, ctx.attempt))
        if ctx.attempt == 1:
            await anyio.sleep_forever()
        return Done()

    modules, desk = running(handler)
    office, _, counters = modules
    async with runtime(modules, path, clock) as rt:
        await rt.start(desk, ONE, run_id="d1")
        await clock.advance(0)
    without = Module("desk", requires=[office])
    without.definitions |= counters.definitions
    async with runtime([office, without], path, clock) as rt:
        run = rt.run("d1")
        await clock.advance(1_000)
        assert [effect.id for effect in (await run.inspect()).effects] == ["d1:1:0"]
        assert (await run.inspect()).status == "running"
        await run.retry_effect("d1:1:0")
        await run.signal(Done(what="by the way"))
        await clock.advance(1_000)
        (told,) = said(logged, "effect missing")
        assert (told["effect"], told["outstanding"]) == ("errands.run", 1)
        assert "errands.run is an effect of" in told["reason"]
    async with runtime(modules, path, clock) as rt:
        await clock.advance(0)
        assert tried == [("d1:1:0", 1), ("d1:1:0", 2)]
        assert (await rt.run("d1").state()).done == ("by the way", "")


async def test_an_effect_whose_module_is_gone_can_be_settled(path: Path, clock: TestClock) -> None:
    modules, desk = running(Failing(clock).handler, retry=Retry(backoff=10))
    office, _, counters = modules
    async with runtime(modules, path, clock) as rt:
        await rt.start(desk, ONE, run_id="d1")
    without = Module("desk", requires=[office])
    without.definitions |= counters.definitions
    async with runtime([office, without], path, clock) as rt:
        await rt.run("d1").settle_effect("d1:1:0", Done(what="by hand"))
    async with runtime(modules, path, clock) as rt:
        await clock.advance(1_000)
        assert (await rt.run("d1").state()).done == ("by hand",)
        assert owned(rt) == {}


# By hand


async def test_an_operator_has_an_effect_tried_now_and_the_count_goes_on(path: Path, clock: TestClock) -> None:
    failing = Failing(clock, good=3)
    modules, desk = running(failing.handler, retry=Retry(backoff=1_000, jitter=0))
    async with runtime(modules, path, clock) as rt:
        run = await rt.start(desk, ONE, run_id="d1")
        await clock.advance(1)
        await run.retry_effect("d1:1:0")
        await clock.advance(0)
        assert failing.tried == [(0, 1), (1, 2)]
        await run.retry_effect("d1:1:0")
    async with runtime(modules, path, clock) as rt:
        await clock.advance(0)
        assert failing.tried == [(0, 1), (1, 2), (1, 3)]
        assert (await rt.run("d1").state()).done == ("shopping",)


async def test_to_retry_an_effect_that_is_running_changes_nothing(path: Path, clock: TestClock) -> None:
    gate, tried = anyio.Event(), []

    async def handler(request: Errand, ctx: EffectContext) -> Done:
        tried.append(ctx.attempt)
        await gate.wait()
        return Done()

    modules, desk = running(handler)
    async with runtime(modules, path, clock) as rt:
        run = await rt.start(desk, ONE, run_id="d1")
        await clock.advance(0)
        await run.retry_effect("d1:1:0")
        await clock.advance(10)
        gate.set()
        await clock.advance(0)
        assert tried == [1]
        assert await types(run) == ["looms.started", "office.done"]


async def test_an_operator_settles_an_effect_and_its_handler_is_stopped(path: Path, clock: TestClock) -> None:
    ended = []

    async def handler(request: Errand, ctx: EffectContext) -> Done:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append(ctx.effect_id)
        return Done()

    modules, desk = running(handler)
    async with runtime(modules, path, clock) as rt:
        run = await rt.start(desk, Errand(times=3), run_id="d1")
        await clock.advance(0)
        await run.settle_effect("d1:1:1", Done(what="a"), Done(what="b"))
        await run.settle_effect("d1:1:2")
        await clock.advance(0)
        assert ended == ["d1:1:1", "d1:1:2"]
        assert (await run.state()).done == ("a", "b")
        assert [effect.id for effect in (await run.inspect()).effects] == ["d1:1:0"]
        settled = (await log(run))[1:]
        assert [(r.type, r.effect_id, r.final) for r in settled] == [
            ("office.done", "d1:1:1", False),
            ("office.done", "d1:1:1", True),
            ("looms.effect_completed", "d1:1:2", True),
        ]
        for over in ("d1:1:1", "d1:1:2"):
            with pytest.raises(UnknownEffect, match="not outstanding"):
                await run.settle_effect(over, Done())
            with pytest.raises(UnknownEffect, match="not outstanding"):
                await run.retry_effect(over)


NO_EFFECT = ["", "x", "d1", "d1:1", "d1:1:", "d1:1:1", "d1:01:0", "d1:1:00", "d1:-1:0", "d1:2:0", "d2:1:0", "d1:1:0:0"]


@pytest.mark.parametrize("id", [*NO_EFFECT, f"d1:{10**30}:0", f"d1:1:{2**40}", "d1:\u0661:0", "d1:1:0\n", None, 5])
async def test_an_id_that_is_no_outstanding_effect_of_the_run_is_unknown(id: Any, clock: TestClock) -> None:
    modules, desk = running(Failing(clock).handler, retry=Retry(backoff=10))
    async with runtime(modules, clock=clock) as rt:
        run = await rt.start(desk, ONE, run_id="d1")
        await rt.start(desk, ONE, run_id="d2")
        await clock.advance(0)
        before = rows(rt), await run.inspect()
        calls: list[Callable[[], Any]] = [lambda: run.retry_effect(id), lambda: run.settle_effect(id, Done())]
        for call in calls:
            with pytest.raises(UnknownEffect):
                await call()
        assert (rows(rt), await run.inspect()) == before
        for unknown in (rt.run("nobody").retry_effect, rt.run("nobody").settle_effect):
            with pytest.raises(UnknownRun):
                await unknown("nobody:1:0")


async def test_what_settles_an_effect_is_checked_like_a_signal(clock: TestClock) -> None:
    modules, desk = running(Failing(clock).handler, retry=Retry(backoff=10))
    reduce = desk.function

    def picky(state: Any, event: Any) -> Any:
        if isinstance(event, Done) and event.what == "no":
            raise LookupError("not that")
        return reduce(state, event)

    desk.function = picky
    async with runtime(modules, clock=clock) as rt:
        run = await rt.start(desk, ONE, run_id="d1")
        await clock.advance(0)
        before = rows(rt), await log(run), await run.inspect()
        with pytest.raises(InvalidEvent, match=r"\$\.what"):
            await run.settle_effect("d1:1:0", Done(what=5))  # type: ignore[arg-type]
        with pytest.raises(UnknownEvent):
            await run.settle_effect("d1:1:0", Happened())
        with pytest.raises(ReducerError, match="not that"):
            await run.settle_effect("d1:1:0", Done(), Done(what="no"))
        assert (rows(rt), await log(run), await run.inspect()) == before
        await run.signal(Closed())
        with pytest.raises((RunFinished, UnknownEffect)):
            await run.settle_effect("d1:1:0", Done())


# Ids


ODD = ["a", "a:1", "a:1:0", "a:1:0:1:0", "a:1:1", "a/1", "a\n", "a\0:1:0", ":", "::", ":1:0"]


async def test_no_two_effects_of_a_store_share_an_id_and_each_is_found_by_its_own(path: Path, clock: TestClock) -> None:
    seen: list[str] = []

    async def handler(request: Errand, ctx: EffectContext) -> Done:
        seen.append(ctx.effect_id)
        await anyio.sleep_forever()
        return Done()

    modules, desk = running(handler)
    async with runtime(modules, path, clock) as rt:
        for run_id in ODD:
            await rt.start(desk, Errand(times=2), run_id=run_id)
        await clock.advance(0)
        first = sorted(seen)
        assert len(set(first)) == len(first) == 2 * len(ODD)
    seen.clear()
    async with runtime(modules, path, clock) as rt:
        await clock.advance(0)
        assert sorted(seen) == first
        for run_id in ODD:
            effects = (await rt.run(run_id).inspect()).effects
            assert [effect.id for effect in effects] == [f"{run_id}:1:0", f"{run_id}:1:1"]
            await rt.run(run_id).settle_effect(effects[1].id, Done(what=effects[1].id))
        for run_id in ODD:
            assert (await rt.run(run_id).state()).done == (f"{run_id}:1:1",)


async def test_a_run_that_takes_the_id_of_one_that_was_deleted_has_attempts_of_its_own(
    path: Path, clock: TestClock
) -> None:
    tried: list[tuple[str, int]] = []

    async def handler(request: Errand, ctx: EffectContext) -> Done:
        tried.append((request.what, ctx.attempt))
        raise OSError("the line is dead")

    modules, desk = running(handler, retry=Retry(backoff=10))
    async with runtime(modules, path, clock) as rt:
        run = await rt.start(desk, Errand(what="first"), run_id="d1")
        await clock.advance(0)
        await run.cancel()
        await run.delete()
        run = await rt.start(desk, Errand(what="second"), run_id="d1")
        await clock.advance(0)
        assert tried == [("first", 1), ("second", 1)]
        assert [effect.request for effect in (await run.inspect()).effects] == [Errand(what="second")]


async def test_times_beyond_all_calendars_hurt_nobody(path: Path, clock: TestClock) -> None:
    failing = Failing(clock)
    forever = Retry(attempts=9, backoff=1e308, factor=1e300, max_backoff=1e308, give_up=1e308)
    modules, desk = running(failing.handler, retry=forever, timeout=1e308)
    async with runtime(modules, path, clock) as rt:
        run = await rt.start(desk, ONE, run_id="d1")
        await clock.advance(1_000)
        assert failing.tried == [(0, 1)]
        await run.retry_effect("d1:1:0")
        await clock.advance(0)
        assert len(failing.tried) == 2
    async with runtime(modules, path, clock) as rt:
        await clock.advance(1_000)
        assert len(failing.tried) == 2
        await rt.run("d1").cancel()
        assert owned(rt) == {}
