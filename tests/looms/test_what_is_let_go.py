"""An error that a caller was told holds nothing once he has let go of it: not the run, not the turn, not itself.

An error holds the frames that it went through, and what it holds must not lead back to it unseen by the collector.
"""

import gc
import traceback
import weakref
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from looms import (
    Event,
    LoomsError,
    MailboxFull,
    Module,
    Reduced,
    ReducerError,
    RunExists,
    RunFinished,
    Runtime,
    Started,
    State,
    UnknownRun,
    complete,
    step,
    wait,
)

desk = Module("desk")


@desk.event("come")
class Come(Event):
    what: str = ""


@desk.event("never")
class Never(Event):
    pass


class Large(State):
    """A state that can be seen to go."""

    text: str = ""


class Broken(Exception):
    pass


@desk.reducer("reads", state=Large)
def reads(state: Large, event: Started[None] | Come) -> Reduced[Large]:
    match event:
        case Come(what="raise"):
            raise Broken("the reducer")
        case Come(what="end"):
            return step(state, complete(None))
    return state


@desk.reducer("waits", state=Large)
def waits(state: Large, event: Started[None] | Come | Never) -> Reduced[Large]:
    return step(state, wait(Come, match={"what": "this"})) if isinstance(event, Started) else state


async def _raises(rt: Runtime) -> None:
    await rt.run("r").signal(Come("raise"))


async def _finished(rt: Runtime) -> None:
    await rt.run("r").signal(Come("end"))
    await rt.run("r").signal(Come())


async def _unknown(rt: Runtime) -> None:
    await rt.run("nobody").signal(Come())


async def _exists(rt: Runtime) -> None:
    await rt.start(reads, run_id="r")


async def _full(rt: Runtime) -> None:
    await rt.run("w").signal(*(Come() for _ in range(3)))


REFUSALS: dict[type[LoomsError], Callable[[Runtime], Awaitable[None]]] = {
    ReducerError: _raises,
    RunFinished: _finished,
    UnknownRun: _unknown,
    RunExists: _exists,
    MailboxFull: _full,
}


@pytest.mark.parametrize("error", REFUSALS, ids=lambda error: error.__name__)
async def test_what_was_refused_is_let_go_with_its_error(tmp_path: Path, error: type[LoomsError]) -> None:
    told: list[weakref.ref[BaseException]] = []
    async with Runtime(tmp_path / "s", modules=[desk], max_mailbox=2) as rt:
        await rt.start(reads, run_id="r")
        await rt.start(waits, run_id="w")
        try:
            await REFUSALS[error](rt)
        except error as refusal:
            told += [weakref.ref(one) for one in (refusal, refusal.__cause__) if one is not None]
        await rt.start(reads)  # whoever has committed last lets go of what that was about
        await anyio.lowlevel.checkpoint()
        gc.collect()
        assert told
        assert [one() for one in told if one() is not None] == []


async def test_what_is_refused_when_nobody_waits_any_more_is_let_go_too(tmp_path: Path) -> None:
    raised: list[weakref.ref[BaseException]] = []
    reduce = reads.function

    def noting(state: Large, event: Event) -> object:
        if isinstance(event, Come) and event.what == "raise":
            error = Broken("the reducer")
            raised.append(weakref.ref(error))
            raise error
        return reduce(state, event)

    reads.function = noting
    try:
        async with Runtime(tmp_path / "s", modules=[desk]) as rt:
            run = await rt.start(reads, run_id="r")
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(run.signal, Come("raise"))
                await anyio.lowlevel.checkpoint()
                tasks.cancel_scope.cancel()
            await run.signal(Come())
            await anyio.lowlevel.checkpoint()
            gc.collect()
            assert raised
            assert [one() for one in raised if one() is not None] == []
    finally:
        reads.function = reduce


async def test_the_error_of_a_run_that_cannot_be_folded_does_not_grow_with_those_who_hear_it(tmp_path: Path) -> None:
    async with Runtime(tmp_path / "s", modules=[desk]) as rt:
        run = await rt.start(reads, run_id="r")
        await run.signal(Come("later"))
    reduce = reads.function

    def broken(state: Large, event: Event) -> object:
        if isinstance(event, Come):
            raise Broken("today's code")
        return reduce(state, event)

    reads.function = broken
    try:
        async with Runtime(tmp_path / "s", modules=[desk]) as rt:
            for look in (lambda: rt.run("r").inspect(), lambda: rt.run("r").signal(Come())):
                lengths = []
                for _ in range(5):
                    with pytest.raises(ReducerError) as refused:
                        await look()
                    lengths.append(len(traceback.extract_tb(refused.value.__traceback__)))
                assert len(set(lengths[1:])) == 1, lengths
    finally:
        reads.function = reduce
