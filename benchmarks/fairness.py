"""What one run's load is to the others.

No budget: the p99 of the others is reported, and what it is beside an idle store.

Measured: twenty senders, each with a run of its own, that signal and pause for some milliseconds, for a few seconds:
alone; beside a run that a hundred senders flood; beside one whose state is huge and changes with each signal, one
after the other; beside one whose reducer takes 20 ms of CPU for each. What each of the twenty waits for an
acknowledgement.

Not measured: what the loaded run itself gets.
"""

import time
from collections.abc import Awaitable, Callable
from typing import Any

import anyio

import looms
from benchmarks.application import MODULES, Counted, start_all, tally
from benchmarks.context import Context
from benchmarks.figures import Figure, number, percentile
from benchmarks.reporting import progress
from looms import Event, Module, Reduced, Run, Started, State, replace

module = Module("fairness")

OTHERS = 20  # senders
PAUSE = 0.005  # seconds between an acknowledgement and the next signal
FLOOD = 100  # senders to the one run
SLOW = 0.02  # seconds of the slow reducer


@module.event("poked")
class Poked(Event):
    pass


class Huge(State):
    chunks: tuple[str, ...] = ()
    count: int = 0


@module.reducer("huge", state=Huge)
def huge(state: Huge, event: Started[int] | Poked) -> Reduced[Huge]:
    """Started with about how many bytes its state has."""
    if isinstance(event, Started):
        return Huge(tuple(f"{n:0100d}" for n in range(event.input // 100)))
    at = state.count % len(state.chunks)
    chunks = (*state.chunks[:at], f"{-state.count:0100d}", *state.chunks[at + 1 :])
    return Huge(chunks, state.count + 1)


class Slow(State):
    count: int = 0


@module.reducer("slow", state=Slow)
def slow(state: Slow, event: Started[None] | Poked) -> Reduced[Slow]:
    until = time.perf_counter() + SLOW
    while isinstance(event, Poked) and time.perf_counter() < until:
        pass
    return replace(state, count=state.count + 1)


def fairness(context: Context) -> list[Figure]:
    """The p99 of many small runs beside one that is a burden."""
    sizes = context.sizes
    took = {
        beside: context.run(
            others,
            said,
            path=context.empty(),
            beside=beside,
            seconds=sizes.fairness_seconds,
            huge_bytes=sizes.huge_bytes,
        )
        for beside, said in _BESIDE.items()
    }
    alone = took["nothing"]
    return [
        Figure(
            benchmark="fairness",
            what=f"p99 of a signal {said}",
            value=took[beside]["p99"],
            unit="ms",
            detail=f"p50 {number(took[beside]['p50'])} ms, the longest {number(took[beside]['longest'])} ms; "
            f"{number(took[beside]['p99'] / alone['p99'])} times alone; the burden took {took[beside]['burden']:,}",
        )
        for beside, said in _BESIDE.items()
    ]


_BESIDE = {
    "nothing": "with nothing beside",
    "flood": f"beside a run that {FLOOD} senders flood",
    "huge": "beside a run with a huge state",
    "slow": f"beside a run whose reducer takes {SLOW * 1e3:g} ms",
}


async def others(path: str, beside: str, seconds: float, huge_bytes: int) -> dict[str, Any]:
    """What the others wait, in milliseconds, while something burdens the runtime."""
    taken: list[float] = []
    async with looms.Runtime(path, modules=[*MODULES, module]) as runtime:
        await start_all(runtime, tally, lambda n: f"other-{n}", OTHERS)
        burden = await _burden(runtime, beside, huge_bytes)
        sent = 0

        async def other(n: int, until: float) -> None:
            run = runtime.run(f"other-{n}")
            while time.perf_counter() < until:
                begun = time.perf_counter()
                await run.signal(Counted(amount=n))
                taken.append(time.perf_counter() - begun)
                progress(seconds - until + time.perf_counter(), seconds)
                await anyio.sleep(PAUSE)

        async def load(one: Callable[[], Awaitable[Any]]) -> None:
            nonlocal sent
            while True:
                await one()
                sent += 1

        async with anyio.create_task_group() as loads:
            for one in burden:
                loads.start_soon(load, one)
            await anyio.sleep(min(seconds / 5, 0.5))  # the burden is at its height
            async with anyio.create_task_group() as tasks:
                until = time.perf_counter() + seconds
                for n in range(OTHERS):
                    tasks.start_soon(other, n, until)
            loads.cancel_scope.cancel()
    p50, p99 = (percentile(taken, percent) * 1e3 for percent in (50, 99))
    return {"p50": p50, "p99": p99, "longest": max(taken) * 1e3, "burden": sent}


async def _burden(runtime: looms.Runtime, beside: str, huge_bytes: int) -> list[Callable[[], Awaitable[Any]]]:
    """What is called again and again beside the others, each as soon as the call before has returned."""
    run: Run[Any, Any]
    match beside:
        case "flood":
            run = await runtime.start(tally, run_id="flooded")
            return [lambda: run.signal(Counted(amount=1))] * FLOOD
        case "huge":
            run = await runtime.start(huge, huge_bytes, run_id="huge")
            return [lambda: run.signal(Poked())]
        case "slow":
            run = await runtime.start(slow, run_id="slow")
            return [lambda: run.signal(Poked())]
    return []
