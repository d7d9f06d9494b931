"""An effect is settled by hand with what its handler may return, where its annotation says so, and nothing else."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import pytest

from looms import Event, InvalidEvent
from looms.testing import runtime
from tests.actors.desk import ONE, Done, Errand, Found, Progressed, running, types
from tests.actors.logged import logging, said


async def one(request: Errand) -> Done:
    raise OSError("no line")


async def several(request: Errand) -> list[Done | Found] | None:
    raise OSError("no line")


def in_a_thread(request: Errand) -> Annotated[Sequence[Done], "some"]:
    raise OSError("no line")


async def unsaid(request: Errand):  # type: ignore[no-untyped-def]
    raise OSError("no line")


async def anything(request: Errand) -> Any:
    raise OSError("no line")


async def any_event(request: Errand) -> Event:
    raise OSError("no line")


async def on_the_way(request: Errand) -> None:
    raise OSError("no line")


@pytest.mark.parametrize(
    ("handler", "names"),
    [(one, "office.done"), (several, "office.done or office.found"), (in_a_thread, "office.done")],
)
async def test_what_the_handler_never_returns_is_refused_and_leaves_nothing(
    handler: Callable[..., Any], names: str
) -> None:
    modules, desk = running(handler)
    async with runtime(modules) as rt:
        run = await rt.start(desk, ONE, run_id="d1")
        await rt.clock.advance(0)
        before = await types(run)
        with pytest.raises(InvalidEvent, match=f"errands.run never answers with office.progressed, but with {names},"):
            await run.settle_effect("d1:1:0", Done("a"), Progressed(percent=1))
        assert await types(run) == before
        assert [effect.id for effect in (await run.inspect()).effects] == ["d1:1:0"]
        await run.settle_effect("d1:1:0", Done("a"))
        assert (await run.state()).done == ("a",)


@pytest.mark.parametrize("handler", [unsaid, anything, any_event, on_the_way])
async def test_where_no_event_is_named_any_will_do(handler: Callable[..., Any]) -> None:
    modules, desk = running(handler)
    async with runtime(modules) as rt:
        run = await rt.start(desk, ONE, run_id="d1")
        await rt.clock.advance(0)
        await run.settle_effect("d1:1:0", Progressed(percent=1))
        assert (await run.state()).progress == (1,)


async def test_what_a_handler_itself_returns_is_recorded_and_told_once() -> None:
    async def other(request: Errand) -> Done:
        return Progressed(percent=5)  # type: ignore[return-value]

    with logging() as told:
        modules, desk = running(other)
        async with runtime(modules) as rt:
            run = await rt.start(desk, Errand(times=3))
            await rt.clock.advance(0)
            assert (await run.state()).progress == (5, 5, 5)
    assert said(told, "effect answered with what its annotation does not name") == [
        {"effect": "errands.run", "type": "office.progressed"}
    ]
