"""What tests of declarations declare with."""

from collections.abc import Callable
from typing import Any

import pytest

from looms.reducers.effects import EffectContext
from looms.reducers.errors import ModuleError
from looms.reducers.events import Event
from looms.reducers.modules import Module
from looms.reducers.state import State

shop = Module("shop")


@shop.event("paid")
class Paid(Event):
    amount: int


class PaidTwice(Paid):
    pass


class Count(State):
    count: int = 0


class Handle:
    """Something that cannot be stored."""


def refused(declare: Callable[[Module], Any], *parts: str) -> str:
    """What a declaration in a new module `desk` is refused with; it says all of this."""
    with pytest.raises(ModuleError) as caught:
        declare(Module("desk"))
    message = str(caught.value)
    assert [part for part in parts if part not in message] == [], message
    return message


def reducer(state: Count, event: Paid) -> Count:
    return Count(state.count + event.amount)


async def handler(request: str) -> None: ...


def one(state: Any) -> Any: ...


def none() -> Any: ...


def two(request: str, ctx: EffectContext) -> None: ...
