"""Workflows that are forked, taken elsewhere, deleted, or put right by hand."""

from pathlib import Path
from typing import Any

import anyio
import pytest

from looms import InvalidInput, Module, Retry, RunSuspended, StepFailed, UnknownEffect, UnknownRun, Workflow
from looms.reducers.lifecycle import Returned
from looms.testing import TestClock, assert_replays, runtime
from tests.workflows.desk import Rang, desk, entries, log

pytestmark = pytest.mark.anyio

ran: list[str] = []
seen_ids: list[str] = []


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    ran.clear()
    seen_ids.clear()


module = Module("copies", requires=[desk])


def weigh(what: str) -> int:
    ran.append(what)
    return len(what)


async def fetch(what: str) -> str:
    ran.append(what)
    if what == "slow":
        await anyio.sleep_forever()
    return what


@module.workflow("errand")
async def errand(ctx: Workflow, name: str) -> list[Any]:
    first = await ctx.run(weigh, name)
    before = [ctx.run_id, ctx.random(), str(ctx.uuid())]
    who = (await ctx.wait(Rang)).who
    after = [ctx.run_id, ctx.random(), str(ctx.uuid())]
    await ctx.run(weigh, who)
    return [first, before, after, [ctx.run_id, ctx.random(), str(ctx.uuid())]]


@module.workflow("slow")
async def slow(ctx: Workflow) -> list[Any]:
    return list(await ctx.gather(ctx.run(fetch, "quick", key="quick"), ctx.run(fetch, "slow", key="slow")))


async def test_a_fork_remembers_the_past_as_it_was_and_goes_its_own_way(path: Path, clock: TestClock) -> None:
    async with runtime([module], path=path, clock=clock) as rt:
        run = await rt.start(errand, "parcel", run_id="r")
        await clock.advance(0)
        seq = (await run.inspect()).seq
        await run.signal(Rang(who="ann"))
        original = await run.result(timeout=5)
        fork = await run.fork(seq, "f")
    async with runtime([module], path=path, clock=clock) as rt:
        fork = rt.run("f")
        await fork.signal(Rang(who="bob"))
        forked = await fork.result(timeout=5)
        for id in ("r", "f"):
            await assert_replays(rt.run(id))
    assert ran == ["parcel", "ann", "bob"]
    assert (original[0], original[1]) == (forked[0], forked[1])
    for mine, its in zip(original[2:], forked[2:], strict=True):
        assert (mine[0], its[0]) == ("r", "f")
        assert mine[1] != its[1]
        assert mine[2] != its[2]


async def test_a_step_that_was_running_is_held_in_the_fork_until_somebody_wants_it(
    path: Path, clock: TestClock
) -> None:
    async with runtime([module], path=path, clock=clock) as rt:
        run = await rt.start(slow, run_id="r")
        await clock.advance(0)
        fork = await run.fork((await run.inspect()).seq, "f")
        again = await run.fork(1, "g", effects="redispatch")
        await clock.advance(0)
        assert [(one.id, one.held) for one in (await fork.inspect()).effects] == [("f:1:1", True)]
        assert [(one.id, one.held) for one in (await again.inspect()).effects] == [("g:1:1", False)]
        assert sorted(ran) == ["quick", "quick", "slow", "slow"]
    async with runtime([module], path=path, clock=clock) as rt:
        await clock.advance(0)
        await rt.run("f").retry_effect("f:1:1")
        await clock.advance(0)
        assert ran.count("slow") == 5  # of the run and of "g" again, since the process ended in it
        await rt.run("f").settle_effect("f:1:1", "by hand")
        assert await rt.run("f").result(timeout=5) == ["quick", "by hand"]
        with pytest.raises(UnknownEffect):
            await rt.run("f").settle_effect("f:1:1", "once more")


async def test_a_step_that_is_settled_by_hand_gives_what_its_function_might_have(clock: TestClock) -> None:
    async with runtime([module], clock=clock) as rt:
        run = await rt.start(slow, run_id="r")
        await clock.advance(0)
        for wrong in ((3,), (b"bytes",), (), ("two", "values"), (Returned(3),)):
            with pytest.raises(InvalidInput, match=r"slow|step"):
                await run.settle_effect("r:1:1", *wrong)
        assert await entries(run) == [("quick", "done"), ("slow", "open")]
        await run.settle_effect("r:1:1", Returned("as the command line does it"))
        assert await run.result(timeout=5) == ["quick", "as the command line does it"]
        assert (await rt.verify("r")).ok


async def test_what_was_taken_elsewhere_goes_on_there(path: Path, clock: TestClock, tmp_path: Path) -> None:
    file = tmp_path / "runs.jsonl"
    async with runtime([module], path=path, clock=clock) as rt:
        run = await rt.start(errand, "parcel", run_id="r")
        await clock.advance(0)
        await run.fork((await run.inspect()).seq, "f")
        await rt.run("f").signal(Rang(who="bob"))
        forked = await rt.run("f").result(timeout=5)
        await rt.export_runs(file)
        before = await run.inspect()
    async with runtime([module], path=path.with_suffix(".other"), clock=clock) as rt:
        await rt.import_runs(file)
        await rt.import_runs(file, prefix="copy of ")
        await rt.run("copy of r").signal(Rang(who="cy"))
        copied = await rt.run("copy of r").result(timeout=5)
        assert (copied[1], copied[2][0]) == (forked[1], "copy of r")
        assert copied[2][1] not in (forked[2][1], forked[3][1])
        run = rt.run("r")
        assert await run.inspect() == before
        await run.signal(Rang(who="ann"))
        original = await run.result(timeout=5)
        assert await rt.run("f").result(timeout=5) == forked
        assert original[1] == forked[1]
        for id in ("r", "f", "copy of r", "copy of f"):
            await assert_replays(rt.run(id))
    assert ran == ["parcel", "bob", "cy", "ann"]


@module.workflow("again")
async def again(ctx: Workflow, left: int) -> int:
    await ctx.wait(Rang)
    return ctx.restart(left - 1) if left else ctx.generation


async def test_what_began_anew_may_be_taken_elsewhere(path: Path, clock: TestClock, tmp_path: Path) -> None:
    file = tmp_path / "runs.jsonl"
    async with runtime([module], path=path, clock=clock) as rt:
        run = await rt.start(again, 3, run_id="r")
        for who in ("ann", "bob"):
            await run.signal(Rang(who=who))
        await rt.export_runs(file)
    async with runtime([module], path=tmp_path / "there.looms", clock=clock) as there:
        await there.import_runs(file)
        for who in ("cyd", "dan"):
            await there.run("r").signal(Rang(who=who))
        assert await there.run("r").result() == 4
        assert (await there.check()).ok


async def test_a_run_that_is_deleted_while_a_step_runs_leaves_nothing(path: Path, clock: TestClock) -> None:
    async with runtime([module], path=path, clock=clock) as rt:
        run = await rt.start(slow, run_id="r")
        await clock.advance(0)
        await run.cancel(grace=0)
        await clock.advance(0)
        assert (await run.inspect()).status == "cancelled"
        await run.delete()
        with pytest.raises(UnknownRun):
            await run.inspect()
        again = await rt.start(slow, run_id="r")
        await clock.advance(0)
        (effect,) = [one async for one in rt.effects("r")]
        await again.settle_effect(effect.effect_id, "new")
        assert await again.result(timeout=5) == ["quick", "new"]


async def test_a_suspended_workflow_takes_what_ran_meanwhile_when_it_is_resumed(clock: TestClock) -> None:
    other = Module("moody", requires=[desk])
    mood = ["bad"]
    finished = anyio.Event()

    async def wait_for_it() -> str:
        await finished.wait()
        return "done"

    @other.workflow("moody")
    async def moody(ctx: Workflow) -> str:
        async def branch() -> None:
            await ctx.sleep(1)
            if mood == ["bad"]:
                await anyio.sleep(1)

        _, got = await ctx.gather(branch(), ctx.run(wait_for_it))
        return got

    async with runtime([other], clock=clock) as rt:
        run = await rt.start(moody)
        await clock.advance(1)
        assert (await run.inspect()).status == "suspended"
        finished.set()
        await clock.advance(0)
        with pytest.raises(RunSuspended):
            await run.result(timeout=0)
        mood.clear()
        await run.resume()
        assert await run.result(timeout=5) == "done"


async def test_a_log_of_a_workflow_folds_without_its_code_as_far_as_it_can(path: Path, clock: TestClock) -> None:
    async with runtime([module], path=path, clock=clock) as rt:
        run = await rt.start(errand, "parcel", run_id="r")
        await clock.advance(0)
        await run.signal(Rang())
    renamed = Module("copies", requires=[desk])

    @renamed.workflow("errands")
    async def errands(ctx: Workflow) -> None:
        await ctx.sleep(1)

    async with runtime([renamed], path=path, clock=clock) as rt:
        seen = await rt.run("r").inspect()
        assert (seen.definition, seen.state) == ("copies.errand", None)
        assert len(await log(rt.run("r"))) == seen.seq


async def test_the_steps_of_many_attempts_are_counted_over_restarts(path: Path, clock: TestClock) -> None:
    other = Module("restless", requires=[desk])

    @other.workflow("restless")
    async def restless(ctx: Workflow) -> list[Any]:
        try:
            await ctx.run(fail, retry=Retry(attempts=3, backoff=60, jitter=0))
        except StepFailed as failed:
            return [failed.attempts, failed.message]
        return []

    def fail() -> None:
        ran.append("fail")
        raise OSError(str(len(ran)))

    for _ in range(3):
        async with runtime([other], path=path, clock=clock) as rt:
            run = await rt.start(restless, run_id="r", exists="return")
            await clock.advance(61)
    async with runtime([other], path=path, clock=clock) as rt:
        assert await rt.run("r").result(timeout=5) == [3, "3"]
    assert len(ran) == 3
    _ = run
