"""The definitions that several benchmarks use: an order that waits, and a tally that takes whatever comes.

They are as small as such things are: a payload of some sixty bytes, a state of a few fields, a reducer of one line. It
is Looms that is measured, and not what it is given to do.
"""

from collections.abc import Callable, Iterator
from typing import Any

import anyio

import looms
from benchmarks.reporting import progress
from looms import (
    DAY,
    Event,
    Module,
    ReduceContext,
    Reduced,
    Run,
    Runtime,
    Started,
    State,
    TimedOut,
    replace,
    step,
    wait,
)

bench = Module("bench")

AT_ONCE = 1_000  # starts that are under way together when a store is made


@bench.event("paid")
class Paid(Event):
    order_id: str
    cents: int


class Order(State):
    cents: int = 0


@bench.reducer("order", state=Order)
def order(state: Order, event: Started[None] | Paid | TimedOut, ctx: ReduceContext) -> Reduced[Order]:
    """Waits for its own payment or for thirty days, again and again."""
    if isinstance(event, Paid):
        state = replace(state, cents=state.cents + event.cents)
    return step(state, wait(Paid, match={"order_id": ctx.run_id}, timeout=30 * DAY))


def order_id(n: int) -> str:
    """The id of the n-th order."""
    return f"order-{n:07d}"


@bench.event("counted")
class Counted(Event):
    amount: int
    note: str = "a note of some forty bytes, as there may be"


class Tally(State):
    count: int = 0
    total: int = 0


class Tallies:
    """How often the tally's reducer was called: to be sure of what was folded."""

    calls = 0


def tally_of(version: int) -> tuple[Module, Any]:
    """The module and the definition of a tally. A store's snapshots hold for one version alone."""
    module = Module("tallies", requires=[bench])

    @module.reducer("tally", state=Tally, version=version)
    def tally(state: Tally, event: Started[None] | Counted) -> Reduced[Tally]:
        Tallies.calls += 1
        if isinstance(event, Started):
            return state
        return Tally(state.count + 1, state.total + event.amount)

    return module, tally


tallies, tally = tally_of(1)
MODULES = [bench, tallies]


async def start_all(
    runtime: Runtime, definition: Any, ids: Callable[[int], str], count: int, input: Any = None
) -> None:
    """Start runs, many at a time: they share their commits.

    Args:
        runtime: where.
        definition: of what.
        ids: the n-th run's id.
        count: how many.
        input: what each is given; a function of n, or the same for all.
    """
    numbers = iter(range(count))

    async def some() -> None:
        for n in numbers:
            progress(n, count)
            given = input(n) if callable(input) else input
            await runtime.start(definition, given, run_id=ids(n))

    async with anyio.create_task_group() as tasks:
        for _ in range(min(AT_ONCE, count)):
            tasks.start_soon(some)


async def make_orders(path: str, count: int) -> None:
    """Make a store with so many orders, each with a wait and a deadline."""
    async with looms.Runtime(path, modules=MODULES, durability="relaxed") as runtime:
        await start_all(runtime, order, order_id, count)


async def make_tallies(path: str, lengths: list[int]) -> None:
    """Make a store with a tally for each number of records, `tally-NUMBER`, in turns of a hundred records."""
    total, done = sum(lengths), 0
    async with looms.Runtime(path, modules=MODULES, durability="relaxed") as runtime:
        for length in lengths:
            run = await runtime.start(tally, run_id=f"tally-{length}")
            for batch in batches(length - 1):
                await run.signal(*batch)
                done += len(batch)
                progress(done, total)


def batches(count: int) -> Iterator[list[Counted]]:
    """So many events, in lists of a hundred and one of what is left."""
    for first in range(0, count, 100):
        yield [Counted(amount=n) for n in range(first, min(first + 100, count))]


async def last_snapshot(run: Run[Any, Any]) -> int:
    """The seq of a run's last snapshot; 0 when it has none."""
    seq = 0
    async for snapshot in run.snapshots():
        seq = snapshot.seq
    return seq
