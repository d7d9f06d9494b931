"""A small shop whose orders ask for things."""

from collections.abc import Callable
from typing import Any

import msgspec

from looms.reducers.events import Event
from looms.reducers.instructions import (
    Instruction,
    Reduced,
    step,
)
from looms.reducers.lifecycle import Started, TimedOut
from looms.reducers.modules import Module
from looms.reducers.state import State
from tests.reducers.story import Story

shop = Module("shop")


class Line(msgspec.Struct, frozen=True):
    sku: str
    count: int = 1


class Card(msgspec.Struct, frozen=True, tag=True):
    number: str


class Cash(msgspec.Struct, frozen=True, tag="cash"):
    coins: int


@shop.event("ordered")
class Ordered(Event, rename="camel"):
    order_id: str
    lines: tuple[Line, ...] = ()
    by_sku: dict[str, Line] = msgspec.field(default_factory=dict)
    first: Line | None = None
    paid_with: Card | Cash | None = None
    note: Any = None
    loose: Line | str = ""
    pair: tuple[Line, int] | None = None


@shop.event("shut")
class Shut(Event):
    pass


class Nameless(Event):
    pass


@shop.effect("ship")
async def ship(request: str) -> None: ...


asked: list[Callable[[], list[Any]]] = []


@shop.reducer("order", state=State, output=int)
def order(state: State, event: Started[None] | Ordered | Shut | TimedOut) -> Reduced[State]:
    """Asks for what the test says."""
    return step(state, *asked[0]()) if isinstance(event, Shut) else state


def recorded(*instructions: Instruction) -> tuple[Instruction, ...]:
    """The instructions of a record, as they are read back, when a reducer asks for these."""
    asked[:] = [lambda: list(instructions)]
    story = Story(order, [shop])
    story.tell(Shut())
    return story.records[1].instructions
