"""Code that raises on what the runtime brings suspends its run, whatever it raises; nothing is lost, others go on."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from looms import Reader, ReducerError, RunSuspended
from looms.testing import TestClock, runtime
from tests.actors.desk import log
from tests.actors.rows import owned
from tests.actors.scripts import Answered, Do, play, player
from tests.actors.test_effect_failures import ERRORS


@pytest.fixture
def raises() -> Iterator[list[BaseException]]:
    """What the reducer raises on a timeout, or on an answer about `raise`; nothing, when the list is empty."""
    errors: list[BaseException] = []
    reduce = player.function

    def raising(state: Any, event: Any, ctx: Any) -> Any:
        if errors and (type(event).__name__ == "TimedOut" or getattr(event, "about", "") == "raise"):
            raise errors[0]
        return reduce(state, event, ctx)

    player.function = raising
    yield errors
    player.function = reduce


@pytest.mark.parametrize("what", ERRORS)
async def test_whatever_code_raises_its_run_says_so_and_can_be_resumed(
    path: Path, clock: TestClock, raises: list[BaseException], what: str
) -> None:
    error, name, message = ERRORS[what]
    raises.append(error)
    async with runtime([play], path, clock) as rt:
        run = await rt.start(player, Do(sleeps=(("nap", 60),)), run_id="r")
        other = await rt.start(player, Do(), run_id="other")
        await clock.advance(60)
        inspected = await run.inspect()
        assert (inspected.status, inspected.seq) == ("suspended", 1)
        assert f"{name}: {message}" in (inspected.error or "")
        with pytest.raises(RunSuspended, match=name):
            await run.signal(Answered(about="a"))
        with pytest.raises(ReducerError, match=name) as refused:
            await other.signal(Answered(about="raise"))
        assert refused.value.__cause__ is error
        assert message in str(refused.value)
        await other.signal(Answered(about="a"))
        assert owned(rt) == {"inbox": 1}
    raises.clear()
    async with runtime([play], path, clock) as rt:
        run = rt.run("r")
        await clock.advance(1_000)
        assert (await run.inspect()).status == "suspended"
        async with Reader(path, modules=[play]) as reader:
            assert (await reader.run("r").inspect()).error == inspected.error
        await run.resume()
        assert (await run.state()).seen == (("TimedOut", "nap", None),)
        assert (await run.inspect()).error is None
        assert [record.at for record in await log(run)][1:] == [clock.now()]
        assert owned(rt) == {}


@pytest.mark.parametrize("what", ERRORS)
async def test_whatever_todays_code_raises_on_the_past_is_told_to_who_asks(
    path: Path, clock: TestClock, raises: list[BaseException], what: str
) -> None:
    async with runtime([play], path, clock) as rt:
        run = await rt.start(player, Do(), run_id="r")
        await run.signal(Answered(about="raise"))
    error, name, message = ERRORS[what]
    raises.append(error)
    async with runtime([play], path, clock) as rt:
        for call in (rt.run("r").inspect, lambda: rt.run("r").signal(Answered(about="a"))):
            with pytest.raises(ReducerError, match=name) as refused:
                await call()
            assert message in str(refused.value)
            assert refused.value.seq == 2
    raises.clear()
    async with runtime([play], path, clock) as rt:
        assert (await rt.run("r").signal(Answered(about="a"))).seq == 3
