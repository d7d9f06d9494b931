"""Stores: items that are taken by workers, and waiters of whom a write concerns one.

Budget: 10,000 selectors that wait on one store: a write that touches what one of them has read wakes that one, and no
other is run; against 10 that wait, at most 1.5 times.

Measured: from the call of `update`, which touches one path, until what the workflow that waits for that has found is on
disk, while so many others wait for something else in the same store; the selectors that were run are counted. And 8
workflows that take items from one store, a step for each: items a second, which are put there while they work.

Not measured: a state so large that reading it is felt.
"""

import time
from collections.abc import Iterable
from typing import Any

import msgspec

import looms
from benchmarks.application import start_all
from benchmarks.context import Context
from benchmarks.figures import Figure, amount, ratio
from benchmarks.reporting import progress, tracked
from looms import Module, State, Workflow

module = Module("stock")

PUT = 100  # items that are put there at once
AHEAD = 400  # items that nobody has taken yet, about


class Ran:
    """How many selectors have been run."""

    count = 0


class Item(msgspec.Struct, frozen=True):
    id: int


@module.store("shelf")
class Shelf(State):
    items: list[Item] = msgspec.field(default_factory=list)
    taken: int = 0


@module.store("notes")
class Notes(State):
    texts: dict[str, int] = msgspec.field(default_factory=dict)


def first(shelf: Shelf) -> Item | None:
    return shelf.items[0] if shelf.items else None


def take_first(draft: Any, item: Item) -> None:
    del draft.items[0]
    draft.taken += 1


@module.workflow("worker")
async def worker(ctx: Workflow, items: int) -> int:
    """Takes items one after the other."""
    shelf = await ctx.store(Shelf, id="shelf", initial=Shelf())
    while True:
        item = await shelf.take(f"item {items}", select=first, claim=take_first)
        if item.id < 0:
            return items
        items += 1


@module.workflow("waiter")
async def waiter(ctx: Workflow, name: str) -> None:
    """Waits for its own note to become larger, again and again."""
    notes = await ctx.store(Notes, id="notes", initial=Notes())
    seen = 0

    def larger(notes: Notes) -> int:
        Ran.count += 1
        found = notes.texts.get(name, 0)
        return found if found > seen else 0

    while True:
        seen = await notes.when(f"more than {seen}", larger)


def shared_state(context: Context) -> list[Figure]:
    """Waking one of many that wait on a store, and taking from one."""
    sizes = context.sizes

    def among(count: int) -> dict[str, Any]:
        found: dict[str, Any] = context.run(
            woken, f"{count:,} wait", path=context.empty(), count=count, times=sizes.woken
        )
        return found

    few_and_many = {"few": lambda: among(sizes.few_waits), "many": lambda: among(sizes.many_waits)}
    took = context.rounds(few_and_many, min(3, sizes.rounds))
    few, many = took["few"], took["many"]
    rates = context.rounds(
        {"taken": lambda: context.run(taken, "8 workers", path=context.empty(), workers=8, count=sizes.taken)},
        min(3, sizes.rounds),
    )["taken"]
    return [
        ratio(
            "stores",
            f"a write that concerns one of {sizes.many_waits:,} who wait, against {sizes.few_waits}",
            [one["ms"] for one in many],
            [one["ms"] for one in few],
            "ms",
            at_most=1.5,
            against="few",
        ),
        Figure(
            benchmark="stores",
            what="selectors that are run for it",
            value=max(one["ran"] for one in many),
            unit="",
            at_most=2,
            detail="once to look at what was written, and once to wait again",
        ),
        Figure(
            benchmark="stores",
            what=f"{sizes.taken:,} items taken by 8 workflows, a second",
            value=sorted(rates)[len(rates) // 2],
            unit="/s",
            detail=f"each once; {amount(min(rates), '')} to {amount(max(rates), '')} in the rounds",
            rounds=tuple(rates),
        ),
    ]


async def woken(path: str, count: int, times: int) -> dict[str, Any]:
    """The median of milliseconds from a write until the one whom it concerns waits again; and how many looked."""
    async with looms.Runtime(path, modules=[module]) as runtime:
        await start_all(runtime, waiter, lambda n: f"waiter-{n}", count, lambda n: f"note-{n}")
        notes = runtime.store(Notes, "notes")
        await runtime.host.committer.until_idle()
        taken: list[float] = []
        ran = 0
        for n in tracked(range(times + 1), times + 1):
            which = n * 7919 % count
            run = runtime.run(f"waiter-{which}")
            parked = (await run.inspect()).seq
            Ran.count = 0
            begun = time.perf_counter()
            await notes.update(_write(f"note-{which}"))
            async for _ in run.events(parked, follow=True):
                break
            if n:
                taken.append(time.perf_counter() - begun)
            await runtime.host.committer.until_idle()
            ran = max(ran, Ran.count)
        return {"ms": sorted(taken)[len(taken) // 2] * 1e3, "ran": ran}


def _write(name: str) -> Any:
    def write(draft: Any) -> None:
        draft.texts[name] = draft.texts.get(name, 0) + 1

    return write


def _put(ids: Iterable[int]) -> Any:
    return lambda draft: draft.items.extend([Item(id) for id in ids])


def _room_behind(at: int) -> Any:
    return lambda shelf: shelf.taken + AHEAD > at


async def taken(path: str, workers: int, count: int) -> float:
    """Items a second that so many workflows take from one store."""
    async with looms.Runtime(path, modules=[module]) as runtime:
        shelf = runtime.store(Shelf, "shelf", Shelf())
        runs = [await runtime.start(worker, 0, run_id=f"worker-{n}") for n in range(workers)]
        begun = time.perf_counter()
        for at in range(0, count, PUT):
            progress(at, count)
            await shelf.update(_put(range(at, min(at + PUT, count))))
            await shelf.when(_room_behind(at))
        await shelf.when(lambda shelf: shelf.taken == count)
        took = time.perf_counter() - begun
        await shelf.update(_put([-1] * workers))
        found = sum([await run.result() for run in runs])
    if found != count:
        raise AssertionError(f"{found:,} of {count:,} items were taken")
    return count / took
