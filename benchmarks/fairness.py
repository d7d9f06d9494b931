"""What one run's load is to the others.

No budget: the p99 of the others is reported, and what it is beside an idle store.

Measured: twenty senders, each with a run of its own, that signal and pause for some milliseconds, for a few seconds:
alone; beside a run that a hundred senders flood; beside one whose state is huge (10 MB, and 100 MB) and changes with
each signal, one after the other; beside one that gets payloads of 10 MB; beside one with 100,000 waits, of which each
signal meets one and opens another; beside one with as many events in its mailbox, of which each signal takes one and
leaves another; beside one whose reducer takes 20 ms of CPU for each. What each of the twenty waits for an
acknowledgement. Alone and beside each burden in turn, in three rounds; a ratio to alone is the median of those in each
round, and the longest wait is that of all rounds.

Not measured: what the loaded run itself gets.
"""

import statistics
import time
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import count
from typing import Any

import anyio

import looms
from benchmarks.application import MODULES, Counted, start_all, tally
from benchmarks.context import Context
from benchmarks.figures import Figure, number, percentile
from benchmarks.reporting import progress
from benchmarks.sizes import Sizes
from looms import Event, Module, Reduced, Run, Started, State, replace, step, wait

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


@module.event("heavy")
class Heavy(Event):
    text: str


class Size(State):
    size: int = 0


@module.reducer("heavy_one", state=Size)
def heavy_one(state: Size, event: Started[None] | Heavy) -> Reduced[Size]:
    """Takes large payloads, and keeps their size."""
    return Size(len(event.text)) if isinstance(event, Heavy) else state


@module.event("answered")
class Answered(Event):
    n: int


@module.reducer("parked", state=Size)
def parked(state: Size, event: Started[int] | Answered) -> Reduced[Size]:
    """Started with how many answers it waits for at once."""
    if isinstance(event, Started):
        return step(Size(event.input), *(wait(Answered, match={"n": n}) for n in range(event.input)))
    return step(replace(state, size=state.size + 1), wait(Answered, match={"n": state.size}))


@module.event("mailed")
class Mailed(Event):
    n: int


@module.reducer("collector", state=Size)
def collector(state: Size, event: Started[None] | Poked | Mailed) -> Reduced[Size]:
    """Takes the oldest of what is in its mailbox when it is poked; it waits for none that never comes."""
    match event:
        case Started():
            return step(state, wait(Mailed, match={"n": -1}))
        case Poked():
            return step(state, wait(Mailed))
    return replace(state, size=state.size + 1)


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

    def beside(burden: str) -> dict[str, Any]:
        waited: dict[str, Any] = context.run(
            others,
            _BESIDE[burden],
            path=context.empty(),
            beside=burden,
            seconds=sizes.fairness_seconds,
            size=_size(sizes, burden),
        )
        return waited

    took = context.rounds({burden: partial(beside, burden) for burden in _BESIDE}, min(3, sizes.rounds))
    return [_figure(burden, rounds, took["nothing"]) for burden, rounds in took.items()]


def _figure(burden: str, rounds: list[dict[str, Any]], alone: list[dict[str, Any]]) -> Figure:
    def median(what: str) -> str:
        return number(statistics.median(one[what] for one in rounds))

    p99s = tuple(one["p99"] for one in rounds)
    times = statistics.median(p99 / other["p99"] for p99, other in zip(p99s, alone, strict=True))
    burdened = statistics.median(one["burden"] for one in rounds)
    against = f"; {number(times)} times alone; the burden took {burdened:,.0f}" if burden != "nothing" else ""
    return Figure(
        benchmark="fairness",
        what=f"p99 of a signal {_BESIDE[burden]}",
        value=statistics.median(p99s),
        unit="ms",
        detail=f"p50 {median('p50')} ms, the longest {number(max(one['longest'] for one in rounds))} ms{against}",
        rounds=p99s,
    )


_BESIDE = {
    "nothing": "with nothing beside",
    "flood": f"beside a run that {FLOOD} senders flood",
    "huge": "beside a run with a huge state",
    "vast": "beside a run with a state ten times as large",
    "heavy": "beside a run that gets large payloads",
    "waits": "beside a run with many waits",
    "mail": "beside a run with a full mailbox",
    "slow": f"beside a run whose reducer takes {SLOW * 1e3:g} ms",
}


def _size(sizes: Sizes, beside: str) -> int:
    """How large the burden is."""
    return {
        "huge": sizes.huge_bytes,
        "vast": sizes.vast_bytes,
        "heavy": sizes.payload_bytes,
        "waits": sizes.burden_waits,
        "mail": sizes.burden_mail,
    }.get(beside, 0)


async def others(path: str, beside: str, seconds: float, size: int) -> dict[str, Any]:
    """What the others wait, in milliseconds, while something burdens the runtime."""
    taken: list[float] = []
    async with looms.Runtime(path, modules=[*MODULES, module], max_mailbox=max(1_024, 2 * size)) as runtime:
        await start_all(runtime, tally, lambda n: f"other-{n}", OTHERS)
        burden = await _burden(runtime, beside, size)
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


async def _burden(runtime: looms.Runtime, beside: str, size: int) -> list[Callable[[], Awaitable[Any]]]:
    """What is called again and again beside the others, each as soon as the call before has returned."""
    run: Run[Any, Any]
    match beside:
        case "flood":
            run = await runtime.start(tally, run_id="flooded")
            return [lambda: run.signal(Counted(amount=1))] * FLOOD
        case "huge" | "vast":
            run = await runtime.start(huge, size, run_id="huge")
            return [lambda: run.signal(Poked())]
        case "heavy":
            run = await runtime.start(heavy_one, run_id="heavy")
            text = "x" * size
            return [lambda: run.signal(Heavy(text=text))]
        case "waits":
            run = await runtime.start(parked, size, run_id="parked")
            answers = count()
            return [lambda: run.signal(Answered(n=next(answers)))]
        case "mail":
            run = await runtime.start(collector, run_id="collector")
            await runtime.signal_many(("collector", Mailed(n=n)) for n in range(size))
            mails = count(size)
            return [lambda: run.signal(Mailed(n=next(mails)), Poked())]
        case "slow":
            run = await runtime.start(slow, run_id="slow")
            return [lambda: run.signal(Poked())]
    return []
