"""Code changes between two openings of a store: what is gone is held until it is back, what is new folds the past."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from looms import (
    Definition,
    Event,
    Module,
    ModuleError,
    Reader,
    Reduced,
    RunSuspended,
    Runtime,
    Started,
    State,
    TimedOut,
    UnknownRun,
    complete,
    replace,
    sleep,
    step,
    wait,
)
from looms.testing import TestClock, runtime
from tests.actors.logged import Logged, said
from tests.actors.rows import owned
from tests.looms.shop import MODULES, OPEN, Closed, Paid, everything, log, till, types

events = Module("events")


@events.event("counted")
class Counted(Event):
    by: int = 1


@events.event("nudged")
class Nudged(Event):
    pass


class Count(State):
    total: int = 0
    naps: int = 0


class CountAndMore(State):
    total: int = 0
    naps: int = 0
    highest: int = 0


class CountOfText(State):
    total: str = ""
    naps: int = 0


class Counter:
    """A reducer of the same name in several versions of the code, that counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def code(
        self,
        state: type[Any] = Count,
        name: str = "counter",
        version: int = 1,
        add: Callable[[Any, int], Any] | None = None,
    ) -> tuple[list[Module], Definition[Any, None, Any]]:
        """The modules, and the definition."""
        module = Module("counting", requires=[events])

        @module.reducer(name, state=state, input=type(None), version=version)
        def counter(state: Any, event: Started[None] | Counted | Nudged | TimedOut) -> Reduced[Any]:
            self.calls += 1
            match event:
                case Started():
                    return step(state, sleep(60, id="nap"), wait(Nudged, id="nudge"))
                case Counted(by=by):
                    return add(state, by) if add else replace(state, total=state.total + by)
                case TimedOut():
                    return replace(state, naps=state.naps + 1)
                case Nudged():
                    return step(state, complete(state.total))

        return [events, module], counter


# Gone


async def test_a_run_whose_definition_is_gone_is_held_with_its_timers_until_it_is_back(
    path: Path, clock: TestClock, logged: Logged
) -> None:
    counter = Counter()
    modules, definition = counter.code()
    async with runtime([*MODULES, *modules], path, clock) as rt:
        await rt.start(definition, None, run_id="c1")
        await rt.start(definition, None, run_id="c2")
        await rt.start(till, OPEN, run_id="t1")
        before = await log(rt.run("c1"))
    renamed, _ = counter.code(name="countr")
    async with runtime([*MODULES, *renamed], path, clock) as rt:
        (missing,) = said(logged, "definition missing")
        assert (missing["definition"], missing["runs"]) == ("counting.counter", 2)
        assert "counting.countr" in missing["reason"]
        run = rt.run("c1")
        inspected = await run.inspect()
        assert inspected.status == "suspended"
        assert "counting.countr" in (inspected.error or "")
        assert [wait.id for wait in inspected.waits] == ["nap", "nudge"]
        for refused in (run.signal(Counted()), run.result()):
            with pytest.raises(RunSuspended, match=r"counting\.counter"):
                await refused
        assert (await rt.publish(Nudged())).runs == ["c1", "c2"]
        await clock.advance(1_000)
        assert await log(run) == before
        assert {s.run_id: s.status async for s in rt.runs()} == {"c1": "suspended", "c2": "suspended", "t1": "waiting"}
        for status, expected in (("suspended", ["c1", "c2"]), ("waiting", ["t1"]), ("running", [])):
            assert [s.run_id async for s in rt.runs(status=status)] == expected
        assert [s.run_id async for s in rt.runs(definition="counting.counter", status="suspended")] == ["c1", "c2"]
        assert [s.run_id async for s in rt.runs(status="suspended", limit=1)] == ["c1"]
        await run.resume()
        assert (await run.inspect()).status == "suspended"
        assert (await rt.run("t1").signal(Paid())).seq == 2
        async with Reader(path, modules=[*MODULES, *renamed]) as reader:
            assert [s.run_id async for s in reader.runs(status="suspended")] == ["c1", "c2"]
            assert (await reader.run("c1").inspect()).status == "suspended"
        await rt.run("c2").cancel("no more")
        assert (await rt.run("c2").inspect()).status == "cancelled"
    async with runtime([*MODULES, *modules], path, clock) as rt:
        await clock.advance(0)
        run = rt.run("c1")
        assert (await run.inspect()).status == "completed"
        assert await types(rt.run("c2")) == ["looms.started", "looms.cancelled"]
        assert sorted((await types(run))[1:]) in (["events.nudged"], ["events.nudged", "looms.timed_out"])
        assert owned(rt) == {}


async def test_timers_of_runs_whose_definition_is_gone_fire_when_it_is_back(path: Path, clock: TestClock) -> None:
    modules, definition = Counter().code()
    async with runtime(modules, path, clock) as rt:
        await rt.start(definition, None, run_id="c1")
    async with runtime(MODULES, path, clock) as rt:
        await rt.start(till, OPEN, run_id="t1")
        await clock.advance(3_600)
        assert await types(rt.run("c1")) == ["looms.started"]
    await clock.advance(3_600)
    async with runtime([*MODULES, *modules], path, clock) as rt:
        await clock.advance(0)
        assert await types(rt.run("c1")) == ["looms.started", "looms.timed_out"]
        assert (await rt.run("c1").state()).naps == 1
        await clock.advance(3_600)
        assert (await rt.run("c1").state()).naps == 1


async def test_a_strict_runtime_refuses_to_open_and_says_what_is_missing(path: Path, clock: TestClock) -> None:
    modules, definition = Counter().code()
    async with runtime(modules, path, clock) as rt:
        for n in range(3):
            await rt.start(definition, None, run_id=f"c{n}")
        before = await everything(rt)
    renamed, _ = Counter().code(name="countr")
    for _ in range(2):
        with pytest.raises(ModuleError, match=r"3 of .*counting\.counter.*counting\.countr"):
            async with runtime(renamed, path, clock, strict=True):
                pass
    async with runtime(modules, path, clock, strict=True) as rt:
        assert await everything(rt) == before
        for n in range(3):
            await rt.run(f"c{n}").signal(Nudged())
    async with runtime(renamed, path, clock, strict=True) as rt:
        assert [s.status async for s in rt.runs()] == ["completed"] * 3


async def test_a_run_that_is_over_is_shown_also_without_its_code(path: Path, clock: TestClock) -> None:
    modules, definition = Counter().code()
    async with runtime(modules, path, clock) as rt:
        run = await rt.start(definition, None, run_id="c1")
        await run.signal(Counted(by=5), Nudged())
    async with runtime(MODULES, path, clock) as rt:
        run = rt.run("c1")
        inspected = await run.inspect()
        assert (inspected.status, inspected.output) == ("completed", 5)
        assert [record.payload for record in await log(run)] == [{"input": None}, {"by": 5}, {}]
        await run.delete()
        with pytest.raises(UnknownRun):
            await run.inspect()


async def test_an_event_that_is_gone_suspends_no_run_that_does_not_need_it(path: Path, clock: TestClock) -> None:
    old = Module("old")

    @old.event("said")
    class Said(Event):
        text: str

    async with runtime([*MODULES, old], path, clock) as rt:
        run = await rt.start(till, OPEN, run_id="t1")
        await run.signal(Said(text="hello"))
    async with runtime(MODULES, path, clock) as rt:
        run = rt.run("t1")
        (kept,) = (await run.inspect()).mailbox
        assert (kept.type, kept.payload, kept.event) == ("old.said", {"text": "hello"}, None)
        await run.signal(Paid(), Closed())
        assert await run.result() == 1


async def test_two_classes_under_one_name_are_refused(path: Path) -> None:
    one, two = Module("same"), Module("same")
    with pytest.raises(ModuleError, match="same"):
        Runtime(path, modules=[one, two])


async def test_only_the_registered_name_is_stored_so_a_class_may_move(path: Path, clock: TestClock) -> None:
    def modules(nested: bool) -> tuple[list[Module], type[Any], Definition[Any, Any, Any]]:
        module = Module("moved")
        if nested:

            class Outer:
                class Renamed(Event):
                    n: int

            cls: type[Any] = Outer.Renamed
        else:

            class Original(Event):
                n: int

            cls = Original
        module.event("thing")(cls)

        def reduce(state: Count, event: Any) -> Reduced[Count]:
            return replace(state, total=state.total + getattr(event, "n", 0))

        reduce.__annotations__["event"] = Started[None] | cls
        return [module], cls, module.reducer("counter", state=Count)(reduce)

    first, original, definition = modules(False)
    async with runtime(first, path, clock, snapshot_every=2) as rt:
        run = await rt.start(definition, None, run_id="c1")
        for n in range(5):
            await run.signal(original(n=n))
    second, renamed, _ = modules(True)
    async with runtime(second, path, clock, snapshot_every=2, strict=True) as rt:
        run = rt.run("c1")
        await run.signal(renamed(n=5))
        assert (await run.state()).total == 15
        assert [type(record.event) for record in await log(run)][1:] == [renamed] * 6


# New


@pytest.mark.parametrize("records", [10, 100])
async def test_a_snapshot_that_fits_is_used_and_one_that_does_not_is_passed_over(
    path: Path, clock: TestClock, records: int
) -> None:
    counter = Counter()
    modules, definition = counter.code()
    async with runtime(modules, path, clock, snapshot_every=8) as rt:
        run = await rt.start(definition, None, run_id="c1")
        for _ in range(records - 1):
            await run.signal(Counted())
    total = records - 1

    async def opened(code: list[Module], most: int, least: int = 0, *, name: str = "total", **options: Any) -> Any:
        """Open the store with some code; how often the reducer was called is bounded."""
        counter.calls = 0
        async with runtime(code, path, clock, snapshot_every=8, **options) as rt:
            state = await rt.run("c1").state()
            assert least <= counter.calls <= most
            return state

    assert (await opened(modules, 8)).total == total
    newer, _ = counter.code(CountAndMore)
    assert (await opened(newer, records, records)) == CountAndMore(total=total)
    # A fresh one is written by the way.
    async with runtime(newer, path, clock, snapshot_every=8) as rt:
        await rt.run("c1").signal(*(Counted() for _ in range(8)))
        total += 8
    assert (await opened(newer, 8)).total == total
    # Back to the old code: what it wrote is used, what the newer wrote is not.
    assert (await opened(modules, 24, 8)).total == total
    other, _ = counter.code(version=2, add=lambda state, by: replace(state, total=state.total - by))
    assert (await opened(other, records + 8, records + 8)).total == -total
    retyped, _ = counter.code(CountOfText, add=lambda state, by: replace(state, total=f"{state.total}x"))
    assert (await opened(retyped, records + 8, records + 8)).total == "x" * total
    async with runtime(modules, path, clock, snapshot_every=8) as rt:
        run = rt.run("c1")
        assert (await run.state()).total == total
        await run.signal(Nudged())
        assert await run.result() == total
        assert owned(rt) == {}


async def test_a_changed_reducer_changes_what_the_past_means_and_not_what_it_did(path: Path, clock: TestClock) -> None:
    modules, definition = Counter().code()
    async with runtime(modules, path, clock) as rt:
        run = await rt.start(definition, None, run_id="c1")
        await run.signal(Counted(by=3))
        before = [record.instructions for record in await log(run)]
        waits = (await run.inspect()).waits
    doubling, _ = Counter().code(add=lambda state, by: step(replace(state, total=state.total + 2 * by), complete("no")))
    async with runtime(doubling, path, clock) as rt:
        run = rt.run("c1")
        assert (await run.inspect()).waits == waits
        assert (await run.inspect()).status == "waiting"
        assert (await run.state()).total == 6
        assert [record.instructions for record in await log(run)] == before


async def test_code_that_cannot_fold_a_run_is_told_to_who_asks_and_others_go_on(path: Path, clock: TestClock) -> None:
    counter = Counter()
    modules, definition = counter.code()
    async with runtime([*MODULES, *modules], path, clock) as rt:
        run = await rt.start(definition, None, run_id="c1")
        await run.signal(Counted())
        await rt.start(till, OPEN, run_id="t1")

    def broken(state: Any, by: int) -> Any:
        raise LookupError("new code, new bugs")

    worse, _ = counter.code(add=broken)
    async with runtime([*MODULES, *worse], path, clock) as rt:
        run = rt.run("c1")
        calls: list[Callable[[], Any]] = [
            run.inspect,
            run.state,
            lambda: run.signal(Counted()),
            lambda: run.replay_to(2),
            run.result,
        ]
        for call in calls:
            with pytest.raises(Exception, match=r"new code, new bugs") as refused:
                await call()
            assert type(refused.value).__name__ == "ReducerError"
        await clock.advance(60)
        assert (await rt.publish(Nudged())).runs == ["c1"]
        assert len(await log(run)) == 2
        assert (await run.replay_to(1)).after.seq == 1
        assert (await rt.run("t1").signal(Paid())).seq == 2
        assert {s.run_id: s.status async for s in rt.runs()}["t1"] == "waiting"
    async with runtime([*MODULES, *modules], path, clock) as rt:
        await clock.advance(0)
        assert await rt.run("c1").result() == 1
        assert owned(rt) == {}
