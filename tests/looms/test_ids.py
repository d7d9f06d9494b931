"""Ids are text of 1 to 255 bytes of UTF-8. All else is refused before anything is written; all of that works."""

from collections.abc import Awaitable, Callable
from enum import Enum
from pathlib import Path
from typing import Any

import msgspec
import pytest

from looms import (
    ChildCompleted,
    EffectContext,
    Event,
    InvalidInput,
    Module,
    Reader,
    Reduced,
    ReducerError,
    RunExists,
    Runtime,
    Started,
    State,
    TimedOut,
    UnknownRun,
    cancel,
    complete,
    invoke,
    replace,
    signal,
    sleep,
    spawn,
    step,
    wait,
)
from looms.testing import TestClock, runtime
from tests.actors.rows import owned, rows
from tests.looms.shop import MODULES, OPEN, Paid, log, nothing_changes, till


class Name(str, Enum):  # noqa: UP042 - not a StrEnum: what people had before
    ONE = "one"


NO_IDS = ["", "x" * 256, "é" * 128, "🔑" * 64, "\ud800", "a\udfffb", 5, b"x", True, ("x",), Name.ONE]
IDS = [
    "x",
    " ",
    "  two blanks  ",
    "\0",
    "a\0b",
    "\n",
    "../x",
    "/etc/passwd",
    "a:b/c",
    "a:1:0",
    "root",
    "looms",
    "-x",
    "--json",
    "🔑",
    "e\u0301",
    "é",
    "İ",
    "\x1b[31mred",
    "'; drop table runs; --",
    "x" * 255,
    "é" * 127,
]


@pytest.mark.parametrize("id", [None, *NO_IDS])
async def test_what_is_no_id_is_refused_with_the_rule_and_nothing_is_written(id: Any) -> None:
    rule = "1 to 255 bytes of UTF-8"
    async with runtime(MODULES) as rt:
        run = await rt.start(till, OPEN, run_id="t1")
        calls: list[Callable[[], Awaitable[Any]]] = []
        if id is not None:
            calls = [
                lambda: rt.start(till, OPEN, run_id=id),
                lambda: rt.start(till, OPEN, run_id=id, exists="return"),
                lambda: run.signal(Paid(), key=id),
                lambda: rt.publish(Paid(), key=id),
                lambda: rt.publish(Paid(), key=id, retain=60),
            ]
        async with nothing_changes(rt):
            for call in calls:
                with pytest.raises(InvalidInput, match=rule):
                    await call()
            with pytest.raises(InvalidInput, match=rule):
                rt.run(id)
            async with Reader(rt.path, modules=MODULES) as reader:
                with pytest.raises(InvalidInput, match=rule):
                    reader.run(id)


@pytest.mark.parametrize("id", NO_IDS)
def test_what_is_no_id_is_refused_in_an_instruction(id: Any) -> None:
    makers: list[Callable[[], Any]] = [
        lambda: wait(Paid, id=id),
        lambda: sleep(1, id=id),
        lambda: spawn(till, OPEN, id=id),
        lambda: signal(id, Paid()),
    ]
    for make in makers:
        with pytest.raises(InvalidInput, match="1 to 255 bytes of UTF-8"):
            make()


house = Module("house")


class Give(msgspec.Struct, frozen=True):
    id: str


@house.event("given")
class Given(Event):
    id: str


class Rooms(State):
    seen: tuple[str, ...] = ()


@house.effect("ask")
async def ask(request: Give, ctx: EffectContext) -> Given:
    return Given(id=f"{request.id} {ctx.effect_id}")


@house.reducer("room", state=Rooms)
def room(state: Rooms, event: Started[Give]) -> Reduced[Rooms]:
    return step(state, complete(event.input.id))


@house.reducer("hall", state=Rooms)
def hall(state: Rooms, event: Started[Give] | Given | TimedOut | ChildCompleted | Paid) -> Reduced[Rooms]:
    match event:
        case Started(input=Give(id=id)):
            short = id[:100]  # a child's whole id, with its parent's, has to be an id
            return step(
                state,
                invoke(ask, Give(id=id)),
                spawn(room, Give(id=id), id=short),
                wait(Paid, id=id, group=id),
                sleep(60, id=f"{short}!"),
                cancel(f"{short}!"),
                sleep(30, id=f"{short}?"),
            )
        case Given(id=told) | TimedOut(wait=told) | ChildCompleted(thread=told):
            return replace(state, seen=(*state.seen, told))
        case Paid():
            return replace(state, seen=(*state.seen, "paid"))


@pytest.mark.parametrize("id", IDS)
async def test_every_text_of_the_right_length_works_everywhere(path: Path, clock: TestClock, id: str) -> None:
    modules = [*MODULES, house]
    async with runtime(modules, path, clock, snapshot_every=2) as rt:
        run = await rt.start(hall, Give(id=id), run_id=id)
        assert run.id == id
        await clock.advance(0)
        seen = {f"root/{id[:100]}", f"{id} {id}:1:0"}
        assert set((await run.state()).seen) == seen
        assert [wait.id for wait in (await run.inspect()).waits] == [id, f"{id[:100]}?"]
        assert [record.effect_id for record in await log(run) if record.effect_id] == [f"{id}:1:0"]
        with pytest.raises(RunExists):
            await rt.start(hall, Give(id=id), run_id=id)
    async with runtime(modules, path, clock, snapshot_every=2) as rt:
        run = rt.run(id)
        await clock.advance(30)
        assert (await rt.publish(Paid())).runs == [id]
        seen |= {f"{id[:100]}?", "paid"}
        assert set((await run.state()).seen) == seen
        assert [summary.run_id async for summary in rt.runs()] == [id]
        assert {turn.run_id async for commit in rt.commits() for turn in commit.turns} == {id}
        last = (await log(run))[-1].seq
        assert (await run.replay_to(last)).after == await run.inspect()
        assert {(await run.snapshot(snapshot.seq)).run_id async for snapshot in run.snapshots()} == {id}
        async with Reader(path, modules=modules) as reader:
            assert set((await reader.run(id).state()).seen) == seen
        assert (await rt.start(hall, Give(id=id), run_id=id, exists="return")).id == id
        assert owned(rt) == {}
        await run.cancel()
        await run.delete()
        await clock.advance(0)
        assert rows(rt) == {}


async def test_ids_that_look_alike_are_apart() -> None:
    async with runtime(MODULES) as rt:
        for n, id in enumerate(IDS):
            await (await rt.start(till, OPEN, run_id=id)).signal(Paid(amount=n))
        for n, id in enumerate(IDS):
            assert (await rt.run(id).state()).total == n
        assert [summary.run_id async for summary in rt.runs()] == IDS


async def test_a_child_whose_whole_id_would_be_too_long_is_refused() -> None:
    nest = Module("nest", requires=MODULES)

    @nest.reducer("deep", state=Rooms)
    def deep(state: Rooms, event: Started[int]) -> Reduced[Rooms]:
        return step(state, spawn(deep, event.input - 1, id="x" * 100)) if event.input else state

    async with runtime([*MODULES, nest]) as rt:
        await rt.start(deep, 2)
        with pytest.raises(ReducerError, match="255 bytes"):
            await rt.start(deep, 3, run_id="d3")
        with pytest.raises(UnknownRun):
            await rt.run("d3").inspect()


async def test_runs_without_an_id_get_ids_that_sort_by_their_time(path: Path, clock: TestClock) -> None:
    ids = []
    async with runtime(MODULES, path, clock) as rt:
        for _ in range(50):
            ids.append((await rt.start(till, OPEN)).id)
            await clock.advance(0.001)
    assert ids == sorted(set(ids))


async def test_every_call_on_a_run_that_is_not_there_says_so_at_once(path: Path) -> None:
    async with Runtime(path, modules=MODULES) as rt:
        run = rt.run("nobody")
        calls: list[Callable[[], Awaitable[Any]]] = [
            lambda: run.signal(Paid()),
            lambda: run.signal(Paid(), key="k"),
            lambda: run.result(),
            lambda: run.result(timeout=0),
            lambda: run.inspect(),
            lambda: run.state(),
            lambda: run.replay_to(1),
            lambda: run.snapshot(1),
            lambda: anext(run.events()),
            lambda: anext(run.events(follow=True)),
            lambda: anext(run.snapshots()),
            lambda: run.cancel(),
            lambda: run.resume(),
            lambda: run.delete(),
            lambda: run.retry_effect("nobody:1:0"),
            lambda: run.settle_effect("nobody:1:0", Paid()),
        ]
        for call in calls:
            with pytest.raises(UnknownRun, match="nobody"):
                await call()
        assert [commit async for commit in rt.commits()] == []
        assert rows(rt) == {}
