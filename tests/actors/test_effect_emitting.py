"""What a handler emits on the way is known by its effect and its place there: a repeat is dropped."""

from pathlib import Path
from typing import Any

import anyio
import anyio.from_thread
import pytest

from looms import (
    EffectContext,
    EffectFailed,
    EffectOver,
    InvalidEvent,
    Module,
    Reduced,
    Retry,
    Started,
    State,
    UnknownEvent,
    invoke,
    replace,
    step,
    wait,
)
from looms.testing import TestClock, runtime
from tests.actors.desk import ONE, Closed, Done, Errand, Found, Progressed, log, office, running, types
from tests.actors.logged import Logged, said
from tests.actors.rows import owned
from tests.actors.test_effect_results import Happened

AGAIN = Retry(attempts=5, backoff=10, factor=1, jitter=0)


async def test_what_is_emitted_again_at_a_later_attempt_is_dropped(logged: Logged) -> None:
    async def handler(request: Errand, ctx: EffectContext) -> Done:
        for percent in (10, 20, 30)[: ctx.attempt]:
            await ctx.emit(Progressed(percent=percent))
        if ctx.attempt < 3:
            raise OSError("the line is dead")
        return Done()

    modules, desk = running(handler, retry=AGAIN)
    async with runtime(modules) as rt:
        run = await rt.start(desk, ONE, run_id="d1")
        for progress in ((10,), (10, 20), (10, 20, 30)):
            await rt.clock.advance(0)
            assert (await run.state()).progress == progress
            await rt.clock.advance(10)
        assert await types(run) == ["looms.started", *["office.progressed"] * 3, "office.done"]
        assert {record.effect_id for record in (await log(run))[1:]} == {"d1:1:0"}
    assert said(logged, "emitted otherwise than before") == []


async def test_two_equal_events_of_one_attempt_are_two_events() -> None:
    async def handler(request: Errand, ctx: EffectContext) -> Done:
        await ctx.emit(Progressed(percent=10))
        await ctx.emit(Progressed(percent=10))
        if ctx.attempt == 1:
            raise OSError("the line is dead")
        return Done()

    modules, desk = running(handler, retry=AGAIN)
    async with runtime(modules) as rt:
        run = await rt.start(desk, ONE)
        await rt.clock.advance(10)
        assert (await run.state()).progress == (10, 10)


async def test_what_was_emitted_before_a_restart_is_not_recorded_again(path: Path, clock: TestClock) -> None:
    async def handler(request: Errand, ctx: EffectContext) -> Done:
        await ctx.emit(Progressed(percent=10))
        if ctx.attempt == 1:
            await anyio.sleep_forever()
        await ctx.emit(Progressed(percent=20))
        return Done()

    modules, desk = running(handler, retry=AGAIN)
    async with runtime(modules, path, clock) as rt:
        await rt.start(desk, ONE, run_id="d1")
        await clock.advance(0)
    async with runtime(modules, path, clock, snapshot_every=1) as rt:
        await clock.advance(0)
        assert (await rt.run("d1").state()).progress == (10, 20)
        assert await types(rt.run("d1")) == ["looms.started", *["office.progressed"] * 2, "office.done"]


@pytest.mark.parametrize("restart", [False, True])
async def test_where_a_later_attempt_emits_something_else_the_first_stands_and_a_warning_says_so(
    path: Path, clock: TestClock, logged: Logged, restart: bool
) -> None:
    async def handler(request: Errand, ctx: EffectContext) -> Done:
        await ctx.emit(Progressed(percent=10))
        await ctx.emit(Progressed(percent=10 + ctx.attempt))
        if ctx.attempt == 1:
            if restart:
                await anyio.sleep_forever()
            raise OSError("the line is dead")
        await ctx.emit(Progressed(percent=50))
        return Done()

    modules, desk = running(handler, retry=AGAIN)
    async with runtime(modules, path, clock) as rt:
        await rt.start(desk, ONE, run_id="d1")
        await clock.advance(0 if restart else 10)
        if not restart:
            assert (await rt.run("d1").state()).progress == (10, 11, 50)
    async with runtime(modules, path, clock) as rt:
        await clock.advance(0)
        assert (await rt.run("d1").state()).progress == (10, 11, 50)
        assert await types(rt.run("d1")) == ["looms.started", *["office.progressed"] * 3, "office.done"]
    assert said(logged, "emitted otherwise than before") == [
        {"run_id": "d1", "effect": "errands.run", "effect_id": "d1:1:0", "position": 1, "seq": 3}
    ]


async def test_an_event_that_cannot_be_recorded_is_refused_to_the_handler_and_takes_no_place() -> None:
    refused: list[str] = []

    async def handler(request: Errand, ctx: EffectContext) -> Done:
        for percent in (10, "20", 30):
            try:
                await ctx.emit(Progressed(percent=percent))  # type: ignore[arg-type]
            except InvalidEvent as error:
                refused.append(str(error))
        with pytest.raises(UnknownEvent, match=r"elsewhere\.happened"):
            await ctx.emit(Happened())
        with pytest.raises(UnknownEvent):
            await ctx.emit("no event")  # type: ignore[arg-type]
        if ctx.attempt == 1:
            raise OSError("the line is dead")
        return Done()

    modules, desk = running(handler, retry=AGAIN)
    async with runtime(modules) as rt:
        run = await rt.start(desk, ONE)
        await rt.clock.advance(10)
        assert (await run.state()).failed == ()
        assert (await run.state()).progress == (10, 30)
        assert len(refused) == 2
        assert "$.percent" in refused[0]


async def test_a_plain_handler_emits_through_the_event_loop() -> None:
    seen: list[tuple[int, ...]] = []

    def handler(request: Errand, ctx: EffectContext) -> Done:
        for percent in (10, 20):
            anyio.from_thread.run(ctx.emit, Progressed(percent=percent))
            seen.append(anyio.from_thread.run(rt.run(ctx.run_id).state).progress)
        return Done()

    modules, desk = running(handler)
    async with runtime(modules) as rt:
        run = await rt.start(desk, ONE)
        await rt.clock.advance(0)
        assert (await run.state()).progress == (10, 20)
        assert seen == [(10,), (10, 20)]


async def test_what_is_emitted_when_the_effect_is_over_is_refused_and_changes_nothing() -> None:
    contexts: list[EffectContext] = []

    async def handler(request: Errand, ctx: EffectContext) -> Done:
        contexts.append(ctx)
        return Done()

    modules, desk = running(handler)
    async with runtime(modules) as rt:
        run = await rt.start(desk, ONE)
        await rt.clock.advance(0)
        before = await log(run)
        with pytest.raises(EffectOver, match="is over"):
            await contexts[0].emit(Progressed(percent=99))
        await run.cancel()
        with pytest.raises(EffectOver, match="is over"):
            await contexts[0].emit(Progressed(percent=99))
        assert (await log(run))[: len(before)] == before
        assert "office.progressed" not in await types(run)


async def test_events_that_are_emitted_side_by_side_are_each_recorded_once() -> None:
    async def handler(request: Errand, ctx: EffectContext) -> Done:
        async with anyio.create_task_group() as tasks:
            for percent in range(50):
                tasks.start_soon(ctx.emit, Progressed(percent=percent))
        return Done()

    modules, desk = running(handler)
    async with runtime(modules) as rt:
        run = await rt.start(desk, ONE)
        await rt.clock.advance(0)
        assert sorted((await run.state()).progress) == list(range(50))
        assert (await run.state()).done == ("",)


async def test_a_run_that_is_suspended_gets_what_was_emitted_meanwhile_once_it_is_resumed(
    path: Path, clock: TestClock
) -> None:
    async def handler(request: Errand, ctx: EffectContext) -> Done:
        for percent in (10, 20, 30):
            await ctx.emit(Progressed(percent=percent))
        if ctx.attempt < 3:
            raise OSError("the line is dead")
        return Done()

    modules, desk = running(handler, retry=AGAIN)
    reduce = desk.function

    def raising(state: Any, event: Any) -> Any:
        if isinstance(event, Progressed) and event.percent > 10:
            raise LookupError("not yet")
        return reduce(state, event)

    desk.function = raising
    async with runtime(modules, path, clock) as rt:
        await rt.start(desk, ONE, run_id="d1")
        await clock.advance(60)
        assert (await rt.run("d1").state()).progress == (10,)
    desk.function = reduce
    async with runtime(modules, path, clock) as rt:
        run = rt.run("d1")
        await run.resume()
        await clock.advance(60)
        assert (await run.state()).progress == (10, 20, 30)
        assert (await run.state()).done == ("",)
        assert owned(rt) == {}


@pytest.mark.parametrize("fails", [False, True])
async def test_what_is_emitted_into_a_full_mailbox_waits_for_room_and_what_follows_waits_behind_it(
    fails: bool,
) -> None:
    async def handler(request: Errand, ctx: EffectContext) -> Done:
        for thing in (1, 2, 3):
            await ctx.emit(Found(thing=thing))
        await ctx.emit(Progressed(percent=10))
        if fails:
            raise OSError("the line is dead")
        return Done(what="all")

    counter = Module("counter", requires=[office])
    search = counter.effect("search", retry=Retry(attempts=1))(handler)

    class Finds(State):
        seen: tuple[str, ...] = ()

    @counter.reducer("finder", state=Finds)
    def finder(
        state: Finds, event: Started[None] | Found | Progressed | Done | EffectFailed | Closed
    ) -> Reduced[Finds]:
        state = replace(state, seen=(*state.seen, type(event).__name__))
        match event:
            case Started():
                return step(state, invoke(search, ONE), wait(Found, match={"thing": 0}))
            case Closed():
                return step(state, *(wait(Found, match={"thing": thing}) for thing in (1, 2, 3)))
        return state

    async with runtime([office, counter], max_mailbox=1) as rt:
        run = await rt.start(finder, None)
        await rt.clock.advance(0)
        assert [record.payload for record in (await run.inspect()).mailbox] == [{"thing": 1}]
        assert (await run.state()).seen == ("Started",)
        await run.signal(Closed())
        await rt.clock.advance(0)
        last = "EffectFailed" if fails else "Done"
        assert (await run.state()).seen == ("Started", "Closed", "Found", "Found", "Found", "Progressed", last)
        assert (await run.inspect()).effects == ()
        assert owned(rt) == {"waits": 1, "shapes": 1}


async def test_an_answer_that_is_too_long_for_the_room_there_is_waits_and_keeps_nobody_busy() -> None:
    async def handler(request: Errand) -> list[Found]:
        return [Found(thing=1), Found(thing=2)]

    counter = Module("counter", requires=[office])
    search = counter.effect("search")(handler)

    class Finds(State):
        seen: tuple[int, ...] = ()

    @counter.reducer("finder", state=Finds)
    def finder(state: Finds, event: Started[None] | Found | Progressed | Closed) -> Reduced[Finds]:
        match event:
            case Started():
                return step(state, wait(Found, match={"thing": 0}), wait(Progressed, match={"percent": 0}))
            case Progressed():
                return step(state, invoke(search, ONE))
            case Closed():
                return step(state, *(wait(Found, match={"thing": thing}) for thing in (1, 2, 3)))
            case Found(thing=thing):
                return replace(state, seen=(*state.seen, thing))
        return state

    async with runtime([office, counter], max_mailbox=2) as rt:
        run = await rt.start(finder, None)
        await run.signal(Found(thing=3))
        await run.signal(Progressed(percent=0))
        with anyio.fail_after(10):
            await rt.clock.advance(0)  # there is room for one of the two: it comes to rest all the same
        assert [record.payload for record in (await run.inspect()).mailbox] == [{"thing": 3}]
        await run.signal(Closed())
        await rt.clock.advance(0)
        assert sorted((await run.state()).seen) == [1, 2, 3]
        assert (await run.inspect()).effects == ()


async def test_after_an_emit_that_was_cancelled_the_attempt_emits_no_more_and_the_next_one_repeats_nothing() -> None:
    async def handler(request: Errand, ctx: EffectContext) -> Done:
        with anyio.CancelScope() as scope:
            if ctx.attempt == 1:
                scope.cancel()
            await ctx.emit(Progressed(percent=10))
        await ctx.emit(Progressed(percent=20))
        return Done()

    modules, desk = running(handler, retry=AGAIN)
    async with runtime(modules) as rt:
        run = await rt.start(desk, ONE)
        await rt.clock.advance(0)
        assert (await run.state()).progress in ((), (10,))
        await rt.clock.advance(10)
        assert (await run.state()).progress == (10, 20)
        assert (await run.state()).done == ("",)
