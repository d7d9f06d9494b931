"""Waking one run, one signal at a time.

Budget: one run among 100,000, one signal at a time, until acknowledged: median against a raw commit of the same rows,
at most 1.5; and against a raw one-row commit, at most 2 times.

Measured: an order that is parked on a wait with a deadline gets the event that it waits for, and waits again: a
record, the run's head, the wait and the timer that go and those that come, and the commit's row. From the call of
`signal` to its return, one after the other. Raw writes the very same rows (read from the store before and after one
such signal) into a copy of the same store. Beside it: the same with `durability="relaxed"` on both sides.

Not measured: the first signals, while the run is brought back (see `cold`); many senders at once (see `signals`).
"""

import shutil
import statistics
import time
from pathlib import Path
from typing import Any

import msgspec

import looms
from benchmarks import raw
from benchmarks.application import MODULES, Paid, make_orders, order_id
from benchmarks.context import Context, copied
from benchmarks.figures import Figure, ratio
from benchmarks.reporting import tracked

WARM = 20  # signals before those that are measured


def wake(context: Context) -> list[Figure]:
    """One signal at a time to one run among many."""
    sizes = context.sizes
    store = orders(context, sizes.wake_runs)
    after = context.folder / "wake-after"
    rows = context.run(one_signal, "what one signal writes", path=store, folder=context.folder)

    def ours(durability: str) -> float:
        took: float = context.run(
            signals,
            f"Looms, {durability}",
            path=context.copy(store),
            run_id=order_id(sizes.wake_runs // 2),
            count=sizes.wake_signals,
            durability=durability,
        )
        return took

    def theirs(durable: bool) -> float:
        copy, said = context.copy(after), "raw" if durable else "raw, relaxed"
        took: float = context.run(raw.commits, said, path=copy, rows=rows, count=sizes.wake_signals, durable=durable)
        return took

    def single() -> float:
        size = raw.mean(msgspec.convert(rows, list[raw.Row]), "log")
        took: float = context.run(
            raw.one_row, "raw, one row", path=context.empty(), size=size, count=sizes.wake_signals
        )
        return took

    took = context.rounds(
        {
            "raw": lambda: theirs(True),
            "Looms": lambda: ours("commit"),
            "one row": single,
            "raw, relaxed": lambda: theirs(False),
            "relaxed": lambda: ours("relaxed"),
        }
    )
    written = f"raw, {len(rows)} rows,"
    return [
        ratio(
            "wake", "one signal, against the same rows", took["Looms"], took["raw"], "ms", at_most=1.5, against=written
        ),
        ratio(
            "wake",
            "one signal, against one row",
            took["Looms"],
            took["one row"],
            "ms",
            at_most=2,
            against="raw, 1 row,",
        ),
        ratio(
            "wake",
            "relaxed: one signal, against the same rows, relaxed",
            took["relaxed"],
            took["raw, relaxed"],
            "ms",
            against=written,
        ),
    ]


def orders(context: Context, count: int) -> Path:
    """The store with so many parked orders."""
    return context.made(f"orders-{count}", make_orders, f"a store with {count:,} parked runs", count=count)


async def one_signal(path: str, folder: str) -> list[dict[str, Any]]:
    """The rows that one signal to a warm run writes; the store as it is then is left as `wake-after`."""
    before, opened, after = (Path(folder) / f"wake-{name}" for name in ("before", "opened", "after"))
    for each in (before, opened, after):
        shutil.rmtree(each, ignore_errors=True)
    copied(path, before)
    await signals(str(before), order_id(1), WARM)
    copied(before, opened)
    async with looms.Runtime(opened, modules=MODULES):
        pass
    copied(opened, after)
    async with looms.Runtime(after, modules=MODULES) as runtime:
        await runtime.run(order_id(1)).signal(Paid(order_id=order_id(1), cents=1))
    found: list[dict[str, Any]] = msgspec.to_builtins(raw.written(opened, after))
    for each in (before, opened):
        shutil.rmtree(each)
    return found


async def signals(path: str, run_id: str, count: int, durability: Any = "commit") -> float:
    """The median of milliseconds until a signal is acknowledged."""
    taken = []
    async with looms.Runtime(path, modules=MODULES, durability=durability) as runtime:
        run, event = runtime.run(run_id), Paid(order_id=run_id, cents=1)
        for _ in range(min(WARM, count)):
            await run.signal(event)
        for _ in tracked(range(count), count):
            begun = time.perf_counter()
            await run.signal(event)
            taken.append(time.perf_counter() - begun)
    return statistics.median(taken) * 1e3
