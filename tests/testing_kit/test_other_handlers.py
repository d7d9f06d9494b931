"""A test may have other handlers called than the application's own."""

from typing import Any

import pytest

from looms import EffectContext, Event, ModuleError, Retry
from looms.testing import runtime
from tests.actors.desk import ONE, Done, Errand, running


async def real(errand: Errand) -> Done:
    raise AssertionError("a test must not get here")


async def test_another_handler_is_tried_as_often_as_the_effects_own() -> None:
    attempts: list[int] = []

    async def fake(errand: Errand, ctx: EffectContext) -> Done:
        attempts.append(ctx.attempt)
        if ctx.attempt < 3:
            raise ConnectionError
        return Done(errand.what)

    modules, desk = running(real, retry=Retry(attempts=3, backoff=60))
    effect = modules[1].effects["errands.run"]
    async with runtime(modules, effects={effect: fake}) as rt:
        run = await rt.start(desk, ONE, run_id="d1")
        await rt.clock.advance(3600)
        assert (await run.state()).done == (ONE.what,)
    assert attempts == [1, 2, 3]
    assert effect.function is real


async def test_it_may_be_a_plain_function_of_the_request_alone() -> None:
    def fake(errand: Errand) -> list[Event]:
        return [Done("one"), Done("two")]

    modules, desk = running(real)
    async with runtime(modules, effects={modules[1].effects["errands.run"]: fake}) as rt:
        run = await rt.start(desk, ONE)
        await rt.clock.advance(0)
        assert (await run.state()).done == ("one", "two")


@pytest.mark.parametrize(
    ("of", "handler", "message"),
    [
        ("here", 5, "5 is not a function"),
        ("here", lambda: None, r"a handler takes \(request\) or \(request, ctx\)"),
        ("elsewhere", real, "errands.run is an effect of no module here"),
        ("text", real, "'errands.run' is not an effect"),
    ],
)
async def test_what_is_no_handler_or_of_no_effect_is_refused(of: str, handler: Any, message: str) -> None:
    modules, _ = running(real)
    elsewhere, _ = running(real)
    effects: dict[str, Any] = {
        "here": modules[1].effects["errands.run"],
        "elsewhere": elsewhere[1].effects["errands.run"],
        "text": "errands.run",
    }
    with pytest.raises(ModuleError, match=message):
        async with runtime(modules, effects={effects[of]: handler}):
            raise AssertionError("it must not open")
