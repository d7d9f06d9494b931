"""A deploy renames an event, or no longer handles one: whoever waits under the old code is neither missed nor lost."""

from pathlib import Path

import pytest

from looms import Event, Module, Reduced, ReducerError, Started, State, TimedOut, complete, sleep, step, wait
from looms.testing import TestClock, runtime


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
