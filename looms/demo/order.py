"""An order, from the moment it is placed until its parcel is on the way.

    placed --(the bank charges)--> charged --(a person approves)--> approved --(a parcel is booked)--> shipped

This is all of the application: what may happen (events), what it does to the outside world (effects), and what follows
from what (reducers: plain functions, which a test calls without a runtime).
"""

from datetime import timedelta

import msgspec

from looms import (
    ChildCompleted,
    EffectContext,
    Event,
    Module,
    Reduced,
    Retry,
    Started,
    State,
    TimedOut,
    complete,
    fail,
    invoke,
    replace,
    spawn,
    step,
    wait,
)
from looms.demo.bank import bank

APPROVE_WITHIN = timedelta(days=2)


# Payments: a bank that does not always answer.

payments = Module("payments")


class Charge(msgspec.Struct, frozen=True):
    order_id: str
    cents: int


@payments.event("charged")
class Charged(Event):
    order_id: str
    receipt: str


@payments.effect("charge", retry=Retry(attempts=5, backoff=0.2), timeout=10)
async def charge(request: Charge, ctx: EffectContext) -> Charged:
    """Ask the bank; as often as it takes, for it knows a charge by the effect's id, which never changes."""
    receipt = await bank().charge(request.cents, idempotency_key=ctx.effect_id)
    return Charged(order_id=request.order_id, receipt=receipt)


# Shipping: a thread of its own in the order's run.

shipping = Module("shipping")


class Parcel(msgspec.Struct, frozen=True):
    order_id: str


@shipping.event("booked")
class Booked(Event):
    tracking: str


@shipping.effect("book")
async def book(parcel: Parcel, ctx: EffectContext) -> Booked:
    return Booked(tracking=f"parcel of {parcel.order_id}")


class Shipment(State):
    tracking: str = ""


@shipping.reducer("shipment", state=Shipment)
def shipment(state: Shipment, event: Started[Parcel] | Booked) -> Reduced[Shipment]:
    match event:
        case Started(input=parcel):
            return step(state, invoke(book, parcel))
        case Booked(tracking=tracking):
            return step(replace(state, tracking=tracking), complete(tracking))


# Orders: what ties them together.

orders = Module("orders", requires=[payments, shipping])


class Item(msgspec.Struct, frozen=True):
    name: str
    cents: int


class PlaceOrder(msgspec.Struct, frozen=True):
    order_id: str
    items: tuple[Item, ...]


@orders.event("approved")
class Approved(Event):
    order_id: str
    by: str


@orders.event("rejected")
class Rejected(Event):
    order_id: str
    reason: str


class Order(State):
    status: str = "new"
    items: tuple[Item, ...] = ()
    cents: int = 0
    receipt: str = ""
    approved_by: str = ""
    tracking: str = ""


@orders.reducer("order", state=Order)
def order(
    state: Order, event: Started[PlaceOrder] | Charged | Approved | Rejected | TimedOut | ChildCompleted
) -> Reduced[Order]:
    match event:
        case Started(input=PlaceOrder(order_id=order_id, items=items)):
            cents = sum(item.cents for item in items)
            placed = replace(state, status="placed", items=items, cents=cents)
            return step(placed, invoke(charge, Charge(order_id=order_id, cents=cents)))

        case Charged(order_id=order_id, receipt=receipt):
            approval = wait(
                Approved,
                Rejected,
                match={"order_id": order_id},
                timeout=APPROVE_WITHIN.total_seconds(),
                id="approval",
            )
            return step(replace(state, status="charged", receipt=receipt), approval)

        case Approved(order_id=order_id, by=by):
            parcel = spawn(shipment, Parcel(order_id=order_id), id="shipment")
            return step(replace(state, status="approved", approved_by=by), parcel)

        case ChildCompleted(output=tracking):
            shipped = replace(state, status="shipped", tracking=tracking)
            return step(shipped, complete({"receipt": state.receipt, "tracking": tracking}))

        case Rejected(reason=reason):
            return step(replace(state, status="rejected"), fail(reason))

        case TimedOut():
            return step(replace(state, status="expired"), fail(f"nobody approved within {APPROVE_WITHIN.days} days"))


modules = [payments, shipping, orders]
