"""A deploy renames an event, or no longer handles one: whoever waits under the old code is neither missed nor lost."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from looms import (
    Event,
    Module,
    ModuleError,
    Reduced,
    ReducerError,
    Runtime,
    Started,
    State,
    TimedOut,
    complete,
    sleep,
    step,
    wait,
)
from looms.reducers.registry import Registry
from looms.testing import TestClock, runtime
from tests.actors.logged import Logged, said
from tests.actors.rows import owned


def till(name: str, formerly: tuple[str, ...] = ()) -> tuple[Module, type[Event]]:
    module = Module("till")

    @module.event(name, formerly=formerly)
    class Paid(Event):
        order: str

    @module.reducer("order", state=State)
    def order(state: State, event: Started[str] | Paid) -> Reduced[State]:
        if isinstance(event, Started):
            return step(state, wait(Paid, match={"order": event.input}))
        return step(state, complete(event.order))

    return module, Paid


async def test_a_run_that_waits_under_an_old_name_gets_what_is_published_under_the_new_one(
    path: Path, clock: TestClock
) -> None:
    module, _ = till("paid")
    async with runtime([module], path, clock) as rt:
        await rt.start(module.definitions["till.order"], "o1", run_id="o1")
    module, settled = till("settled", formerly=("paid",))
    async with runtime([module], path, clock) as rt:
        assert (await rt.publish(settled(order="o2"))).runs == []
        assert (await rt.publish(settled(order="o1"))).runs == ["o1"]
        assert await rt.run("o1").result() == "o1"


async def test_an_event_kept_under_an_old_name_meets_a_wait_under_the_new_one(path: Path, clock: TestClock) -> None:
    module, paid = till("paid")
    async with runtime([module], path, clock) as rt:
        assert (await rt.publish(paid(order="o1"), retain=60)).runs == []
    module, _ = till("settled", formerly=("paid",))
    async with runtime([module], path, clock) as rt:
        run = await rt.start(module.definitions["till.order"], "o1")
        assert await run.result() == "o1"


def bell(*, handled: bool) -> tuple[Module, type[Event]]:
    module = Module("bell")

    @module.event("rung")
    class Rung(Event):
        pass

    def answer(state: State, event: Event) -> Reduced[State]:
        if isinstance(event, Started):
            return step(state, wait(Rung) if event.input == "wait" else sleep(10))
        return step(state, complete(type(event).__name__))

    answer.__annotations__["event"] = Started[str] | Rung | TimedOut if handled else Started[str]
    module.reducer("porter", state=State)(answer)
    return module, Rung


async def test_a_deadline_that_todays_code_does_not_handle_suspends_the_run_until_it_does(
    path: Path, clock: TestClock
) -> None:
    module, _ = bell(handled=True)
    async with runtime([module], path, clock) as rt:
        await rt.start(module.definitions["bell.porter"], "sleep", run_id="p1")
    module, _ = bell(handled=False)
    async with runtime([module], path, clock) as rt:
        await clock.advance(10)
        inspected = await rt.run("p1").inspect()
        assert (inspected.status, len(inspected.waits)) == ("suspended", 1)
        assert "does not handle TimedOut" in (inspected.error or "")
    module, _ = bell(handled=True)
    async with runtime([module], path, clock) as rt:
        await rt.run("p1").resume()
        assert await rt.run("p1").result() == "TimedOut"


async def test_a_wait_that_todays_code_does_not_handle_is_not_used_up(path: Path, clock: TestClock) -> None:
    module, _ = bell(handled=True)
    async with runtime([module], path, clock) as rt:
        await rt.start(module.definitions["bell.porter"], "wait", run_id="p1")
    module, rung = bell(handled=False)
    async with runtime([module], path, clock) as rt:
        with pytest.raises(ReducerError, match="does not handle Rung"):
            await rt.run("p1").signal(rung())
        assert (await rt.publish(rung())).runs == ["p1"]
        assert (await rt.run("p1").inspect()).status == "suspended"
    module, _ = bell(handled=True)
    async with runtime([module], path, clock) as rt:
        await rt.run("p1").resume()
        assert await rt.run("p1").result() == "Rung"


# Fields


def counter(version: int, **upcast: Any) -> tuple[Module, Any]:
    """A counter whose orders wait for their payment; the field that they match on got another name."""
    module = Module("counter")
    field = "order" if version == 1 else "order_id"
    cls: Any = msgspec.defstruct("Paid", [(field, str), ("cents", int, 1)], bases=(Event,), frozen=True)
    module.event("paid", version=version)(cls)
    if version == 2:
        module.upcast("paid", to=2, **upcast)(lambda payload: payload)

    def order(state: State, event: Event) -> Reduced[State]:
        if isinstance(event, Started):
            return step(state, wait(cls, match={field: event.input, "cents": 1}))
        return step(state, complete(getattr(event, field)))

    order.__annotations__["event"] = Started[str] | cls
    module.reducer("order", state=State)(order)
    return module, cls


RENAMED = {"renamed": {"order": "order_id"}}


@pytest.mark.parametrize("how", ["signal", "publish"])
async def test_a_wait_on_a_field_that_was_renamed_is_met_by_events_that_have_the_new_name(
    path: Path, clock: TestClock, how: str
) -> None:
    module, _ = counter(1)
    async with runtime([module], path, clock, snapshot_every=1) as rt:
        for run_id in ("o1", "o2"):
            await rt.start(module.definitions["counter.order"], run_id, run_id=run_id)
    module, paid = counter(2, **RENAMED)
    async with runtime([module], path, clock) as rt:
        assert (await rt.verify("o1")).ok
        await rt.start(module.definitions["counter.order"], "o3", run_id="o3")
        for run_id in ("o2", "o1", "o3"):
            if how == "publish":
                assert (await rt.publish(paid(order_id=run_id, cents=2))).runs == []
                assert (await rt.publish(paid(order_id=run_id))).runs == [run_id]
            else:
                await rt.run(run_id).signal(paid(order_id=run_id))
            assert await rt.run(run_id).result() == run_id
        assert owned(rt) == {}


async def test_mail_and_kept_events_from_before_a_field_was_renamed_meet_waits_made_after(
    path: Path, clock: TestClock
) -> None:
    module, paid = counter(1)
    async with runtime([module], path, clock) as rt:
        assert (await rt.publish(paid(order="o1"), retain=60)).runs == []
        assert (await rt.publish(paid(order="o2", cents=2), retain=60)).runs == []
    module, _ = counter(2, **RENAMED)
    async with runtime([module], path, clock) as rt:
        run = await rt.start(module.definitions["counter.order"], "o1")
        assert await run.result() == "o1"
        other = await rt.start(module.definitions["counter.order"], "o2")
        assert (await other.inspect()).status == "waiting"


async def test_waits_on_a_field_that_is_gone_are_told_when_the_store_is_opened(
    path: Path, clock: TestClock, logged: Logged
) -> None:
    module, _ = counter(1)
    async with runtime([module], path, clock) as rt:
        for run_id in ("o1", "o2"):
            await rt.start(module.definitions["counter.order"], run_id, run_id=run_id)
    module, _ = counter(2, **RENAMED)
    async with runtime([module], path, clock):
        assert said(logged, "field missing") == []
    module, _ = counter(2)
    async with runtime([module], path, clock) as rt:
        (told,) = said(logged, "field missing")
        assert (told["type"], told["field"], told["waits"]) == ("counter.paid", "order", 2)
        assert "renamed={'order': ...}" in told["reason"]
        found = (await rt.verify("o1")).first_divergence
        assert found is not None
        assert (found.seq, found.kind) == (1, "decided")


@pytest.mark.parametrize(
    ("renamed", "message"),
    [
        ({"order": "ordr_id"}, r"renamed=\{'order': 'ordr_id'\}.*no field 'ordr_id'; did you mean 'order_id'"),
        ({"cents": "order_id"}, r"renamed=\{'cents': ...\}, and there is a field 'cents' again"),
        ({"order": 5}, r"give \{'old name': 'new name'\}"),
    ],
)
def test_what_cannot_be_renamed_is_refused(path: Path, renamed: dict[str, Any], message: str) -> None:
    with pytest.raises(ModuleError, match=message):
        Runtime(path, modules=[counter(2, renamed=renamed)[0]])


def test_names_of_fields_are_followed_through_all_versions(path: Path) -> None:
    module = Module("chain")

    @module.event("said", version=4)
    class Said(Event):
        c: int
        z: int

    module.upcast("said", to=2, renamed={"a": "b"})(lambda payload: {**payload, "y": 1})
    module.upcast("said", to=3, renamed={"b": "c", "y": "z"})(lambda payload: payload)
    module.upcast("said", to=4)(lambda payload: payload)
    kind = Registry([module]).event_named("chain.said")
    assert kind.called == {"a": "c", "b": "c", "y": "z"}
    assert kind.unpack(msgspec.msgpack.encode({"a": 7}), 1) == Said(c=7, z=1)
    assert kind.unpack(msgspec.msgpack.encode({"b": 7, "y": 2}), 2) == Said(c=7, z=2)
