"""Deadlines that are due all at once.

Budget: 100,000 deadlines due in one second: fired per second against `signals`; none early: at least 0.8.

Measured: runs that are parked on a wait with a deadline, due one after the other within one second, in a store that is
opened shortly before. From the first moment that one is due until all are on the disk. No run is in memory before, as
it would be after a restart. Rounds of `signals` are taken in turn with those of timers. A deadline is early when the
reducer is called while the clock shows a time before it.

Not measured: deadlines of runs that are in memory.
"""

import time
from typing import Any

import anyio

import looms
from benchmarks import signals
from benchmarks.application import Paid, bench, start_all
from benchmarks.context import Context
from benchmarks.figures import Figure, ratio
from benchmarks.reporting import progress
from looms import Module, ReduceContext, Reduced, Started, State, SystemClock, TimedOut, replace, step, wait

module = Module("alarms", requires=[bench])

DUE = 2_000_000_000_000  # ms: in 2033
AHEAD = 1_500  # ms between the opening and the first deadline


class Shifted(SystemClock):
    """The machine's clock, set to a moment when it is made."""

    def __init__(self, now: int) -> None:
        self._shift = 0
        self._shift = now - super().now()

    def now(self) -> int:
        return super().now() + self._shift


class Fired:
    """What the reducer saw, in this process."""

    clock: SystemClock = SystemClock()
    count = 0
    early = 0
    last = ""


class Alarm(State):
    due: int = 0
    rang: bool = False


@module.reducer("alarm", state=Alarm)
def alarm(state: Alarm, event: Started[int] | Paid | TimedOut, ctx: ReduceContext) -> Reduced[Alarm]:
    """Started with when it is due, in milliseconds."""
    match event:
        case Started(input=due):
            return step(Alarm(due), wait(Paid, match={"order_id": ctx.run_id}, timeout=(due - ctx.at) / 1000))
        case TimedOut():
            Fired.count += 1
            Fired.early += Fired.clock.now() < state.due
            Fired.last = ctx.run_id
            return replace(state, rang=True)
    return state


def timers(context: Context) -> list[Figure]:
    """Deadlines fired a second, against signals."""
    count = context.sizes.deadlines
    store = context.made("alarms", make_alarms, f"{count:,} alarms", count=count)
    took = context.rounds(
        {
            "signals": lambda: {"rate": signals.ours(context)},
            "Looms": lambda: context.run(fire, "Looms", path=context.copy(store), count=count),
        },
        min(3, context.sizes.rounds),
    )
    fired = took["Looms"]
    return [
        ratio(
            "timers",
            f"{count:,} due in one second: fired a second, against signals",
            [one["rate"] for one in fired],
            [one["rate"] for one in took["signals"]],
            "/s",
            at_least=0.8,
            against="signals",
        ),
        Figure(
            benchmark="timers",
            what=f"{count:,} due in one second: fired early, in all rounds",
            value=sum(one["early"] for one in fired),
            unit="",
            at_most=0,
        ),
    ]


async def make_alarms(path: str, count: int) -> None:
    """Make the runs, on a clock that shows a time long before."""
    clock = Shifted(DUE - 86_400_000)
    async with looms.Runtime(path, modules=[bench, module], clock=clock, durability="relaxed") as runtime:
        await start_all(runtime, alarm, lambda n: f"alarm-{n:07d}", count, input=lambda n: DUE + n * 1_000 // count)


async def fire(path: str, count: int) -> dict[str, Any]:
    """How many fired a second, and how many of them too early."""
    Fired.clock = clock = Shifted(DUE - AHEAD)
    async with looms.Runtime(path, modules=[bench, module], clock=clock) as runtime:
        await clock.sleep_until(DUE)
        begun = time.perf_counter()
        while Fired.count < count:
            progress(Fired.count, count)
            await anyio.sleep(0.01)
        await runtime.run(Fired.last).inspect()  # as of its commit
        taken = time.perf_counter() - begun
        rang = await runtime.run(Fired.last).state()
    if Fired.count != count or not rang.rang:
        raise AssertionError(f"{Fired.count} fired of {count}; the last one: {rang}")
    return {"rate": count / taken, "early": Fired.early}
