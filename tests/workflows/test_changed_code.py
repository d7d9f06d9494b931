"""Today's code meets a journal that other code wrote: it goes on as it was, or the run is held and says why."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from looms import Diverged, Module, ReducerError, Retry, Run, Workflow
from looms.testing import TestClock, runtime
from looms.workflows.errors import UnreadableJournal
from tests.workflows.desk import Rang, Shut, desk, entries

pytestmark = pytest.mark.anyio

Code = Callable[[Workflow], Awaitable[Any]]


def module_of(code: Code) -> tuple[Module, Any]:
    module = Module("changing", requires=[desk])

    @module.workflow("changing")
    async def changing(ctx: Workflow) -> Any:
        return await code(ctx)

    return module, changing


def one() -> str:
    return "one"


def two() -> str:
    return "two"


async def steps_one_by_one(ctx: Workflow) -> list[str]:
    got = [await ctx.run(one), await ctx.run(two)]
    await ctx.wait(Rang)
    return got


async def other_names_and_settings(ctx: Workflow) -> list[str]:
    def again() -> str:
        raise AssertionError("it is done")

    got = [
        await ctx.run(again, key="one#1", retry=Retry(attempts=9), timeout=3),
        await ctx.run(two, timeout=9),
    ]
    await ctx.wait(Rang, Shut, timeout=9)
    return got


async def one_less(ctx: Workflow) -> str:
    return await ctx.run(one)


async def one_more(ctx: Workflow) -> list[str]:
    got = [await ctx.run(one), await ctx.run(two), await ctx.run(one)]
    await ctx.wait(Rang)
    return got


async def another_kind(ctx: Workflow) -> None:
    await ctx.run(one)
    await ctx.sleep(5, key="two#1")


async def ends_at_once(ctx: Workflow) -> str:
    return "at once"


async def raises_at_once(ctx: Workflow) -> str:
    raise ValueError("at once")


CHANGES: list[tuple[Code, tuple[int, str, str] | None]] = [
    (steps_one_by_one, None),
    (other_names_and_settings, None),
    (one_less, (2, "run two#1", "end")),
    (one_more, (3, "wait wait#1", "run one#2")),
    (another_kind, (2, "run two#1", "sleep two#1")),
    (ends_at_once, (1, "run one#1", "end")),
    (raises_at_once, (1, "run one#1", "end")),
]


@pytest.mark.parametrize(("code", "differs"), CHANGES, ids=[code.__name__ for code, _ in CHANGES])
async def test_a_difference_is_told_and_the_run_is_held(
    code: Code, differs: tuple[int, str, str] | None, path: Path, clock: TestClock
) -> None:
    await meets(steps_one_by_one, code, differs, path, clock)


async def meets(before: Code, after: Code, differs: tuple[int, str, str] | None, path: Path, clock: TestClock) -> None:
    module, workflow = module_of(before)
    async with runtime([module], path=path, clock=clock) as rt:
        await rt.start(workflow, run_id="c")
        await clock.advance(2)
        journal = await entries(rt.run("c"))
    module, _ = module_of(after)
    async with runtime([module], path=path, clock=clock) as rt:
        run = rt.run("c")
        if differs is None:
            await run.signal(Rang())
            assert (await run.inspect()).status == "completed"
            return
        with pytest.raises(ReducerError) as refused:
            await run.signal(Rang())
        await held_for(run, refused.value, differs)
        assert await entries(run) == journal
        await run.resume()
        await clock.advance(0)
    module, _ = module_of(before)
    async with runtime([module], path=path, clock=clock) as rt:
        await rt.run("c").resume()
        await rt.run("c").signal(Rang())
        assert (await rt.run("c").inspect()).status == "completed"


async def held_for(run: Run[Any, Any], refused: ReducerError, differs: tuple[int, str, str]) -> None:
    found = refused.__cause__
    assert isinstance(found, Diverged)
    assert (found.step, found.recorded, found.asked) == differs
    seen = await run.inspect()
    assert (seen.status, str(seen.error).partition(":")[0]) == ("suspended", "Diverged")


async def together(ctx: Workflow) -> Any:
    await ctx.gather(ctx.wait(Rang), ctx.sleep(1))


async def whoever_is_first(ctx: Workflow) -> Any:
    await ctx.race(ctx.wait(Rang), ctx.sleep(1))
    await ctx.wait(Rang)


async def whoever_is_first_alone(ctx: Workflow) -> Any:
    return await ctx.race(ctx.wait(Rang), ctx.sleep(1))


async def both_in_the_end(ctx: Workflow) -> Any:
    await ctx.gather(ctx.wait(Rang), ctx.sleep(1))
    await ctx.wait(Rang)


async def test_who_is_cancelled_is_compared_too(path: Path, clock: TestClock) -> None:
    await meets(together, whoever_is_first_alone, (1, "nothing", "cancel wait#1"), path.with_suffix(".one"), clock)
    await meets(whoever_is_first, both_in_the_end, (3, "wait wait#2", "nothing"), path.with_suffix(".two"), clock)


async def test_a_race_that_became_a_gathering_at_the_end_waits_for_nobody_who_is_gone(
    path: Path, clock: TestClock
) -> None:
    async def raced(ctx: Workflow) -> Any:
        waits = ctx.wait(Rang)
        await ctx.gather(ctx.race(waits, ctx.sleep(1)), ctx.wait(Shut))

    async def gathered(ctx: Workflow) -> Any:
        waits = ctx.wait(Rang)
        await ctx.gather(ctx.gather(waits, ctx.sleep(1)), ctx.wait(Shut))

    module, workflow = module_of(raced)
    async with runtime([module], path=path, clock=clock) as rt:
        await rt.start(workflow, run_id="c")
        await clock.advance(2)
    module, _ = module_of(gathered)
    async with runtime([module], path=path, clock=clock) as rt:
        with pytest.raises(ReducerError) as refused:
            await rt.run("c").signal(Shut())
        await held_for(rt.run("c"), refused.value, (1, "cancel wait#1", "nothing"))


async def test_verify_says_so_before_the_deploy_runs_no_step_and_logs_nothing(path: Path) -> None:
    ran: list[str] = []

    def count(name: str) -> str:
        ran.append(name)
        return name

    async def before(ctx: Workflow) -> Any:
        ctx.log.info("first", mine=1)
        await ctx.run(count, "a", key="a")
        ctx.log.info("second", mine=2)
        await ctx.wait(Rang)

    async def after(ctx: Workflow) -> Any:
        await ctx.run(count, "a", key="a")
        await ctx.run(count, "b", key="b")
        await ctx.wait(Rang)

    import structlog

    with structlog.testing.capture_logs() as logs:
        module, workflow = module_of(before)
        async with runtime([module], path=path) as rt:
            await rt.start(workflow, run_id="c")
            await rt.clock.advance(0)
            assert (await rt.verify("c")).ok
        module, _ = module_of(after)
        async with runtime([module], path=path) as rt:
            report = await rt.verify("c")
            assert report.first_divergence is not None
            assert (report.ok, report.first_divergence.seq) == (False, 2)
            assert (await rt.run("c").inspect()).status == "waiting"
    assert ran == ["a"]
    assert [line["event"] for line in logs if "mine" in line] == ["first", "second"]


class OneField(msgspec.Struct, frozen=True):
    a: int


class OtherField(msgspec.Struct, frozen=True):
    a: int
    b: str


async def test_a_result_that_todays_type_does_not_fit_holds_the_run_and_names_the_step(path: Path) -> None:
    def give_one() -> OneField:
        return OneField(1)

    def give_other() -> OtherField:
        raise AssertionError("it is done")

    async def before(ctx: Workflow) -> Any:
        await ctx.run(give_one, key="give")
        await ctx.wait(Rang)

    async def after(ctx: Workflow) -> Any:
        await ctx.run(give_other, key="give")
        await ctx.wait(Rang)

    module, workflow = module_of(before)
    async with runtime([module], path=path) as rt:
        await rt.start(workflow, run_id="c")
        await rt.clock.advance(0)
    module, _ = module_of(after)
    async with runtime([module], path=path) as rt:
        with pytest.raises(
            ReducerError, match="recorded as the result of 'give' is not what today's code says"
        ) as refused:
            await rt.run("c").signal(Rang())
        assert isinstance(refused.value.__cause__, UnreadableJournal)
        assert (await rt.run("c").inspect()).status == "suspended"
    module, _ = module_of(before)
    async with runtime([module], path=path) as rt:
        await rt.run("c").resume()
        await rt.run("c").signal(Rang())
        assert (await rt.run("c").inspect()).status == "completed"


async def test_an_input_that_todays_type_does_not_fit_holds_the_run_also_where_a_step_is_outstanding(
    path: Path, clock: TestClock
) -> None:
    def declared(annotation: Any, ran: list[Any]) -> tuple[Module, Any]:
        module = Module("inputs")

        def fail(given: Any) -> None:
            ran.append(given)
            raise OSError("later")

        async def flow(ctx: Workflow, given: Any) -> None:
            await ctx.run(fail, given, retry=Retry(attempts=3, backoff=60, jitter=0))

        flow.__annotations__["given"] = annotation
        return module, module.workflow("flow")(flow)

    ran: list[Any] = []
    module, workflow = declared(int, ran)
    async with runtime([module], path=path, clock=clock, snapshot_every=1) as rt:
        await rt.start(workflow, 7, run_id="c")
        await clock.advance(1)
    module, _ = declared(str, ran)
    async with runtime([module], path=path, clock=clock) as rt:
        await clock.advance(600)
        seen = await rt.run("c").inspect()
        assert seen.status == "suspended"
        assert str(seen.error).startswith("UnreadableJournal: what is recorded as the input is not")
        assert ran == [7]
    module, _ = declared(int, ran)
    async with runtime([module], path=path, clock=clock) as rt:
        await rt.run("c").resume()
        await clock.advance(0)
        assert ran == [7, 7]


async def test_an_event_that_a_wait_got_and_names_no_more_holds_the_run(path: Path) -> None:
    async def before(ctx: Workflow) -> Any:
        await ctx.wait(Rang, Shut)
        await ctx.wait(Rang)

    async def after(ctx: Workflow) -> Any:
        await ctx.wait(Rang)
        await ctx.wait(Rang)

    module, workflow = module_of(before)
    async with runtime([module], path=path) as rt:
        await rt.start(workflow, run_id="c")
        await rt.run("c").signal(Shut())
    module, _ = module_of(after)
    async with runtime([module], path=path) as rt:
        with pytest.raises(ReducerError, match=r"desk\.shut is none of the events"):
            await rt.run("c").signal(Rang())


async def test_a_step_that_is_outstanding_waits_for_the_code_that_asked_for_it(path: Path, clock: TestClock) -> None:
    ran: list[str] = []

    def count() -> str:
        ran.append("count")
        if len(ran) == 1:
            raise OSError("later")
        return "counted"

    async def before(ctx: Workflow) -> Any:
        return await ctx.run(count, retry=Retry(attempts=2, backoff=60, jitter=0))

    async def after(ctx: Workflow) -> Any:
        await ctx.sleep(5)

    module, workflow = module_of(before)
    async with runtime([module], path=path, clock=clock) as rt:
        await rt.start(workflow, run_id="c")
        await clock.advance(1)
    module, _ = module_of(after)
    async with runtime([module], path=path, clock=clock) as rt:
        await clock.advance(600)
        seen = await rt.run("c").inspect()
        assert (seen.status, str(seen.error).partition(":")[0], len(seen.effects)) == ("suspended", "Diverged", 1)
        for _ in range(2):
            await rt.run("c").resume()
            await clock.advance(600)
            assert (await rt.run("c").inspect()).status == "suspended"
        (effect,) = [one async for one in rt.effects("c")]
        assert effect.attempts == 1
    module, _ = module_of(before)
    async with runtime([module], path=path, clock=clock) as rt:
        await rt.run("c").resume()
        await clock.advance(0)
        assert await rt.run("c").result(timeout=5) == "counted"
    assert ran == ["count", "count"]


async def test_a_run_that_is_resumed_in_the_same_process_goes_on_with_its_outstanding_steps(clock: TestClock) -> None:
    module = Module("moody", requires=[desk])
    mood = ["bad"]
    ran: list[str] = []

    def count() -> str:
        ran.append("count")
        return "counted"

    @module.workflow("moody")
    async def moody(ctx: Workflow) -> str:
        if ctx.generation and mood == ["worse"]:
            await ctx.sleep(1)
        first = await ctx.wait(Rang)
        mood.append("changes")
        return first.who + await ctx.run(count)

    @module.workflow("other")
    async def other(ctx: Workflow) -> None:
        await ctx.wait(Rang)

    async with runtime([module], clock=clock, max_resident=1) as rt:
        run = await rt.start(moody, run_id="m")
        await rt.start(other)
        mood[:] = ["worse"]
        with pytest.raises(ReducerError):
            await run.signal(Rang())
        assert (await run.inspect()).status == "suspended"
        mood[:] = ["good"]
        await run.resume()
        await run.signal(Rang())
        assert await run.result(timeout=5) == "anncounted"


async def test_a_step_that_the_code_did_not_lead_to_is_tried_as_soon_as_the_run_is_resumed(clock: TestClock) -> None:
    module = Module("moody", requires=[desk])
    mood = ["good"]
    ran: list[int] = []

    def count() -> int:
        ran.append(clock.now())
        if len(ran) == 1:
            raise OSError("later")
        return len(ran)

    @module.workflow("moody")
    async def moody(ctx: Workflow) -> list[int]:
        if mood == ["bad"]:
            await ctx.sleep(1)
        return list(await ctx.gather(*(ctx.run(count, retry=Retry(attempts=3, backoff=60, jitter=0)) for _ in "ab")))

    @module.workflow("other")
    async def other(ctx: Workflow) -> None:
        await ctx.wait(Rang)

    async with runtime([module], clock=clock, max_resident=1) as rt:
        run = await rt.start(moody, run_id="m")
        await clock.advance(0)
        assert [entry[1] for entry in await entries(run)].count("open") == 1
        await rt.start(other)  # "m" leaves the memory
        mood[:] = ["bad"]
        await clock.advance(600)
        assert ((await run.inspect()).status, len(ran)) == ("suspended", 2)
        await run.resume()
        await clock.advance(600)
        assert ((await run.inspect()).status, len(ran)) == ("suspended", 2)
        mood[:] = ["good"]
        await run.resume()
        await clock.advance(0)
        assert sorted(await run.result(timeout=5)) == [2, 3]
        assert ran[2] == clock.now()


def versioned(*latest: int) -> Code:
    async def code(ctx: Workflow) -> Any:
        got = [ctx.version("first", latest[0])] if latest else []
        await ctx.wait(Rang)
        got += [ctx.version("first", latest[0]), ctx.version("second", 2)] if latest else []
        await ctx.wait(Rang)
        return [*got, *([ctx.version("second", 3)] if latest else [])]

    return code


async def test_the_first_answer_of_a_version_holds_whatever_is_deployed_later(path: Path) -> None:
    module, workflow = module_of(versioned())
    async with runtime([module], path=path) as rt:
        await rt.start(workflow, run_id="old")
    module, workflow = module_of(versioned(2))
    async with runtime([module], path=path) as rt:
        await rt.start(workflow, run_id="new")
        for id in ("old", "new"):
            await rt.run(id).signal(Rang())
    module, workflow = module_of(versioned(7))
    async with runtime([module], path=path) as rt:
        for id in ("old", "new"):
            await rt.run(id).signal(Rang())
        assert await rt.run("old").result(timeout=5) == [1, 1, 2, 2]
        assert await rt.run("new").result(timeout=5) == [2, 2, 2, 2]
        for id in ("old", "new"):
            assert (await rt.verify(id)).ok
