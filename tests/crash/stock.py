"""A story of stores for processes that die at their commits: takers of items, waiters, updates from both sides."""

from pathlib import Path
from typing import Any

import msgspec

import looms
from looms import Conflict, Module, State, Workflow
from looms.testing import TestClock, runtime
from tests.crash.flows import START, note

yard = Module("yard")

ITEMS = 6


class Item(msgspec.Struct, frozen=True):
    name: str
    takers: list[str] = msgspec.field(default_factory=list)


@yard.store("stock")
class Stock(State):
    items: list[Item] = msgspec.field(default_factory=list)
    counted: int = 0
    closed: bool = False


def free(stock: Any) -> Any:
    return next((item for item in stock.items if not item.takers), "closed" if stock.closed else None)


def taken_by(name: str) -> Any:
    def claim(draft: Any, item: Any) -> None:
        if item != "closed":
            next(one for one in draft.items if one.name == item.name).takers.append(name)

    return claim


def _push(draft: Any) -> None:
    draft.items.append(Item(f"i{len(draft.items)}"))


def count_one(draft: Any) -> None:
    draft.counted += 1


@yard.workflow("taker")
async def taker(ctx: Workflow) -> list[str]:
    """Takes what there is until the stock is closed; counts each item in the store, once."""
    stock = await ctx.store(Stock, id="s", initial=Stock())
    taken: list[str] = []
    while True:
        item = await stock.take(f"item:{len(taken)}", select=free, claim=taken_by(ctx.run_id))
        if item == "closed":
            return taken
        taken.append(item.name)
        await ctx.run(note, f"handle {item.name}", key=f"handle:{item.name}")
        await stock.update(f"count:{item.name}", count_one)


@yard.workflow("watcher")
async def watcher(ctx: Workflow) -> tuple[int, int, bool]:
    """Sees that all are counted; a time that passes before that counts too; and updates what it saw, or does not."""
    stock = await ctx.store(Stock, id="s", initial=Stock())
    late = 0
    while True:
        try:
            await stock.when(f"counted:{late}", lambda stock: stock.counted == ITEMS, timeout=5)
        except TimeoutError:
            late += 1
            continue
        seen = await stock.get(f"seen:{late}")
        done = await stock.update_from(f"close:{late}", seen, closed=True)
        if isinstance(done, Conflict):
            late += 1
            continue
        scratch = await ctx.store(Stock, initial=Stock(counted=7))
        gone = await scratch.delete_from(await scratch.get())
        return late, done.state.counted, gone.deleted


async def tell(store: Path) -> None:
    """Tell the story to its end, whatever of it is in the store."""
    async with runtime([yard], path=store, clock=TestClock(at=START)) as rt:
        for name in ("t1", "t2"):
            await rt.start(taker, run_id=name, exists="return")
        await rt.start(watcher, run_id="watcher", exists="return")
        await rt.clock.advance(0)
        stock = rt.store(Stock, "s")
        while (have := len((await stock.get()).state.items)) < ITEMS:
            await stock.update(_push)
            if have == 2:
                await rt.clock.advance(6)  # the watcher's time passes
        await rt.clock.advance(20)


async def ends(store: Path) -> dict[str, Any]:
    """What came of it, which is the same whoever died; that nothing was taken twice, or is lost, is looked at here."""
    async with runtime([yard], path=store, clock=TestClock(at=START + 60_000)) as rt:
        found = {run.run_id: await rt.run(run.run_id).inspect() async for run in rt.runs()}
        for run_id in found:
            report = await rt.verify(run_id)
            assert report.sound, report
        assert await rt.list_stores(Stock) == ["s"], "the watcher's own is deleted"
        after = await rt.store(Stock, "s").get()
        takers = {item.name: item.takers for item in after.state.items}
        assert all(len(names) == 1 for names in takers.values()), takers
        for name in ("t1", "t2"):
            assert found[name].output == [item for item, names in takers.items() if names == [name]]
        pushed, claims, closed = ITEMS, ITEMS + 2, 1
        assert after.version == pushed + claims + ITEMS + closed, "each update once"
        late, counted, gone = found["watcher"].output
        assert (counted, gone) == (ITEMS, True)
    assert looms.check(store, modules=[yard]).ok
    return {
        "runs": {run_id: run.status for run_id, run in found.items()},
        "state": (sorted(takers), after.state.counted, after.state.closed, late > 0),
    }
