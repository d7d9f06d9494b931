"""Workflows that are cancelled, or begin anew."""

from typing import Any

import pytest

from looms import Cancelled, Module, Retry, RunCancelled, RunFailed, StepFailed, Workflow
from looms.testing import TestClock, runtime
from tests.workflows.desk import Rang, Shut, desk, entries, log

pytestmark = pytest.mark.anyio

done: list[str] = []


@pytest.fixture(autouse=True)
def nothing_done() -> None:
    done.clear()


def note(what: str) -> None:
    done.append(what)


async def test_cancelled_comes_to_the_branches_first_and_to_each_once() -> None:
    module = Module("branches", requires=[desk])

    @module.workflow("branches")
    async def branches(ctx: Workflow) -> None:
        async def one(name: str) -> None:
            try:
                await ctx.wait(Rang, match={"who": name})
            except Cancelled as cancelled:
                await ctx.run(note, f"{name}: {cancelled.reason}")
                raise

        try:
            await ctx.gather(one("a"), ctx.gather(one("b"), ctx.sleep(60)))
        except Cancelled as cancelled:
            await ctx.run(note, f"all: {cancelled.reason}")
            raise

    async with runtime([module]) as rt:
        run = await rt.start(branches, run_id="b")
        await run.cancel("closing", grace=60)
        await run.cancel("once more", grace=1)
        await rt.clock.advance(30)
        assert (sorted(done[:2]), done[2:]) == (["a: closing", "b: closing"], ["all: closing"])
        with pytest.raises(RunCancelled) as cancelled:
            await run.result(timeout=5)
        assert cancelled.value.reason == "closing"
        assert (await rt.verify("b")).ok


async def test_a_workflow_that_catches_it_and_returns_in_time_is_completed() -> None:
    module = Module("stubborn", requires=[desk])

    @module.workflow("stubborn")
    async def stubborn(ctx: Workflow) -> str:
        try:
            await ctx.wait(Rang)
        except Cancelled as cancelled:
            await ctx.sleep(5)
            return f"after all: {cancelled.reason}"
        return ""

    async with runtime([module]) as rt:
        run = await rt.start(stubborn)
        await run.cancel("why not", grace=10)
        await rt.clock.advance(5)
        assert await run.result(timeout=5) == "after all: why not"


async def test_an_error_while_tidying_up_fails_the_run_and_a_step_is_cancelled_in_its_handler() -> None:
    module = Module("clumsy", requires=[desk])

    def slip() -> None:
        raise OSError("slipped")

    @module.workflow("clumsy")
    async def clumsy(ctx: Workflow) -> None:
        try:
            await ctx.wait(Rang)
        finally:
            await ctx.run(slip, retry=Retry(attempts=1))

    async with runtime([module]) as rt:
        run = await rt.start(clumsy)
        await run.cancel("", grace=10)
        with pytest.raises(RunFailed, match="StepFailed: slip#1: OSError: slipped"):
            await run.result(timeout=5)


async def test_cancelled_of_ones_own_making_is_a_failure() -> None:
    module = Module("own")

    @module.workflow("own")
    async def own(ctx: Workflow) -> None:
        raise Cancelled("by myself")

    async with runtime([module]) as rt:
        with pytest.raises(RunFailed, match="Cancelled: by myself"):
            await (await rt.start(own)).result(timeout=5)


async def test_a_step_that_was_cancelled_by_its_race_raises_that_wherever_it_is_awaited() -> None:
    module = Module("twice", requires=[desk])

    @module.workflow("twice")
    async def twice(ctx: Workflow) -> str:
        lost = ctx.wait(Rang)
        await ctx.race(lost, ctx.sleep(1))
        try:
            await lost
        except Cancelled as cancelled:
            return cancelled.reason
        return ""

    async with runtime([module]) as rt:
        run = await rt.start(twice)
        await rt.clock.advance(1)
        assert await run.result(timeout=5) == "not wanted any more"


# Generations


async def test_a_generation_ends_what_it_left_open_and_keeps_what_nobody_took(clock: TestClock) -> None:
    module = Module("ages", requires=[desk])
    chances: list[Any] = []

    @module.workflow("child")
    async def child(ctx: Workflow) -> None:
        await ctx.wait(Shut)

    @module.workflow("age")
    async def age(ctx: Workflow, left: int) -> list[str]:
        chances.append((ctx.random(), str(ctx.uuid())))
        _ = ctx.spawn(child)
        if left:
            await ctx.race(ctx.run(note, str(left)), ctx.sleep(3_600))
            return ctx.restart(left - 1)
        return [(await ctx.wait(Rang)).who for _ in range(2)]

    async with runtime([module], clock=clock) as rt:
        run = await rt.start(age, 3, run_id="a")
        for who in ("ann", "bob"):
            await run.signal(Rang(who=who))
        assert await run.result(timeout=5) == ["ann", "bob"]
        assert done == ["3", "2", "1"]
        assert len({one for pair in chances for one in pair}) == 8
        seen = await run.inspect()
        assert (seen.waits, seen.effects, list(seen.threads)) == ((), (), ["root"])
        assert (await run.state()).generation == 4
        assert (await rt.verify("a")).ok
        started = [record for record in await log(run) if record.type == "looms.started" and record.thread == "root"]
        assert [record.payload["input"] for record in started] == [3, 2, 1, 0]


async def test_a_restart_within_a_turn_for_ever_is_refused_like_any_turn_without_end() -> None:
    module = Module("for ever", requires=[desk])

    @module.workflow("spinning")
    async def spinning(ctx: Workflow) -> object:
        return ctx.restart()

    async with runtime([module], max_turn_records=50) as rt:
        with pytest.raises(Exception, match="50"):
            await rt.start(spinning)


async def test_an_input_that_does_not_fit_stops_the_run_before_the_next_generation() -> None:
    module = Module("ages", requires=[desk])

    @module.workflow("age")
    async def age(ctx: Workflow, left: int) -> object:
        await ctx.sleep(1)
        return ctx.restart("many")

    async with runtime([module]) as rt:
        run = await rt.start(age, 3)
        await rt.clock.advance(1)
        seen = await run.inspect()
        assert seen.status == "suspended"
        assert "the input of ages.age: Expected `int`, got `str`" in str(seen.error)


async def test_a_child_begins_anew_too() -> None:
    module = Module("ages", requires=[desk])

    @module.workflow("child")
    async def child(ctx: Workflow, left: int) -> int:
        await ctx.run(note, f"{ctx.thread} {ctx.generation}")
        return ctx.restart(left - 1) if left else ctx.generation

    @module.workflow("parent")
    async def parent(ctx: Workflow) -> int:
        return await ctx.spawn(child, 2)

    async with runtime([module]) as rt:
        run = await rt.start(parent)
        assert await run.result(timeout=5) == 3
        assert done == [f"root/child#1 {n}" for n in (1, 2, 3)]
        assert await entries(run) == [("child#1", "done")]


async def test_a_failure_of_a_child_names_what_failed_in_it() -> None:
    module = Module("nested")

    def refuse() -> None:
        raise LookupError("no")

    @module.workflow("child")
    async def child(ctx: Workflow) -> None:
        await ctx.run(refuse, retry=Retry(attempts=1))

    @module.workflow("parent")
    async def parent(ctx: Workflow) -> str:
        try:
            await ctx.spawn(child)
        except StepFailed as failed:
            return str(failed)
        return ""

    async with runtime([module]) as rt:
        said = await (await rt.start(parent)).result(timeout=5)
        assert said == "child#1: ChildFailed: StepFailed: refuse#1: LookupError: no"
