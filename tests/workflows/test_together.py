"""Several things at once: branches, what they share, who is cancelled, and what may not be awaited."""

from pathlib import Path
from typing import Any

import pytest

from looms import (
    Cancelled,
    Module,
    NotDurable,
    Raced,
    Reduced,
    ReducerError,
    Retry,
    RunCancelled,
    RunFailed,
    SignalFailed,
    Started,
    State,
    StepFailed,
    Workflow,
    complete,
    fail,
    replace,
    spawn,
    step,
)
from looms.reducers.lifecycle import ChildCompleted, ChildFailed
from looms.testing import runtime
from tests.workflows.desk import Rang, Shut, desk, entries

pytestmark = pytest.mark.anyio

ONCE = Retry(attempts=1)


def double(n: int) -> int:
    return 2 * n


def refuse() -> int:
    raise LookupError("no")


async def test_branches_are_coroutines_of_ones_own_with_the_same_rules() -> None:
    module = Module("branches", requires=[desk])

    @module.workflow("branches")
    async def branches(ctx: Workflow) -> list[Any]:
        async def twice(n: int) -> int:
            first = await ctx.run(double, n)
            await ctx.sleep(n)
            return await ctx.run(double, first)

        both = await ctx.gather(twice(1), ctx.gather(twice(2), twice(3)), ctx.run(double, 9))
        first = await ctx.race(twice(5), twice(4))
        four, (eight, twelve), eighteen = both
        return [four, eight, twelve, eighteen, *first, await twice(7)]

    async with runtime([module]) as rt:
        run = await rt.start(branches)
        await rt.clock.advance(100)
        assert await run.result(timeout=5) == [4, 8, 12, 18, 1, 16, 28]


async def test_a_thing_that_is_awaited_twice_is_done_once_and_gives_the_same(path: Path) -> None:
    module = Module("shared", requires=[desk])

    @module.workflow("shared")
    async def shared(ctx: Workflow) -> list[Any]:
        one = ctx.run(double, 1)
        failing = ctx.run(refuse, retry=ONCE)
        child = ctx.spawn(other, 5)

        async def branch() -> int:
            return await one + 1

        twice = branch()
        got: list[Any] = [*await ctx.gather(one, one, twice, twice), await one, await child, await child]
        for _ in range(2):
            try:
                await failing
            except StepFailed as failed:
                got.append(failed.error)
        await ctx.wait(Rang)
        return [*got, await one]

    @module.workflow("other")
    async def other(ctx: Workflow, n: int) -> int:
        return n

    async with runtime([module], path=path) as rt:
        await rt.start(shared, run_id="s")
        await rt.clock.advance(0)
    async with runtime([module], path=path) as rt:
        run = rt.run("s")
        await run.signal(Rang())
        assert await run.result(timeout=5) == [2, 2, 3, 3, 2, 5, 5, "LookupError", "LookupError", 2]
        assert [key for key, _ in await entries(run)] == ["other#1", "double#1", "refuse#1", "wait#1"]


async def test_a_step_has_its_key_when_it_is_made_and_its_place_when_it_is_asked() -> None:
    module = Module("places")

    @module.workflow("places")
    async def places(ctx: Workflow) -> int:
        first, never, second = ctx.run(double, 1), ctx.run(double, 2), ctx.run(double, 3)
        got = await second
        del never
        return got + await first

    async with runtime([module]) as rt:
        run = await rt.start(places)
        assert await run.result(timeout=5) == 8
        assert await entries(run) == [("double#3", "done"), ("double#1", "done")]


async def test_gather_and_race_take_children_and_end_those_that_lost(path: Path) -> None:
    module = Module("family", requires=[desk])

    @module.workflow("child")
    async def child(ctx: Workflow, seconds: float) -> float:
        await ctx.sleep(seconds)
        if seconds == 3:
            raise ValueError("three")
        return seconds

    @module.workflow("parent")
    async def parent(ctx: Workflow) -> list[Any]:
        both = await ctx.gather(ctx.spawn(child, 1.0), ctx.spawn(child, 2.0))
        won = await ctx.race(ctx.spawn(child, 5.0), ctx.spawn(child, 4.0))
        try:
            await ctx.gather(ctx.spawn(child, 3.0), ctx.spawn(child, 60.0))
        except StepFailed as failed:
            return [*both, *won, failed.error, failed.message]
        return []

    async with runtime([module], path=path) as rt:
        run = await rt.start(parent, run_id="p")
        await rt.clock.advance(20)
        assert await run.result(timeout=5) == [1.0, 2.0, 1, 4.0, "ChildFailed", "ValueError: three"]
        assert [status for _, status in await entries(run)] == [
            "done",
            "done",
            "cancelled",
            "done",
            "failed",
            "cancelled",
        ]
        assert (await rt.verify("p")).ok
        assert list((await run.inspect()).threads) == ["root"]


async def test_raced_is_a_named_tuple() -> None:
    module = Module("raced")

    @module.workflow("raced")
    async def raced(ctx: Workflow) -> bool:
        won = await ctx.race(ctx.sleep(5), ctx.run(double, 2))
        index, value = won
        return won == Raced(1, 4) == Raced(index, value) and won.value == 4

    async with runtime([module]) as rt:
        assert await (await rt.start(raced)).result(timeout=5) is True


async def test_the_first_to_settle_wins_also_with_a_failure() -> None:
    module = Module("raced")

    @module.workflow("raced")
    async def raced(ctx: Workflow) -> str:
        try:
            await ctx.race(ctx.run(refuse, retry=ONCE), ctx.sleep(5))
        except StepFailed as failed:
            return failed.error
        return ""

    async with runtime([module]) as rt:
        assert await (await rt.start(raced)).result(timeout=5) == "LookupError"


async def test_a_loser_tidies_up_before_the_race_is_over_and_nobody_disturbs_it_in_that() -> None:
    module = Module("tidy", requires=[desk])
    done: list[str] = []

    def note(what: str) -> None:
        done.append(what)

    @module.workflow("tidy")
    async def tidy(ctx: Workflow) -> int:
        async def patient() -> None:
            try:
                await ctx.wait(Rang)
            except Cancelled as cancelled:
                await ctx.run(note, f"{cancelled.reason}: begun")
                await ctx.sleep(10)
                await ctx.run(note, "done")
                raise

        index, _ = await ctx.race(patient(), ctx.sleep(1))
        await ctx.run(note, "over")
        return index

    async with runtime([module]) as rt:
        run = await rt.start(tidy)
        await rt.clock.advance(5)
        assert done == ["not wanted any more: begun"]
        await run.cancel("enough", grace=60)
        await run.cancel("again", grace=60)
        await rt.clock.advance(5.999)
        assert done == ["not wanted any more: begun"]
        await rt.clock.advance(0.001)
        assert done == ["not wanted any more: begun", "done"]
        with pytest.raises(RunCancelled, match="enough"):
            await run.result(timeout=5)


async def test_what_is_open_when_a_workflow_returns_ends_with_it() -> None:
    module = Module("leaving", requires=[desk])

    @module.workflow("child")
    async def child(ctx: Workflow) -> None:
        await ctx.wait(Rang)

    @module.workflow("leaving")
    async def leaving(ctx: Workflow) -> str:
        _ = ctx.spawn(child)
        waiting = ctx.wait(Shut)
        winner = await ctx.race(ctx.run(double, 1), ctx.sleep(60))
        del waiting
        return str(winner.index)

    async with runtime([module]) as rt:
        run = await rt.start(leaving)
        assert await run.result(timeout=5) == "0"
        seen = await run.inspect()
        assert (seen.waits, seen.effects, list(seen.threads)) == ((), (), ["root"])


async def test_a_thing_of_another_run_or_generation_is_refused_by_name() -> None:
    module = Module("thieves", requires=[desk])
    taken: list[Any] = []

    @module.workflow("owner")
    async def owner(ctx: Workflow) -> object:
        taken.append(ctx.run(double, 1, key="mine"))
        await ctx.wait(Rang)
        return ctx.restart()

    @module.workflow("thief")
    async def thief(ctx: Workflow, gathers: bool) -> None:
        try:
            await (ctx.gather(taken[0]) if gathers else taken[0])
        except Exception:  # noqa: BLE001 - a workflow cannot catch what is wrong with it
            await ctx.sleep(1)

    async with runtime([module]) as rt:
        await rt.start(owner)
        for gathers in (False, True):
            with pytest.raises(ReducerError) as refused:
                await rt.start(thief, gathers)
            assert isinstance(refused.value.__cause__, NotDurable)
            assert refused.value.__cause__.awaited == "step mine of another run or generation"


async def test_ctx_in_the_hands_of_a_step_makes_nothing_that_a_replay_would_not_make() -> None:
    module = Module("hands", requires=[desk])

    def meddle(ctx: Workflow, what: str) -> None:
        match what:
            case "run":
                _ = ctx.run(double, 1)
            case "random":
                ctx.random()
            case "version":
                ctx.version("a", 2)

    @module.workflow("hands")
    async def hands(ctx: Workflow) -> list[str]:
        said = []
        for what in ("run", "random", "version"):
            try:
                await ctx.run(meddle, ctx, what, retry=ONCE)
            except StepFailed as failed:
                said.append(failed.message)
        return said

    async with runtime([module]) as rt:
        said = await (await rt.start(hands)).result(timeout=5)
        assert said == ["ctx is for the workflow itself; give a step what it needs as an argument"] * 3


# With reducers, and with others


class Counted(State):
    got: int = 0


async def test_a_reducer_spawns_a_workflow_and_a_workflow_a_reducer() -> None:
    module = Module("mixed", requires=[desk])

    @module.workflow("flow")
    async def flow(ctx: Workflow, n: int) -> int:
        if n < 0:
            raise ValueError("below zero")
        return await ctx.run(double, n)

    @module.reducer("tally", state=Counted, output=int)
    def tally(state: Counted, event: Started[int] | ChildCompleted | ChildFailed | Rang) -> Reduced[Counted]:
        match event:
            case Started(input=n):
                return step(state, spawn(flow, n))
            case ChildCompleted(output=output):
                return step(replace(state, got=output), complete(output + 1))
            case ChildFailed(reason=reason):
                return step(state, fail(reason))
        return state

    @module.workflow("boss")
    async def boss(ctx: Workflow) -> list[Any]:
        got: list[Any] = [await ctx.spawn(tally, 20)]
        try:
            await ctx.spawn(tally, -1)
        except StepFailed as failed:
            got.append(failed.message)
        return got

    async with runtime([module]) as rt:
        run = await rt.start(boss, run_id="b")
        assert await run.result(timeout=5) == [41, "ValueError: below zero"]
        assert await (await rt.start(tally, 3)).result(timeout=5) == 7
        with pytest.raises(RunFailed, match="below zero"):
            await (await rt.start(tally, -3)).result(timeout=5)
        assert (await rt.verify("b")).ok


async def test_a_signal_that_does_not_arrive_may_be_waited_for() -> None:
    module = Module("letters", requires=[desk])

    @module.workflow("sender")
    async def sender(ctx: Workflow, waits: bool) -> str:
        await ctx.signal("nobody", Rang())
        if waits:
            came_back = await ctx.wait(SignalFailed, match={"run_id": "nobody"}, timeout=60)
            return f"{came_back.type}: {came_back.reason}"
        await ctx.sleep(5)
        return "did not care"

    async with runtime([module]) as rt:
        for waits in (True, False):
            run = await rt.start(sender, waits)
            await rt.clock.advance(5)
            said = await run.result(timeout=5)
            assert said == "did not care" or said.startswith("desk.rang: ")
