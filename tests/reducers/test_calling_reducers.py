"""A user's unit test of a reducer: it is called like the function that it is, with no runtime."""

import msgspec

from looms.reducers.definitions import ReduceContext
from looms.reducers.events import Event
from looms.reducers.instructions import Reduced, complete, fail, invoke, step, wait
from looms.reducers.lifecycle import Started, TimedOut
from looms.reducers.modules import Module
from looms.reducers.state import State

shop = Module("shop")


class Place(msgspec.Struct, frozen=True):
    order_id: str
    amount: int


@shop.event("paid")
class Paid(Event):
    order_id: str


@shop.effect("ship")
async def ship(request: str) -> None:
    raise AssertionError("no unit test of a reducer runs an effect")


class OrderState(State):
    status: str = "new"
    amount: int = 0
    since: int = 0


@shop.reducer("order", state=OrderState)
def order(state: OrderState, event: Started[Place] | Paid | TimedOut, ctx: ReduceContext) -> Reduced[OrderState]:
    match event:
        case Started(input=Place(order_id=order_id, amount=amount)):
            placed = OrderState("placed", amount, ctx.at)
            return step(placed, wait(Paid, match={"order_id": order_id}, timeout=60, id="payment"))
        case Paid(order_id=order_id):
            paid = msgspec.structs.replace(state, status="paid")
            return step(paid, invoke(ship, order_id), complete({"paid": state.amount}))
    return step(msgspec.structs.replace(state, status="expired"), fail(f"{ctx.wait} did not come"))


def test_a_reducer_is_tested_by_calling_it() -> None:
    placed = order(OrderState(), Started(Place("o1", 40)), ReduceContext("r1", "root", 1, at=1_000))
    assert placed == step(
        OrderState("placed", 40, since=1_000), wait(Paid, match={"order_id": "o1"}, timeout=60, id="payment")
    )
    paid = order(OrderState("placed", 40), Paid("o1"))
    assert paid == step(OrderState("paid", 40), invoke(ship, "o1"), complete({"paid": 40}))
    expired = order(OrderState("placed", 40), TimedOut("payment"), ReduceContext("r1", "root", 2, 0, wait="payment"))
    assert expired == step(OrderState("expired", 40), fail("payment did not come"))


def test_a_reducer_that_takes_a_context_gets_one_though_none_is_given() -> None:
    assert order(OrderState(), TimedOut("w")) == step(OrderState("expired"), fail("None did not come"))
    seen: list[ReduceContext] = []

    @shop.reducer("watcher", state=OrderState)
    def watcher(state: OrderState, event: Paid, ctx: ReduceContext) -> OrderState:
        seen.append(ctx)
        return state

    watcher(OrderState(), Paid("o1"))
    assert seen == [ReduceContext(run_id="", thread="root", seq=1, at=0, wait=None, recorded=None)]


def test_what_is_declared_is_still_the_function_it_was() -> None:
    @shop.projection("count", state=OrderState)
    def count(state: OrderState, event: Paid) -> OrderState:
        return OrderState(event.order_id)

    @shop.effect("pack")
    def pack(request: str) -> Paid:
        return Paid(request)

    @shop.event("moved", version=2)
    class Moved(Event):
        pass

    @shop.upcast("moved", to=2)
    def moved(payload: dict[str, str]) -> dict[str, str]:
        return {**payload, "to": "here"}

    assert count(OrderState(), Paid("o1")) == OrderState("o1")
    assert pack("o1") == Paid("o1")
    assert moved({"a": "b"}) == {"a": "b", "to": "here"}
