"""A desk where errands are run: a run that asks for an effect and notes what comes of it, whatever that is.

Each test brings its own handler. The run stays open, so that it can be seen to go on; `Closed` ends it.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from looms import (
    Definition,
    EffectFailed,
    Event,
    Module,
    Record,
    Reduced,
    Run,
    Started,
    State,
    complete,
    invoke,
    replace,
    step,
)

office = Module("office")


@office.event("done")
class Done(Event):
    what: str = ""


@office.event("progressed")
class Progressed(Event):
    percent: int


@office.event("closed")
class Closed(Event):
    pass


@office.event("found")
class Found(Event):
    thing: Any


class Errand(msgspec.Struct, frozen=True):
    what: str = "shopping"
    times: int = 1


class Desk(State):
    progress: tuple[int, ...] = ()
    done: tuple[str, ...] = ()
    found: tuple[Any, ...] = ()
    failed: tuple[EffectFailed, ...] = ()


ONE = Errand()

Handler = Callable[..., Any]


def running(handler: Handler, **options: Any) -> tuple[list[Module], Definition[Desk, Errand, list[str]]]:
    """The modules, and the definition of a run that asks for the handler as often as its errand says."""
    errands = Module("errands", requires=[office])
    effect = errands.effect("run", **options)(handler)
    desk = Module("desk", requires=[office, errands])

    @desk.reducer("desk", state=Desk, output=list[str])
    def at_desk(
        state: Desk, event: Started[Errand] | Done | Found | Progressed | EffectFailed | Closed
    ) -> Reduced[Desk]:
        match event:
            case Started(input=Errand(what=what, times=times)):
                names = [what] if times == 1 else [f"{what} {n}" for n in range(times)]
                return step(state, *(invoke(effect, Errand(what=name)) for name in names))
            case Done(what=what):
                return replace(state, done=(*state.done, what))
            case Found(thing=thing):
                return replace(state, found=(*state.found, thing))
            case Progressed(percent=percent):
                return replace(state, progress=(*state.progress, percent))
            case EffectFailed():
                return replace(state, failed=(*state.failed, event))
            case Closed():
                return step(state, complete(list(state.done)))

    return [office, errands, desk], at_desk


async def log(run: Run[Any, Any]) -> list[Record]:
    """All records of a run."""
    return [record async for record in run.events()]


async def types(run: Run[Any, Any]) -> list[str]:
    """The types of all records of a run."""
    return [record.type for record in await log(run)]


async def until(run: Run[Any, Any], type: str) -> Record:
    """Wait until the run's log has an event of this type, and return its record."""
    async for record in run.events(follow=True):
        if record.type == type:
            return record
    raise AssertionError(f"run {run.id} is over without {type}")
