"""The first signal to a run that is not in memory.

Budget: first signal acknowledged on a run that is not resident, 1,000,000 records long against 1,000, both equally far
from their last snapshot: at most 1.3 times.

Measured: the median of signals that go to the long run, the short one, and so on in turn, in one process that keeps
one run in memory, so that each of them is brought back for each signal. That it was, and from the same number of
records, is checked by counting the reducer's calls.

Not measured: a disk that is slower than the machine's cache.
"""

import statistics
import time

import looms
from benchmarks.application import MODULES, Counted, Tallies, last_snapshot
from benchmarks.context import Context
from benchmarks.figures import Figure, ratio
from benchmarks.long_runs import long_runs
from benchmarks.reporting import tracked


def cold(context: Context) -> list[Figure]:
    """The first signal to a long run, against a short one."""
    sizes = context.sizes
    lengths = [sizes.short, sizes.long]
    store = long_runs(context, *lengths)
    took = [
        context.run(first_signals, "Looms", path=context.copy(store), lengths=lengths, count=sizes.cold_signals)
        for _ in range(sizes.rounds)
    ]
    short, long = ([one[n] for one in took] for n in (0, 1))
    return [
        ratio(
            "cold",
            f"first signal to a run of {sizes.long:,} records, against {sizes.short:,}",
            long,
            short,
            "ms",
            at_most=1.3,
            against="the short one",
        )
    ]


async def first_signals(path: str, lengths: list[int], count: int) -> list[float]:
    """For each length the median of milliseconds of a first signal."""
    taken: list[list[float]] = [[] for _ in lengths]
    async with looms.Runtime(path, modules=MODULES, max_resident=1) as runtime:
        runs = [runtime.run(f"tally-{length}") for length in lengths]
        behind = {length - await last_snapshot(run) for run, length in zip(runs, lengths, strict=True)}
        if len(behind) != 1:
            raise AssertionError(f"not equally far from their last snapshots: {behind} records")
        for run in runs:
            await run.signal(Counted(amount=0))
        for n in tracked(range(count), count):
            folded = set()
            for times, run in zip(taken, runs, strict=True):
                Tallies.calls = 0
                begun = time.perf_counter()
                await run.signal(Counted(amount=n))
                times.append(time.perf_counter() - begun)
                folded.add(Tallies.calls)
            if len(folded) != 1:
                raise AssertionError(f"one was brought back from more than the other: {folded} records")
    return [statistics.median(times) * 1e3 for times in taken]
