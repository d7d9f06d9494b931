"""What snapshots of a large state cost when little of it changes.

Budget: a 1 MB state, one field changed per record, 1,000 snapshots: bytes written for snapshots against full ones: at
most 0.005.

Measured: the bytes of the bodies of all snapshots, the full one at the beginning included, against as many times the
full one; a snapshot at every record. The field is one of the state in the first figure, and one of one of 9,000 items
in the second. Beside it: the whole store.

Not measured: the time to find a difference (see `growth`).
"""

import os
from typing import Any

import anyio
import msgspec

import looms
from benchmarks.context import Context
from benchmarks.figures import Figure, number
from benchmarks.reporting import tracked
from looms import Event, Module, Reduced, Started, State, replace

module = Module("stocks")

TICK = 0.001  # seconds


class Item(msgspec.Struct, frozen=True):
    id: str
    name: str
    price: int


class Stock(State):
    items: tuple[Item, ...] = ()
    counted: int = 0


@module.event("priced")
class Priced(Event):
    item: int
    price: int


@module.event("counted")
class Counted(Event):
    pass


@module.reducer("stock", state=Stock)
def stock(state: Stock, event: Started[int] | Priced | Counted) -> Reduced[Stock]:
    """Started with a number of items, of some 110 bytes each."""
    match event:
        case Started(input=count):
            return Stock(tuple(Item(f"item-{n}", "n" * 80, n) for n in range(count)))
        case Priced(item=at, price=price):
            items = (*state.items[:at], replace(state.items[at], price=price), *state.items[at + 1 :])
            return replace(state, items=items)
        case Counted():
            return replace(state, counted=state.counted + 1)


def deltas(context: Context) -> list[Figure]:
    """Bytes of snapshots of a large state, against full ones."""
    sizes, found = context.sizes, []
    for what, items in (("one field of the state", False), ("one field of one item", True)):
        stored = context.run(
            snapshots, f"{what} changed", path=context.empty(), items=sizes.items, count=sizes.snapshots, priced=items
        )
        full, total = stored["full"], stored["total"]
        found.append(
            Figure(
                benchmark="deltas",
                what=f"bytes of snapshots, {what} of {sizes.items:,} items changed, against full ones",
                value=total / (full * sizes.snapshots),
                at_most=0.005,
                detail=f"{sizes.snapshots:,} snapshots of {number(full / 1e6)} MB take {number(total / 1e6)} MB; "
                f"the store has {number(stored['store'] / 1e6)} MB",
            )
        )
    return found


async def snapshots(path: str, items: int, count: int, priced: bool) -> dict[str, Any]:
    """The bytes of all snapshots, of the first one, and of the store's file."""
    async with looms.Runtime(path, modules=[module], snapshot_every=1, durability="relaxed") as runtime:
        run = await runtime.start(stock, items, run_id="stock")
        # So large a full one is made aside, and nobody is told when it is there.
        while not [snapshot async for snapshot in run.snapshots()]:  # noqa: ASYNC110
            await anyio.sleep(TICK)
        for n in tracked(range(count - 1), count):
            await run.signal(Priced(item=n * 7 % items, price=n) if priced else Counted())
        sizes = [snapshot.bytes async for snapshot in run.snapshots()]
    if len(sizes) != count:
        raise AssertionError(f"{len(sizes)} snapshots instead of {count}")
    return {"total": sum(sizes), "full": sizes[0], "store": os.stat(f"{path}/data.mdb").st_blocks * 512}
