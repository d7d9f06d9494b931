"""A thread names what it invokes, and may call it off by that name."""

from pathlib import Path
from typing import Any

import anyio
import pytest

from looms import (
    Event,
    Module,
    ReduceContext,
    Reduced,
    ReducerError,
    Started,
    State,
    cancel,
    complete,
    invoke,
    replace,
    step,
)
from looms.testing import TestClock, assert_replays, runtime

pytestmark = pytest.mark.anyio

desk = Module("desk")
ended: list[str] = []


@desk.event("asked")
class Asked(Event):
    what: str
    id: str


@desk.event("made")
class Made(Event):
    what: str


@desk.effect("make")
async def make(what: str) -> Made:
    try:
        if what.startswith("slow"):
            await anyio.sleep_forever()
    finally:
        ended.append(what)
    return Made(what=what)


class Seen(State):
    made: tuple[tuple[str, str | None, bool], ...] = ()


@desk.reducer("desk", state=Seen)
def reduce(state: Seen, event: Started[None] | Asked | Made, ctx: ReduceContext) -> Reduced[Seen]:
    match event:
        case Asked(what="cancel", id=id):
            return step(state, cancel(id))
        case Asked(what="end"):
            return step(state, complete(None))
        case Asked(what=what, id=id):
            return step(state, invoke(make, what, id=id))
        case Made(what=what):
            return replace(state, made=(*state.made, (what, ctx.effect, ctx.final)))
    return state


async def seen(run: Any) -> list[tuple[str, str | None]]:
    return [(effect.request, effect.step) for effect in (await run.inspect()).effects]


async def test_an_effect_that_is_called_off_is_cancelled_and_heard_of_no_more(path: Path, clock: TestClock) -> None:
    ended.clear()
    async with runtime([desk], path=path, clock=clock, snapshot_every=2) as rt:
        run = await rt.start(reduce, run_id="d")
        for what, id in (("slow one", "a"), ("slow two", "b"), ("quick", "c")):
            await run.signal(Asked(what=what, id=id))
        await clock.advance(0)
        assert await seen(run) == [("slow one", "a"), ("slow two", "b")]
        assert (await run.state()).made == (("quick", "c", True),)
        await run.signal(Asked(what="cancel", id="a"))
        await clock.advance(0)
        assert (await seen(run), ended) == ([("slow two", "b")], ["quick", "slow one"])
        await run.signal(Asked(what="cancel", id="c"))  # it is over: nothing happens
        await run.signal(Asked(what="quick too", id="a"))  # its name is free again
        await clock.advance(0)
        await assert_replays(run)
    async with runtime([desk], path=path, clock=clock) as rt:
        run = rt.run("d")
        await clock.advance(0)
        assert await seen(run) == [("slow two", "b")]
        assert (await run.state()).made == (("quick", "c", True), ("quick too", "a", True))
        assert [(one.effect, one.step) async for one in rt.effects("d")] == [("desk.make", "b")]
        fork = await run.fork((await run.inspect()).seq, "f")
        await fork.signal(Asked(what="cancel", id="b"))
        assert (await seen(fork), await seen(run)) == ([], [("slow two", "b")])


async def test_a_name_that_is_in_use_is_refused_and_nothing_is_appended(clock: TestClock) -> None:
    async with runtime([desk], clock=clock) as rt:
        run = await rt.start(reduce)
        await run.signal(Asked(what="slow", id="a"))
        with pytest.raises(ReducerError, match=r"invoke\(id='a'\): thread root has an outstanding effect of that id"):
            await run.signal(Asked(what="slow", id="a"))
        assert (await run.inspect()).seq == 2
        with pytest.raises(ReducerError, match="the id of an invoke"):
            await run.signal(Asked(what="slow", id=""))
