"""A person decides: asked by a workflow, by a reducer, and by the demo's order in its second form."""

from pathlib import Path
from typing import Any

import anyio
import pytest

from looms import DAY, Module, Reduced, RunFailed, Started, State, TimedOut, Workflow, complete, replace, step
from looms.demo import bank, flow
from looms.demo.order import Item, PlaceOrder
from looms.modules import approval
from looms.testing import TestClock, assert_replays, check_module, runtime
from tests.workflows.desk import entries

pytestmark = pytest.mark.anyio


async def pending(run: Any) -> list[str]:
    """The ids of what is to be decided in a run."""
    return [request.id for request in (await run.project(approval.pending)).requests]


async def test_several_questions_at_once_get_the_answers_that_are_meant_for_them(path: Path, clock: TestClock) -> None:
    module = Module("asking", requires=[approval.module])

    @module.workflow("asking")
    async def asking(ctx: Workflow) -> list[str]:
        answers = await ctx.gather(*(approval.ask(ctx, f"{n}?", id=f"q{n}") for n in range(3)))
        return [f"{one.id} {one.approved} {one.note}" for one in answers]

    async with runtime([module], path=path, clock=clock) as rt:
        run = await rt.start(asking, run_id="a")
        assert await pending(run) == ["q0", "q1", "q2"]
        await run.signal(approval.decide("q2", approved=True, note="two"))
        await run.signal(approval.decide("q2", approved=False, note="too late"))
    async with runtime([module], path=path, clock=clock) as rt:
        run = rt.run("a")
        assert await pending(run) == ["q0", "q1"]
        await rt.publish(approval.decide("q0", approved=False, note="zero"))
        await run.signal(approval.decide("q1", approved=True, by="ann"))
        assert await run.result(timeout=5) == ["q0 False zero", "q1 True ", "q2 True two"]
        assert await pending(run) == []
        assert [key for key, _ in await entries(run)][:2] == ["ask q0", "ask q1"]
        await assert_replays(run)


class Gated(State):
    by: str = ""


async def test_a_reducer_asks_by_a_gate() -> None:
    module = Module("gated", requires=[approval.module])

    @module.reducer("gated", state=Gated)
    def gated(state: Gated, event: Started[str] | approval.Decided | TimedOut) -> Reduced[Gated]:
        match event:
            case Started(input=question):
                return step(state, *approval.gate(question, id="gate", timeout=60))
            case approval.Decided(approved=approved, by=by):
                return step(replace(state, by=by), complete(approved))
        return step(state, complete(None))

    check_module(module)
    async with runtime([module]) as rt:
        run = await rt.start(gated, "may I?")
        assert await pending(run) == ["gate"]
        await run.signal(approval.decide("gate", approved=True, by="ann"))
        assert (await run.result(timeout=5), (await run.state()).by) == (True, "ann")
        late = await rt.start(gated, "may I?")
        await rt.clock.advance(60)
        assert await late.result(timeout=5) is None


ORDER = PlaceOrder(order_id="o1", items=(Item(name="loom", cents=900), Item(name="yarn", cents=90)))


@pytest.fixture
def books(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> bank.Bank:
    monkeypatch.setenv(bank.BOOKS, str(tmp_path / "books.jsonl"))
    monkeypatch.setattr(bank, "SLOW", 0)
    return bank.bank()


async def test_the_demos_order_does_the_same_as_a_workflow(path: Path, clock: TestClock, books: bank.Bank) -> None:
    check_module(flow.flows)
    async with runtime(flow.modules, path=path, clock=clock) as rt:
        run = await rt.start(flow.order, ORDER, run_id="o1")
        await clock.advance(1)
        assert [call.did for call in books.calls()] == ["was busy", "charged"]
        assert await pending(run) == ["o1"]
    async with runtime(flow.modules, path=path, clock=clock) as rt:
        run = rt.run("o1")
        await run.signal(approval.decide("o1", approved=True, by="ann"))
        assert await run.result(timeout=5) == {"receipt": "receipt-1", "tracking": "parcel of o1"}
        assert {call.cents for call in books.calls()} == {990}
        await assert_replays(rt)


async def test_and_is_refused_or_expires_as_that_does(clock: TestClock, books: bank.Bank) -> None:
    async with runtime(flow.modules, clock=clock) as rt:
        refused, forgotten = [await rt.start(flow.order, ORDER) for _ in range(2)]
        await clock.advance(1)
        await refused.signal(approval.decide("o1", approved=False, note="too dear"))
        with pytest.raises(RunFailed, match="NotApproved: too dear"):
            await refused.result(timeout=5)
        with anyio.fail_after(5):
            await clock.advance(2 * DAY)
        with pytest.raises(RunFailed, match="NotApproved: nobody approved within 2 days"):
            await forgotten.result(timeout=5)
