"""A desk that does what it is asked, and shows where it was told of it: what forks are made of."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio

import looms
from looms import (
    EffectContext,
    Event,
    Module,
    Reader,
    ReduceContext,
    Reduced,
    Retry,
    Run,
    Started,
    State,
    TimedOut,
    complete,
    emit,
    fail,
    invoke,
    replace,
    signal,
    spawn,
    step,
    wait,
)
from looms.reducers.registry import Registry
from looms.testing import TestClock, runtime
from looms.testing.runtimes import RuntimeOnTestClock
from tests.crash.audit import audit

desk = Module("desk")


@desk.event("asked")
class Asked(Event):
    what: str
    n: int = 0


@desk.event("said")
class Said(Event):
    tag: str


@desk.event("made")
class Made(Event):
    n: int


class Mood:
    """What a deploy could change."""

    bad = False
    begun: list[str] = []  # noqa: RUF012 - the ids of the effects that ran


@desk.effect("make", retry=Retry(attempts=2, backoff=5))
async def make(n: int, ctx: EffectContext) -> Made:
    Mood.begun.append(ctx.effect_id)
    if n < 0:
        await anyio.sleep_forever()
    return Made(n)


class Helping(State):
    started: bool = False


@desk.reducer("helper", state=Helping)
def helper(state: Helping, event: Started[int] | Made) -> Reduced[Helping]:
    match event:
        case Started(input=n):
            return step(replace(state, started=True), invoke(make, n))
        case Made(n=n):
            return step(state, complete(n))


class Desk(State):
    where: tuple[str, ...] = ()
    made: tuple[int, ...] = ()
    said: tuple[str, ...] = ()


@desk.reducer("desk", state=Desk)
def at_desk(
    state: Desk,
    event: Started[None] | Asked | Said | Made | TimedOut | looms.ChildCompleted | looms.EffectFailed,
    ctx: ReduceContext,
) -> Reduced[Desk]:
    state = replace(state, where=(*state.where, ctx.run_id))
    match event:
        case Asked(what="wait", n=n):
            return step(state, wait(Said, match={"tag": str(n)}, timeout=60, id=f"w{n}"))
        case Asked(what="make", n=n):
            return step(state, invoke(make, n))
        case Asked(what="spawn", n=n):
            return step(state, spawn(helper, n, id="helper"), emit(Said("spawned")))
        case Asked(what="tell", n=n):
            return step(state, signal("other", Made(n)))
        case Asked(what="raise") if Mood.bad:
            raise ValueError("in a bad mood")
        case Asked(what="complete", n=n):
            return step(state, complete(n))
        case Asked(what="fail"):
            return step(state, fail("as asked"))
        case Made(n=n):
            if Mood.bad:
                raise ValueError("in a bad mood")
            return replace(state, made=(*state.made, n))
        case Said(tag=tag):
            return replace(state, said=(*state.said, tag))
        case TimedOut(wait=id):
            return replace(state, said=(*state.said, f"nobody: {id}"))
    return state


MODULES = [desk]
CODE = Registry(MODULES)


@asynccontextmanager
async def store(path: Path, clock: TestClock | None = None, **options: Any) -> AsyncIterator[RuntimeOnTestClock]:
    """A runtime on a store of which every table is what the logs say, whenever it is left."""
    async with runtime(MODULES, path, clock, **options) as rt:
        yield rt
        await rt.clock.advance(0)
        for run_id, one in audit(path, CODE).items():
            run = rt.run(run_id)
            seen = await run.inspect()
            assert one.suspended or seen == (await run.replay_to(one.head.seq)).after
            assert (await rt.verify(run_id)).ok
            async with Reader(path, modules=MODULES) as reader:
                assert await reader.run(run_id).inspect() == seen


async def begin(rt: RuntimeOnTestClock, *asked: Event, run_id: str = "d") -> Run[Any, Any]:
    run = await rt.start(at_desk, run_id=run_id)
    for n, one in enumerate(asked):
        await run.signal(one, key=f"k{n}")
    await rt.clock.advance(0)
    return run
