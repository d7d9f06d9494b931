"""A store holds what today's code lacks: it says so when it is opened, can be read all the same, and is not harmed."""

from pathlib import Path
from typing import Any

import pytest

from looms import (
    Event,
    InvalidEvent,
    Module,
    Reader,
    Reduced,
    ReducerError,
    RunSuspended,
    Runtime,
    Started,
    State,
    complete,
    replace,
    step,
    wait,
)
from looms.testing import TestClock, runtime
from tests.actors.logged import Logged, said
from tests.looms.shop import everything, log

orders = Module("orders")


class Order(State):
    paid: int = 0


def payments(version: int = 1) -> tuple[Module, Any]:
    module = Module("payments")
    if version == 1:

        @module.event("charged")
        class Charged(Event):
            order: str
            cents: int = 1

        return module, Charged

    class ChargedAnew(Event):
        order_id: str
        cents: int = 1

    module.event("charged", version=2)(ChargedAnew)
    module.upcast("charged", to=2)(lambda old: {"order_id": old["order"], "cents": old["cents"]})
    return module, ChargedAnew


def code(version: int = 1, *, without: bool = False) -> tuple[list[Module], Any]:
    """Orders that wait for a payment, with the payments or without them."""
    module = Module("orders")
    paying, charged = payments(version)

    @module.event("noted")
    class Noted(Event):
        text: str = ""

    if without:

        @module.reducer("order", state=Order)
        def order_without(state: Order, event: Started[str] | Noted) -> Reduced[Order]:
            return state

        return [module], None

    @module.reducer("order", state=Order)
    def order(state: Order, event: Started[str] | charged | Noted) -> Reduced[Order]:  # type: ignore[valid-type]
        match event:
            case Started(input=order_id):
                return step(state, wait(charged, match={charged.__struct_fields__[0]: order_id}))
            case Noted():
                return step(state, complete(state.paid))
        return replace(state, paid=state.paid + event.cents)

    return [paying, module], charged


async def filled(path: Path, clock: TestClock, version: int = 1) -> None:
    """One order that was paid, one that was not, and one that is over."""
    modules, charged = code(version)
    async with runtime(modules, path, clock) as rt:
        for run_id in ("paid", "open", "over"):
            await rt.start(modules[1].definitions["orders.order"], run_id, run_id=run_id)
        for run_id in ("paid", "over"):
            await rt.run(run_id).signal(charged(run_id))
        await rt.run("over").signal(rt.event("orders.noted", {}))


# A module that is gone


async def test_opening_says_which_event_is_gone_with_its_module_and_how_many_wait_for_it(
    path: Path, clock: TestClock, logged: Logged
) -> None:
    await filled(path, clock)
    modules, _ = code(without=True)
    async with runtime(modules, path, clock):
        (told,) = said(logged, "event missing")
    assert (told["type"], told["waits"]) == ("payments.charged", 1)
    assert "payments.charged is an event of module payments, which is not among the modules here" in told["reason"]


async def test_runs_with_events_of_a_module_that_is_gone_can_be_read_and_say_what_is_missing(
    path: Path, clock: TestClock
) -> None:
    await filled(path, clock)
    before, _ = code()
    async with runtime(before, path, clock) as rt:
        shown = await everything(rt)
    modules, _ = code(without=True)
    async with runtime(modules, path, clock) as rt:
        run = rt.run("paid")
        record = (await log(run))[1]
        assert (record.type, record.payload, record.event) == (
            "payments.charged",
            {"order": "paid", "cents": 1},
            None,
        )
        assert (await log(rt.run("open")))[0].instructions[0].types == ("payments.charged",)  # type: ignore[union-attr]
        assert len([commit async for commit in rt.commits()]) == 6
        assert len([summary async for summary in rt.runs()]) == 3
        for refused in (run.inspect(), run.replay_to(2), run.signal(rt.event("orders.noted", {}))):
            with pytest.raises(
                ReducerError, match=r"payments\.charged is an event of module payments, which is not among the modules"
            ):
                await refused
        assert (await run.replay_to(1)).after.seq == 1
        assert (await rt.run("open").inspect()).status == "waiting"
        found = await rt.verify("paid")
        assert found.first_divergence is not None
        assert (found.first_divergence.seq, found.first_divergence.kind) == (1, "decided")
        assert "payments" in (found.stopped or "")
    async with Reader(path, modules=modules) as reader:
        assert [r.type async for r in reader.run("paid").events()] == ["looms.started", "payments.charged"]
    async with Reader(path) as reader:
        assert (await reader.run("paid").inspect()).status == "waiting"
    async with runtime(before, path, clock) as rt:
        assert await everything(rt) == shown


# A deploy that is rolled back


async def test_records_of_newer_code_suspend_their_runs_until_it_is_back_and_nothing_is_harmed(
    path: Path, clock: TestClock, logged: Logged
) -> None:
    await filled(path, clock, version=2)
    newer, charged = code(2)
    async with runtime(newer, path, clock) as rt:
        shown = await everything(rt)
    logged.clear()
    older, old_charged = code(1)
    async with runtime(older, path, clock) as rt:
        (told,) = said(logged, "event is newer")
        assert (told["type"], told["version"], told["known"]) == ("payments.charged", 2, 1)
        assert "newer code wrote payments.charged as version 2" in told["reason"]
        assert [record.event for record in await log(rt.run("paid"))][1] is None
        with pytest.raises(ReducerError, match="written as version 2, and today's code knows versions up to 1"):
            await rt.run("paid").signal(old_charged("paid"))
        with pytest.raises((ReducerError, RunSuspended)):
            await rt.run("paid").state()
        # Those that hold no such event go on, with events of the old version.
        assert (await rt.run("open").signal(rt.event("orders.noted", {}))).seq == 2
        assert await rt.run("open").result() == 0
        found = await rt.verify("paid")
        assert found.first_divergence is not None
        assert (found.first_divergence.kind, found.first_divergence.seq) == ("decided", 1)
        assert "newer code wrote this store" in (found.stopped or "")
    async with runtime(newer, path, clock) as rt:
        assert (await everything(rt))[2][0] == shown[2][0]
        assert (await rt.run("paid").signal(charged("paid", cents=3))).seq == 3
        assert (await rt.run("paid").state()).paid == 4


async def test_the_same_code_lacks_nothing(path: Path, clock: TestClock, logged: Logged) -> None:
    await filled(path, clock)
    for version in (1, 2):
        async with runtime(code(version)[0], path, clock):
            pass
    assert said(logged, "event missing") + said(logged, "event is newer") == []


# Chains of upcasts


@pytest.mark.parametrize("make", [Runtime, Reader])
def test_a_chain_with_a_gap_is_refused_where_the_code_is_given(path: Path, make: Any) -> None:
    module = Module("people")

    @module.event("moved", version=3)
    class Moved(Event):
        to: str

    module.upcast("moved", to=2)(dict)
    with pytest.raises(Exception, match=r"declare @people\.upcast\('moved', to=3\)") as refused:
        make(path, modules=[module])
    assert type(refused.value).__name__ == "ModuleError"
    assert not path.exists()


async def test_an_upcast_that_raises_is_an_error_of_its_run_alone(path: Path, clock: TestClock) -> None:
    await filled(path, clock)
    modules, _ = code(2)
    modules[0].events["payments.charged"].upcasts[2] = lambda old: {"order_id": old["ordre"]}
    async with runtime(modules, path, clock) as rt:
        with pytest.raises(ReducerError, match="the upcast to version 2 raised KeyError: 'ordre'") as refused:
            await rt.run("paid").state()
        assert isinstance(refused.value.__cause__, InvalidEvent)
        assert (await rt.run("open").inspect()).status == "waiting"
