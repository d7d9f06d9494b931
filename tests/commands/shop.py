"""An application for the command line to work with. It prints in every way there is, wherever its code is run."""

import os
import sys

import msgspec

from looms import (
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

NOISE = "noise from the application"


def noise() -> None:
    print(NOISE)  # noqa: T201 - that is what it is for
    print(NOISE, file=sys.__stdout__)
    os.write(1, f"{NOISE}\n".encode())


noise()

shop = Module("shop")


@shop.event("paid")
class Paid(Event):
    order_id: str
    amount: int


@shop.event("noted")
class Noted(Event):
    text: str


@shop.event("packed")
class Packed(Event):
    parcel: str


class PlaceOrder(msgspec.Struct, frozen=True):
    order_id: str


class Pack(msgspec.Struct, frozen=True):
    order_id: str


@shop.effect("pack", retry=Retry(attempts=1))
async def pack(request: Pack) -> Packed:
    noise()
    return Packed(parcel=f"parcel of {request.order_id}")


class Parcel(State):
    parcel: str = ""


@shop.reducer("parcel", state=Parcel)
def parcel(state: Parcel, event: Started[Pack] | Packed) -> Reduced[Parcel]:
    noise()
    match event:
        case Started(input=request):
            return step(state, invoke(pack, request))
        case Packed(parcel=packed):
            return step(replace(state, parcel=packed), complete(packed))


class Order(State):
    status: str = "new"
    paid: int = 0
    notes: tuple[str, ...] = ()
    counts: dict[int, bytes] = msgspec.field(default_factory=dict)


@shop.reducer("order", state=Order)
def order(state: Order, event: Started[PlaceOrder] | Paid | Noted | TimedOut) -> Reduced[Order]:
    noise()
    match event:
        case Started(input=PlaceOrder(order_id=order_id)):
            payment = wait(Paid, match={"order_id": order_id}, timeout=86_400, id="payment")
            return step(replace(state, status="placed"), payment)
        case Paid(order_id=order_id, amount=amount):
            packing = spawn(parcel, Pack(order_id=order_id), id="parcel")
            return step(replace(state, status="paid", paid=amount), packing)
        case Noted(text="refuse this"):
            raise ValueError("it says so")
        case Noted(text=text):
            counts = {**state.counts, len(text): text[:1].encode()}
            return replace(state, notes=(*state.notes, text), counts=counts)
        case TimedOut():
            return step(replace(state, status="expired"), fail("nobody paid"))


modules = [shop]
