"""Many waits in one run.

Budget: 10,000 waits of one type in one run: matching one event, against 10 waits: at most 1.5 times.

Measured: the median of a signal until acknowledged that meets one of the waits, chosen at random; the run then waits
for the same again. Both runs in turn, in one process. Snapshots, which hold all the waits, come as they are due.

Not measured: waits of many runs (see `publishing`).
"""

import random
import statistics
import time

import looms
from benchmarks.context import Context
from benchmarks.figures import Figure, ratio
from benchmarks.reporting import tracked
from looms import Event, Module, Reduced, Started, State, replace, step, wait

module = Module("questions")


@module.event("answered")
class Answered(Event):
    question: int
    answer: str


class Questions(State):
    answers: int = 0


@module.reducer("questions", state=Questions)
def questions(state: Questions, event: Started[int] | Answered) -> Reduced[Questions]:
    """Started with how many questions there are."""
    match event:
        case Started(input=count):
            return step(state, *(wait(Answered, match={"question": n}) for n in range(count)))
        case Answered(question=n):
            return step(replace(state, answers=state.answers + 1), wait(Answered, match={"question": n}))


def in_run_waits(context: Context) -> list[Figure]:
    """A signal to a run with many waits, against one with few."""
    sizes = context.sizes
    waits = [sizes.few_waits, sizes.many_waits]
    took = [
        context.run(answers, "Looms", path=context.empty(), waits=waits, count=sizes.answers)
        for _ in range(sizes.rounds)
    ]
    few, many = ([one[n] for one in took] for n in (0, 1))
    return [
        ratio(
            "in-run waits",
            f"a signal that meets one of {waits[1]:,} waits, against {waits[0]}",
            many,
            few,
            "ms",
            at_most=1.5,
            against="few waits",
        )
    ]


async def answers(path: str, waits: list[int], count: int) -> list[float]:
    """For each number of waits the median of milliseconds of a signal that meets one."""
    taken: list[list[float]] = [[] for _ in waits]
    chosen = random.Random(1)
    async with looms.Runtime(path, modules=[module]) as runtime:
        runs = [await runtime.start(questions, number, run_id=f"questions-{number}") for number in waits]
        for _ in tracked(range(count), count):
            for times, run, number in zip(taken, runs, waits, strict=True):
                event = Answered(question=chosen.randrange(number), answer="as it may be")
                begun = time.perf_counter()
                await run.signal(event)
                times.append(time.perf_counter() - begun)
    return [statistics.median(times) * 1e3 for times in taken]
