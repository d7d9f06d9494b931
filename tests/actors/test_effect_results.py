"""What a handler returns is recorded, or refused with its path; in both cases the effect is done, once."""

from pathlib import Path
from typing import Any

import pytest
from anyio.lowlevel import checkpoint

from looms import EffectContext, Event, Module, Retry
from looms.testing import TestClock, runtime
from tests.actors.desk import ONE, Closed, Done, Errand, Found, Progressed, log, running, types
from tests.actors.rows import owned

elsewhere = Module("elsewhere")


@elsewhere.event("happened")
class Happened(Event):
    pass


class Unregistered(Event):
    pass


class Odd:
    """Nothing that msgspec knows."""


@pytest.mark.parametrize("nothing", [None, [], ()])
async def test_a_handler_that_answers_with_nothing_is_done_and_never_runs_again(
    path: Path, clock: TestClock, nothing: Any
) -> None:
    attempts = []

    async def handler(request: Errand, ctx: EffectContext) -> Any:
        attempts.append(ctx.attempt)
        return nothing

    modules, desk = running(handler)
    async with runtime(modules, path, clock) as rt:
        run = await rt.start(desk, ONE, run_id="d1")
        await clock.advance(0)
        assert (await run.inspect()).effects == ()
        last = (await log(run))[-1]
        assert (last.type, last.effect_id, last.final) == ("looms.effect_completed", "d1:1:0", True)
    async with runtime(modules, path, clock) as rt:
        await clock.advance(1_000)
        assert attempts == [1]
        assert owned(rt) == {}


async def test_events_that_are_returned_together_are_recorded_together_and_in_order() -> None:
    async def handler(request: Errand) -> list[Event]:
        return [Progressed(percent=50), Done(what="a"), Done(what="b")]

    modules, desk = running(handler)
    async with runtime(modules) as rt:
        run = await rt.start(desk, ONE)
        await rt.clock.advance(0)
        returned = (await log(run))[1:]
        assert [record.type for record in returned] == ["office.progressed", "office.done", "office.done"]
        assert [record.final for record in returned] == [False, False, True]
        assert [len(commit.turns) async for commit in rt.commits()][-1] == 1
        assert (await run.state()).done == ("a", "b")


REFUSED = {
    "a dict": ({"what": "x"}, "TypeError", "dict"),
    "a text": ("done", "TypeError", "str"),
    "a class": (Done, "TypeError", "type|StructMeta"),
    "a set of events": ({Done()}, "TypeError", "set"),
    "a list with something else in it": ([Done(), 5], "TypeError", "int"),
    "an event that nobody registered": (Unregistered(), "UnknownEvent", "Unregistered"),
    "an event of another module": (Happened(), "UnknownEvent", "elsewhere.happened"),
    "a value of the wrong type": (Done(what=5), "InvalidEvent", r"\$\.what"),  # type: ignore[arg-type]
    "a value that cannot be encoded": (Found(thing={"a": [1, Odd()]}), "InvalidEvent", r"\$\.thing\['a'\]\[1\]"),
    "a number that is too large": (Found(thing=[2**70]), "InvalidEvent", r"\$\.thing\[0\]"),
    "a text that is no UTF-8": (Done(what="\ud800"), "InvalidEvent", r"\$\.what"),
    "a value that would come back as another": (Found(thing=(1, (2,))), "InvalidEvent", r"\$\.thing"),
    "a good one and a bad one": ([Done(), Done(what=None)], "InvalidEvent", r"\$\.what"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("what", REFUSED)
async def test_a_result_that_cannot_be_stored_fails_the_effect_at_once_and_the_run_goes_on(
    path: Path, clock: TestClock, what: str
) -> None:
    answer, error, message = REFUSED[what]
    attempts = []

    async def handler(request: Errand, ctx: EffectContext) -> Any:
        attempts.append(ctx.attempt)
        return answer

    modules, desk = running(handler, retry=Retry(attempts=5))
    async with runtime(modules, path, clock) as rt:
        run = await rt.start(desk, ONE, run_id="d1")
        await clock.advance(0)
        (failed,) = (await run.state()).failed
        assert (failed.error, failed.attempts, failed.effect_id) == (error, 1, "d1:1:0")
        with pytest.raises(AssertionError, match=message):
            raise AssertionError(failed.message)
        assert await types(run) == ["looms.started", "looms.effect_failed"]
    async with runtime(modules, path, clock) as rt:
        run = rt.run("d1")
        await clock.advance(1_000)
        assert attempts == [1]
        assert (await run.state()).failed == (failed,)
        await run.signal(Closed())
        assert await run.result() == []


async def test_a_result_that_contains_itself_fails_the_effect() -> None:
    loop: list[Any] = []
    loop.append(loop)

    async def handler(request: Errand) -> Found:
        return Found(thing=loop)

    modules, desk = running(handler)
    async with runtime(modules) as rt:
        run = await rt.start(desk, ONE)
        await rt.clock.advance(0)
        (failed,) = (await run.state()).failed
        assert failed.error == "InvalidEvent"
        assert "contains itself" in failed.message


async def test_a_plain_handler_may_answer_with_something_to_await() -> None:
    async def really(request: Errand) -> Done:
        await checkpoint()
        return Done(what=request.what)

    def handler(request: Errand) -> Any:
        return really(request)

    modules, desk = running(handler)
    async with runtime(modules) as rt:
        run = await rt.start(desk, ONE)
        await rt.clock.advance(0)
        assert (await run.state()).done == ("shopping",)


async def test_a_result_that_the_reducer_refuses_suspends_the_run_and_is_not_asked_for_again(
    path: Path, clock: TestClock
) -> None:
    attempts = []

    async def handler(request: Errand, ctx: EffectContext) -> Done:
        attempts.append(ctx.attempt)
        return Done(what="bad")

    modules, desk = running(handler)
    reduce = desk.function

    def raising(state: Any, event: Any) -> Any:
        if isinstance(event, Done):
            raise LookupError(event.what)
        return reduce(state, event)

    desk.function = raising
    async with runtime(modules, path, clock) as rt:
        run = await rt.start(desk, ONE, run_id="d1")
        await clock.advance(0)
        assert (await run.inspect()).status == "suspended"
        assert "LookupError: bad" in ((await run.inspect()).error or "")
    desk.function = reduce
    async with runtime(modules, path, clock) as rt:
        run = rt.run("d1")
        await clock.advance(1_000)
        assert (await run.inspect()).status == "suspended"
        await run.resume()
        assert (await run.state()).done == ("bad",)
        assert attempts == [1]
        assert owned(rt) == {}
