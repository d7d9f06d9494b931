"""A run that its log does not lead to is found out."""

from pathlib import Path

import msgspec
import pytest

from looms import Event, Module, Reduced, Started, State, TimedOut, UnknownRun, replace, sleep, step
from looms.testing import TestClock, assert_replays, runtime
from tests.looms.shop import MODULES, OPEN, Closed, Paid, order, till

LEAK: list[str] = []

desk = Module("desk")


@desk.event("noted")
class Noted(Event):
    text: str


class Notes(State):
    texts: list[str] = msgspec.field(default_factory=list)
    leaked: int = 0


@desk.reducer("leaky", state=Notes)
def leaky(state: Notes, event: Started[None] | Noted) -> Reduced[Notes]:
    LEAK.append("called")
    return replace(state, leaked=len(LEAK))


@desk.reducer("mutating", state=Notes)
def mutating(state: Notes, event: Started[None] | Noted) -> Reduced[Notes]:
    if isinstance(event, Noted):
        state.texts.append(event.text)
    return state


@desk.reducer("moody", state=Notes)
def moody(state: Notes, event: Started[None] | Noted | TimedOut) -> Reduced[Notes]:
    LEAK.append("called")
    return step(state, sleep(len(LEAK)))


async def test_runs_that_replay_pass(path: Path, clock: TestClock) -> None:
    async with runtime(MODULES, path, clock, snapshot_every=2) as rt:
        run = await rt.start(till, OPEN)
        for amount in range(1, 6):
            await run.signal(Paid(amount))
        other = await rt.start(order, OPEN)
        await rt.clock.advance(61)
        await assert_replays(run)
        await run.signal(Closed())
        await assert_replays(other)
        await assert_replays(rt)
    async with runtime(MODULES, path, clock) as rt:
        await assert_replays(rt)


async def test_a_state_that_depends_on_more_than_its_events_is_found() -> None:
    async with runtime([desk]) as rt:
        run = await rt.start(leaky, run_id="n1")
        await run.signal(Noted("a"))
        with pytest.raises(AssertionError, match=r"run n1 does not replay: .*live .* at `\$\.state\.leaked`"):
            await assert_replays(run)


async def test_a_state_that_was_changed_in_place_is_found() -> None:
    async with runtime([desk], snapshot_every=1) as rt:
        run = await rt.start(mutating, run_id="n1")
        await run.signal(Noted("a"), Noted("b"))
        with pytest.raises(AssertionError, match="run n1 does not replay"):
            await assert_replays(rt)


async def test_a_decision_that_would_be_another_one_is_found() -> None:
    async with runtime([desk]) as rt:
        run = await rt.start(moody, run_id="n1")
        with pytest.raises(AssertionError, match=r"at seq 1 \(looms\.started\), decided"):
            await assert_replays(run)


async def test_a_suspended_run_may_replay(path: Path) -> None:
    async with runtime(MODULES, path) as rt:
        run = await rt.start(till, OPEN)
        await assert_replays(run)
        with pytest.raises(UnknownRun):
            await assert_replays(rt.run("nobody"))


async def test_a_state_that_no_snapshot_can_hold_is_found_out(path: Path, clock: TestClock) -> None:
    module = Module("loose")

    class Loose(State):
        pair: tuple[int, ...] = ()

    @module.reducer("loose", state=Loose)
    def loose(state: Loose, event: Started[None]) -> Reduced[Loose]:
        return replace(state, pair=[1, 2])  # a tuple was declared

    async with runtime([module], path, clock) as rt:
        run = await rt.start(loose, run_id="l1")
        with pytest.raises(AssertionError, match=r"run l1 .*the state of root cannot be stored .* - at `\$\.pair`"):
            await assert_replays(run)
