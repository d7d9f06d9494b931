"""How each figure grows: with runs, with events per run, with waits per run, with the size of a state (`--growth`).

No budgets: what is constant, and what is not. Each line is measured as the benchmark of the same name does it, once,
and fewer times; beside it stands what raw takes, where it depends on the size at all.
"""

import statistics
import time
from collections.abc import Callable
from typing import Any

import msgspec

import looms
from benchmarks import deltas, in_run_waits, parked, publishing, raw, wake
from benchmarks.application import order_id
from benchmarks.cold import first_signals
from benchmarks.context import Context
from benchmarks.figures import number
from benchmarks.fold import refold
from benchmarks.long_runs import long_runs
from benchmarks.replays import at_random, make_ledgers
from benchmarks.reporting import tracked


class Growth(msgspec.Struct, frozen=True, kw_only=True):
    """A table: a figure in each row, and a column for each size.

    Attributes:
        by: what grows.
        sizes: the columns.
        rows: for each figure, with its unit, a number for each size.
    """

    by: str
    sizes: tuple[int, ...]
    rows: dict[str, tuple[float, ...]]

    @property
    def heading(self) -> list[str]:
        """The first row."""
        return [self.by, *(f"{size:,}" for size in self.sizes)]

    @property
    def lines(self) -> list[list[str]]:
        """The other rows."""
        return [[name, *map(number, values)] for name, values in self.rows.items()]


def by_runs(context: Context) -> Growth:
    """Waking, publishing, opening and memory by the number of parked runs."""
    sizes = context.sizes
    rows: dict[str, list[float]] = {}
    for runs in sizes.growth_runs:
        store, said = wake.orders(context, runs), f"{runs:,} runs"
        written = context.run(wake.one_signal, said, path=store, folder=context.folder)
        signals: dict[str, Any] = {"count": min(300, sizes.wake_signals)}
        found = {
            "a signal (ms)": context.run(
                wake.signals, said, path=context.copy(store), run_id=order_id(runs // 2), **signals
            ),
            "raw, the same rows (ms)": context.run(
                raw.commits, said, path=context.copy(context.folder / "wake-after"), rows=written, **signals
            ),
            "a publication (ms)": context.run(
                publishing.publishes, said, path=context.copy(store), runs=runs, count=min(sizes.publishes, runs)
            ),
            "opening (ms)": context.run(parked.open_times, said, paths=[store], count=3 * sizes.opens)[0],
            "memory of an idle host (MB)": context.run(parked.memory_of, said, path=store, settle=sizes.settle_seconds),
        }
        _add(rows, found)
    return _growth("parked runs", sizes.growth_runs, rows)


def by_records(context: Context) -> Growth:
    """The first signal, a replay, and folding by the length of a run."""
    sizes = context.sizes
    lengths = list(sizes.growth_records)
    store = long_runs(context, *lengths)
    ledgers = context.made("ledgers-by-length", make_ledgers, "ledgers", lengths=lengths)
    first = context.run(
        first_signals, "first signals", path=context.copy(store), lengths=lengths, count=sizes.cold_signals
    )
    replays = context.run(at_random, "replays", path=ledgers, lengths=lengths, count=sizes.replays // 4)
    folded = [context.run(refold, "folding", path=store, records=length) for length in lengths]
    return Growth(
        by="records in a run",
        sizes=tuple(lengths),
        rows={
            "the first signal (ms)": tuple(first),
            "replay_to, median (ms)": tuple(half for half, _ in replays),
            "replay_to, p99 (ms)": tuple(most for _, most in replays),
            "folded from the beginning (records/s)": tuple(folded),
        },
    )


def by_waits(context: Context) -> Growth:
    """Meeting one wait by how many the run has."""
    sizes = context.sizes
    waits = list(sizes.growth_waits)
    took = context.run(in_run_waits.answers, "waits", path=context.empty(), waits=waits, count=sizes.answers)
    return Growth(by="waits in a run", sizes=tuple(waits), rows={"a signal that meets one (ms)": tuple(took)})


def by_state(context: Context) -> Growth:
    """A signal, a cold one, and snapshots by the size of the state."""
    rows: dict[str, list[float]] = {}
    for size in context.sizes.growth_bytes:
        items, said = max(1, size // 110), f"a state of {size:,} bytes"
        count = min(60, context.sizes.snapshots)
        found = context.run(of_state, said, path=context.empty(), items=items, count=count)
        full = context.run(full_state, f"{said}, encoded by raw", items=items)
        _add(rows, found | {"raw: encoding it whole (ms)": full})
    return _growth("bytes of state", context.sizes.growth_bytes, rows)


def _add(rows: dict[str, list[float]], found: dict[str, float]) -> None:
    for name, value in found.items():
        rows.setdefault(name, []).append(value)


def _growth(by: str, sizes: tuple[int, ...], rows: dict[str, list[float]]) -> Growth:
    return Growth(by=by, sizes=sizes, rows={name: tuple(values) for name, values in rows.items()})


async def of_state(path: str, items: int, count: int) -> dict[str, float]:
    """What a stock of so many items costs when each signal changes one of them, in milliseconds and bytes."""

    def event(n: int) -> deltas.Priced:
        return deltas.Priced(item=n * 7 % items, price=-n)

    async with looms.Runtime(path, modules=[deltas.module], durability="relaxed") as runtime:
        run = await runtime.start(deltas.stock, items, run_id="stock")
        plain = await _medians(lambda n: run.signal(event(n)), count)
    async with looms.Runtime(path, modules=[deltas.module], snapshot_every=1, durability="relaxed") as runtime:
        run = runtime.run("stock")
        await run.signal(event(0))
        each = await _medians(lambda n: run.signal(event(n)), count)
        stored = [snapshot.bytes async for snapshot in run.snapshots()]
    async with looms.Runtime(path, modules=[deltas.module], durability="relaxed") as runtime:
        begun = time.perf_counter()
        await runtime.run("stock").signal(event(1))
        cold = time.perf_counter() - begun
    return {
        "a signal, relaxed (ms)": plain,
        "the same with a snapshot each time (ms)": each,
        "the first signal, relaxed (ms)": cold * 1e3,
        "bytes of a snapshot of the change": statistics.median(stored[1:] or stored),
    }


async def _medians(one: Callable[[int], Any], count: int) -> float:
    taken = []
    for n in tracked(range(count), count):
        begun = time.perf_counter()
        await one(n)
        taken.append(time.perf_counter() - begun)
    return statistics.median(taken) * 1e3


def full_state(items: int) -> float:
    """Milliseconds to encode a stock as a whole, the best of several."""
    state = deltas.stock(deltas.Stock(), looms.Started(input=items))
    taken = []
    for _ in range(10):
        begun = time.perf_counter()
        msgspec.msgpack.encode(state)
        taken.append(time.perf_counter() - begun)
    return min(taken) * 1e3
