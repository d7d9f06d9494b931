"""What parked runs cost.

Budget: 1,000,000 parked runs, each with a wait and a deadline: anonymous memory above an empty host; store size; time
to open; CPU over 10 idle seconds: at most 64 MB; 1 kB a run; 1.5 times an empty store's; none.

Measured, each in a process of its own: the anonymous memory (`/proc/self/smaps_rollup`; what is mapped of the store's
file is the system's to take back) of a host that has opened the store and been idle for a second, less that of a host
on an empty store; the file's blocks on disk; the median of opening and entering the runtime, in turn with an empty
store in one process, and that in several rounds; the CPU time of the process while it sleeps, where "none" is at most a
thousandth: the event loop itself wakes up too.

Not measured: a first opening with nothing of the store in the machine's cache.
"""

import os
import statistics
import sys
import time
from pathlib import Path

import anyio

import looms
from benchmarks.application import MODULES, make_orders
from benchmarks.context import Context
from benchmarks.figures import Figure, number, ratio
from benchmarks.reporting import progress
from benchmarks.wake import orders


def parked(context: Context) -> list[Figure]:
    """Memory, size, opening and idleness of a store with many parked runs."""
    sizes = context.sizes
    store, runs = orders(context, sizes.parked), f"{sizes.parked:,} parked runs"
    settle = {"settle": sizes.settle_seconds}
    found = []
    if sys.platform == "linux":
        memory = context.rounds(
            {
                "empty": lambda: context.run(memory_of, "memory, empty", path=context.empty(), **settle),
                "parked": lambda: context.run(memory_of, "memory", path=store, **settle),
            }
        )
        above = [many - none for many, none in zip(memory["parked"], memory["empty"], strict=True)]
        found.append(
            Figure(
                benchmark="parked",
                what=f"{runs}: anonymous memory above an empty host",
                value=max(0.0, statistics.median(above)),
                unit="MB",
                at_most=64,
                detail=f"{number(statistics.median(memory['parked']))} MB, "
                f"an empty host {number(statistics.median(memory['empty']))} MB",
                rounds=tuple(above),
            )
        )
    size = os.stat(store / "data.mdb").st_blocks * 512
    paths = [store, made_empty(context)]
    opening = [context.run(open_times, "opening", paths=paths, count=sizes.opens) for _ in range(sizes.rounds)]
    idle = context.run(idle_cpu, "idle", path=store, **settle, seconds=sizes.idle_seconds)
    return [
        *found,
        Figure(
            benchmark="parked",
            what=f"{runs}: the store's size",
            value=size / sizes.parked,
            unit="bytes a run",
            at_most=1_000,
            detail=f"{size / 1e6:,.1f} MB",
        ),
        ratio(
            "parked",
            f"{runs}: time to open, against an empty store",
            [one[0] for one in opening],
            [one[1] for one in opening],
            "ms",
            at_most=1.5,
            against="an empty store",
        ),
        Figure(
            benchmark="parked",
            what=f"{runs}: CPU in {sizes.idle_seconds:g} idle seconds",
            value=idle * 1e3,
            unit="ms",
            at_most=sizes.idle_seconds,
            detail="none, to a thousandth",
        ),
    ]


def made_empty(context: Context) -> Path:
    """An empty store."""
    return context.made("empty-store", make_orders, "an empty store", count=0)


async def memory_of(path: str, settle: float) -> float:
    """The anonymous memory of an idle host, in MB."""
    async with looms.Runtime(path, modules=MODULES):
        await anyio.sleep(settle)
        lines = Path("/proc/self/smaps_rollup").read_text().splitlines()  # noqa: ASYNC240 - no file on a disk
    return next(int(line.split()[1]) for line in lines if line.startswith("Anonymous:")) * 1024 / 1e6


async def open_times(paths: list[str], count: int) -> list[float]:
    """For each store the median of milliseconds until a runtime on it is open."""
    taken: list[list[float]] = [[] for _ in paths]
    for _ in range(count):
        for times, path in zip(taken, paths, strict=True):
            begun = time.perf_counter()
            async with looms.Runtime(path, modules=MODULES):
                times.append(time.perf_counter() - begun)
    return [statistics.median(times) * 1e3 for times in taken]


async def idle_cpu(path: str, settle: float, seconds: float) -> float:
    """Seconds of CPU that an idle host uses in so many seconds."""
    async with looms.Runtime(path, modules=MODULES):
        await anyio.sleep(settle)
        begun = time.process_time()
        await anyio.sleep(seconds)
        used = time.process_time() - begun
    progress(1, 1)
    return used
