"""A till that counts what it is told, and the few functions that these tests share."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from looms import (
    CancelRequested,
    Event,
    Module,
    Record,
    Reduced,
    Run,
    Runtime,
    Started,
    State,
    TimedOut,
    cancelled,
    complete,
    replace,
    step,
    wait,
)
from tests.actors.rows import rows

shop = Module("shop")


@shop.event("paid")
class Paid(Event):
    amount: int = 1


@shop.event("refunded")
class Refunded(Event):
    amount: int = 1


@shop.event("closed")
class Closed(Event):
    pass


class Open(msgspec.Struct, frozen=True):
    owner: str = ""


class Takings(State):
    owner: str = ""
    total: int = 0
    payments: int = 0


calls: list[str] = []
"""The types of the events that the till's reducer was given, in this process."""


@shop.reducer("till", state=Takings, output=int)
def till(state: Takings, event: Started[Open] | Paid | Closed) -> Reduced[Takings]:
    calls.append(type(event).__name__)
    match event:
        case Started(input=Open(owner=owner)):
            return replace(state, owner=owner)
        case Paid(amount=amount):
            if amount < 0:
                raise ValueError("a payment is not negative")
            return replace(state, total=state.total + amount, payments=state.payments + 1)
        case Closed():
            return step(state, complete(state.total))


@shop.reducer("order", state=Takings)
def order(state: Takings, event: Started[Open] | Paid | TimedOut | CancelRequested) -> Reduced[Takings]:
    """Waits for its payment for a minute; asked to end, it does so at once."""
    match event:
        case Started(input=Open(owner=owner)):
            return step(replace(state, owner=owner), wait(Paid, timeout=60, id="payment"))
        case Paid(amount=amount):
            return step(replace(state, total=amount), complete(amount))
        case TimedOut():
            return step(state, complete("nobody paid"))
        case CancelRequested(reason=reason):
            return step(state, cancelled(f"as asked: {reason}"))


class Ledger(State):
    total: int = 0


@shop.projection("ledger", state=Ledger)
def ledger(state: Ledger, event: Paid | Refunded) -> Ledger:
    return replace(state, total=state.total + (event.amount if isinstance(event, Paid) else -event.amount))


MODULES = [shop]
OPEN = Open(owner="ann")


async def log(run: Run[Any, Any]) -> list[Record]:
    """All records of a run."""
    return [record async for record in run.events()]


async def types(run: Run[Any, Any]) -> list[str]:
    """The types of all records of a run."""
    return [record.type for record in await log(run)]


async def tell(events: AsyncIterator[Record], note: Callable[[Record], None]) -> None:
    """Tell of each record as it comes."""
    async for record in events:
        note(record)


async def everything(runtime: Runtime) -> Any:
    """All that a runtime shows: its runs, its commits, each run's log and state, and how many rows there are."""
    runs = [summary async for summary in runtime.runs()]
    commits = [commit async for commit in runtime.commits()]
    each = [(await log(runtime.run(s.run_id)), await runtime.run(s.run_id).inspect()) for s in runs]
    return runs, commits, each, rows(runtime)


@asynccontextmanager
async def nothing_changes(runtime: Runtime) -> AsyncIterator[None]:
    """What is done inside must leave no trace."""
    before = await everything(runtime)
    yield
    assert await everything(runtime) == before
