"""What snapshots of a large state cost when little of it changes: `uv run python -m benchmarks.deltas`.

Measured: the bytes of 1,000 snapshots of a 1 MB state of which each record changes one field, against full ones; and
the time to find a difference in it, against encoding the whole.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import anyio
import msgspec

from looms import Event, Module, Reduced, Runtime, Started, State, replace
from looms.reducers.codec import Codec, encode
from looms.reducers.differences import difference
from looms.reducers.places import place

ITEMS = 9_000
SNAPSHOTS = 1_000

module = Module("bench")


class Item(msgspec.Struct, frozen=True):
    id: str
    name: str
    price: int


class Stock(State):
    items: tuple[Item, ...] = tuple(Item(f"item-{n}", "n" * 80, n) for n in range(ITEMS))
    counted: int = 0


@module.event("priced")
class Priced(Event):
    item: int
    price: int


@module.event("counted")
class Counted(Event):
    pass


@module.reducer("stock", state=Stock)
def stock(state: Stock, event: Started[None] | Priced | Counted) -> Reduced[Stock]:
    match event:
        case Priced(item=at, price=price):
            items = (*state.items[:at], replace(state.items[at], price=price), *state.items[at + 1 :])
            return replace(state, items=items)
        case Counted():
            return replace(state, counted=state.counted + 1)
    return state


async def stored(event: Callable[[int], Event]) -> tuple[int, int, int]:
    """The bytes of all snapshots, of the first one, and of the store's file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.looms"
        async with Runtime(path, modules=[module], snapshot_every=1, durability="relaxed") as runtime:
            run = await runtime.start(stock, run_id="s1")
            for n in range(SNAPSHOTS):
                await run.signal(event(n))
            sizes = [snapshot.bytes async for snapshot in run.snapshots()]
        return sum(sizes), sizes[0], (path / "data.mdb").stat().st_blocks * 512


def best(work: Callable[[], object], times: int = 20) -> float:
    """Seconds that it took when it took least."""
    taken = []
    for _ in range(times):
        begun = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begun)
    return min(taken)


def main() -> None:
    for name, event in (
        ("one field of the state", lambda n: Counted()),
        ("one field of one of 9,000 items", lambda n: Priced(item=n * 7 % ITEMS, price=n)),
    ):
        total, full, disk = anyio.run(stored, event)
        print(
            f"{name}: {SNAPSHOTS} snapshots of {full / 1e6:.2f} MB: {total / 1e6:.2f} MB, "
            f"{total / (full * SNAPSHOTS):.4f} of full ones; the store has {disk / 1e6:.1f} MB"
        )
    state, where = Stock(), place(Stock)
    codec: Codec[Stock] = Codec(Stock, "the benchmark")
    item = replace(state.items[4_000], price=-1)
    changed = {
        "a field of the state": replace(state, counted=1),
        "an item in the middle": replace(state, items=(*state.items[:4_000], item, *state.items[4_001:])),
        "an item more in the middle": replace(state, items=(*state.items[:4_000], item, *state.items[4_000:])),
    }
    whole = best(lambda: encode(state))
    exact = best(lambda: codec.pack_exactly(state), 3)
    print(f"encoding the whole: {whole * 1e6:.0f} us; and checking that it comes back: {exact * 1e6:.0f} us")
    for what, after in changed.items():
        taken = best(lambda after=after: difference(state, after, where))  # type: ignore[misc]
        print(f"difference, {what}: {taken * 1e6:.0f} us")


if __name__ == "__main__":
    main()
