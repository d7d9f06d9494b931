"""How long the event loop is not served while many send.

Budget: the longest time the event loop is not served under `signals`: at most 20 ms.

Measured: under the load of `signals`, in a process of its own, a task sleeps for a millisecond, again and again; what
it is late is how long the loop did something else. The figure is the longest of all rounds. What the senders of the
benchmark do is in it too, a thousand of them; and so is what the machine does beside. For that, the same task is
watched in a process with the same senders that get their answers from nobody: they take turns on the loop and wait
for a thread that flushes a file. And it is watched with Python's collector of cycles set as `looms host` sets it.

Not measured: reducers that take long themselves (see `fairness`).
"""

import os
import statistics
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread

import looms
from benchmarks.application import MODULES
from benchmarks.context import Context
from benchmarks.figures import Figure, number
from benchmarks.signals import WARM, busy, send_all
from looms.commands.collector import collect_seldom

TICK = 0.001


def stall(context: Context) -> list[Figure]:
    """The longest time that the loop is not served."""
    sizes = context.sizes

    def looms_under(*, seldom: bool) -> Any:
        return context.run(
            under_load,
            "Looms, as `looms host`" if seldom else "Looms",
            path=context.copy(busy(context)),
            senders=sizes.senders,
            each=sizes.signals_each,
            seldom=seldom,
        )

    late = context.rounds(
        {
            "alone": lambda: context.run(
                without_looms,
                "the same without Looms",
                path=context.empty(),
                senders=sizes.senders,
                each=sizes.signals_each,
            ),
            "Looms": lambda: looms_under(seldom=False),
            "host": lambda: looms_under(seldom=True),
        }
    )
    return [
        Figure(
            benchmark="stall",
            what="longest time that the loop is not served under signals",
            value=max(late["Looms"]),
            unit="ms",
            at_most=20,
            detail=f"the longest of a round: {number(statistics.median(late['Looms']))} ms in the median; "
            f"without Looms {number(max(late['alone']))} ms",
            rounds=tuple(late["Looms"]),
        ),
        Figure(
            benchmark="stall",
            what="the same, with Python's collector set as `looms host` does",
            value=max(late["host"]),
            unit="ms",
            at_most=20,
            detail=f"the longest of a round: {number(statistics.median(late['host']))} ms in the median",
            rounds=tuple(late["host"]),
        ),
    ]


async def lateness(work: Callable[[], Awaitable[None]]) -> float:
    """The most milliseconds that the loop was late while something ran."""
    longest = 0.0

    async def watch() -> None:
        nonlocal longest
        while True:
            begun = time.perf_counter()
            await anyio.sleep(TICK)
            longest = max(longest, time.perf_counter() - begun - TICK)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        await work()
        tasks.cancel_scope.cancel()
    return longest * 1e3


async def under_load(path: str, senders: int, each: int, seldom: bool) -> float:
    """The most milliseconds that the loop was late under the load of `signals`."""
    async with looms.Runtime(path, modules=MODULES) as runtime:
        if seldom:
            collect_seldom()
        await send_all(runtime, senders, WARM)
        return await lateness(lambda: send_all(runtime, senders, each))


async def without_looms(path: str, senders: int, each: int) -> float:
    """The most milliseconds that the loop was late when as many tasks wait for a file that is flushed, each time."""

    def flush() -> None:
        with Path(path).open("ab") as file:
            file.write(bytes(100_000))
            file.flush()
            os.fdatasync(file.fileno())

    flushed = anyio.Event()

    async def sender() -> None:
        for _ in range(each):
            await flushed.wait()
            await anyio.lowlevel.checkpoint()

    async def work() -> None:
        nonlocal flushed
        async with anyio.create_task_group() as tasks:
            for _ in range(senders):
                tasks.start_soon(sender)
            for _ in range(each * 2):
                await anyio.to_thread.run_sync(flush)
                flushed, before = anyio.Event(), flushed
                before.set()
            flushed.set()

    return await lateness(work)
