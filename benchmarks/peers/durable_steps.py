"""Durable steps and signals: Looms beside DBOS on SQLite.

Budget: DBOS on SQLite: steps a second over 100 concurrent workflows; signal to finished a second, 200 parked: 20 and
100 times.

Measured: 100 workflows at once, each of 20 steps that do nothing, one after the other, each recorded before the next:
steps a second from the first start until the last result is known. And 200 workflows that wait for a message: all are
sent one, as fast as the sender can, until the last one's result is known. On both sides all are started, or sent to, by
as many tasks at once. In Looms a step is an effect, whose attempt is on the disk before it runs. It is done twice: as
reducers, which are the kernel's own form, and as workflows, which are the form that DBOS has. And one workflow alone.

DBOS looks for a result once a second. So as not to measure that, nobody asks for one while the workflows run: when the
last of them has returned, which is seen in the process, results are looked for every 10 ms.

DBOS has asynchronous workflows, and the budget is held against it as it comes. Beside it, *tuned*: with the write-ahead
log of SQLite in place of its rollback journal (which is as durable, with `synchronous=FULL`), and looking for messages
every 10 ms in place of every second.

Not measured: steps that do something; a database server.
"""

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

import looms
from benchmarks.application import start_all
from benchmarks.context import Context
from benchmarks.figures import Figure, ratio
from benchmarks.reporting import progress
from looms import (
    Event,
    Module,
    ReduceContext,
    Reduced,
    Started,
    State,
    Workflow,
    complete,
    invoke,
    replace,
    step,
    wait,
)

module = Module("steps")

TUNED = 0.01  # seconds between two looks of DBOS for messages
PARKED = 1.0  # seconds after which those that are about to wait do
RESULT = 0.01  # seconds between two looks for the result of what has returned


@module.event("stepped")
class Stepped(Event):
    n: int


@module.event("told")
class Told(Event):
    text: str


@module.effect("step")
async def one_step(n: int, ctx: looms.EffectContext) -> Stepped:
    return Stepped(n=n)


class Flow(State):
    done: int = 0
    steps: int = 0


@module.reducer("flow", state=Flow)
def flow(state: Flow, event: Started[int] | Stepped) -> Reduced[Flow]:
    """Started with how many steps it takes."""
    match event:
        case Started(input=steps):
            return step(Flow(0, steps), invoke(one_step, 0))
        case Stepped():
            state = replace(state, done=state.done + 1)
            return step(state, complete(state.done) if state.done == state.steps else invoke(one_step, state.done))


@module.reducer("asker", state=Flow)
def asker(state: Flow, event: Started[None] | Told, ctx: ReduceContext) -> Reduced[Flow]:
    """Parks until it is told something, and is finished then."""
    if isinstance(event, Told):
        return step(state, complete(event.text))
    return step(state, wait(Told))


async def nothing(n: int) -> int:
    """A step of a workflow."""
    return n


@module.workflow("steps")
async def steps_of(ctx: Workflow, steps: int) -> int:
    """Takes so many steps."""
    for n in range(steps):
        await ctx.run(nothing, n)
    return steps


@module.workflow("hears")
async def hears(ctx: Workflow) -> str:
    """Parks until it is told something, and is finished then."""
    return (await ctx.wait(Told)).text


def durable_steps(context: Context) -> list[Figure]:
    """Steps and signals a second, against DBOS."""
    sizes, rounds = context.sizes, min(3, context.sizes.rounds)
    steps = {"workflows": sizes.workflows, "steps": sizes.steps}
    one = {"workflows": 1, "steps": sizes.chained}
    told = {"count": sizes.answered}

    def dbos(work: Callable[..., Any], said: str, tuned: bool, **given: int) -> float:
        said = f"DBOS, {said}{', tuned' if tuned else ''}"
        rate: float = context.run(work, said, path=context.empty(), tuned=tuned, **given)
        return rate

    def ours(work: Callable[..., Any], said: str, workflow: bool, **given: int) -> float:
        rate: float = context.run(work, f"Looms, {said}", path=context.empty(), workflow=workflow, **given)
        return rate

    rates = context.rounds(
        {
            "DBOS": lambda: dbos(dbos_steps, "steps", False, **steps),
            "Looms": lambda: ours(looms_steps, "steps", False, **steps),
            "Looms, workflows": lambda: ours(looms_steps, "steps of workflows", True, **steps),
            "DBOS, tuned": lambda: dbos(dbos_steps, "steps", True, **steps),
            "DBOS, one": lambda: dbos(dbos_steps, "one workflow", False, **one),
            "Looms, one": lambda: ours(looms_steps, "one workflow", True, **one),
            "DBOS, signals": lambda: dbos(dbos_signals, "signals", False, **told),
            "Looms, signals": lambda: ours(looms_signals, "signals", False, **told),
            "Looms, workflows, signals": lambda: ours(looms_signals, "signals to workflows", True, **told),
            "DBOS, signals, tuned": lambda: dbos(dbos_signals, "signals", True, **told),
        },
        rounds,
    )

    def against(ours: str, theirs: str, what: str, at_least: float | None = None) -> Figure:
        return ratio("peers", what, rates[ours], rates[theirs], "/s", at_least=at_least, against="DBOS on SQLite")

    many = f"steps a second over {sizes.workflows} concurrent workflows"
    parked = f"signal to finished a second, {sizes.answered} parked"
    return [
        against("Looms", "DBOS", f"{many}, against DBOS", 20),
        against("Looms", "DBOS, tuned", f"{many}, against DBOS, tuned"),
        against("Looms, workflows", "DBOS", f"{many} that are async functions, against DBOS", 20),
        against("Looms, one", "DBOS, one", "steps a second in one workflow, against DBOS"),
        against("Looms, signals", "DBOS, signals", f"{parked}, against DBOS", 100),
        against("Looms, signals", "DBOS, signals, tuned", f"{parked}, against DBOS, tuned"),
        against("Looms, workflows, signals", "DBOS, signals", f"{parked} as async functions, against DBOS", 100),
    ]


async def looms_steps(path: str, workflows: int, steps: int, workflow: bool) -> float:
    """Steps a second."""
    definition = steps_of if workflow else flow
    async with looms.Runtime(path, modules=[module]) as runtime:
        begun = time.perf_counter()
        async with anyio.create_task_group() as tasks:
            for n in range(workflows):
                tasks.start_soon(_whole, runtime, definition, f"flow-{n}", steps)
        taken = time.perf_counter() - begun
    return workflows * steps / taken


async def _whole(runtime: looms.Runtime, definition: Any, run_id: str, steps: int) -> None:
    run = await runtime.start(definition, steps, run_id=run_id)
    if await run.result() != steps:
        raise AssertionError(f"{run_id} did not take its steps")


async def looms_signals(path: str, count: int, workflow: bool) -> float:
    """Runs a second that are signalled and finish."""
    async with looms.Runtime(path, modules=[module]) as runtime:
        await start_all(runtime, hears if workflow else asker, lambda n: f"asker-{n}", count)
        runs = [runtime.run(f"asker-{n}") for n in range(count)]

        async def tell(run: looms.Run[Any, Any]) -> None:
            await run.signal(Told(text="go"))
            if await run.result() != "go":
                raise AssertionError(f"{run} did not hear it")

        begun = time.perf_counter()
        async with anyio.create_task_group() as tasks:
            for run in runs:
                tasks.start_soon(tell, run)
        taken = time.perf_counter() - begun
    return count / taken


def _launched(path: str, tuned: bool) -> Any:
    """DBOS on a database of its own."""
    from dbos import DBOS

    file = Path(path) / "dbos.sqlite"
    file.parent.mkdir(parents=True)
    config = {
        "name": "bench",
        "system_database_url": f"sqlite:///{file}",
        "log_level": "ERROR",
        "run_admin_server": False,
    }
    if tuned:
        config["notification_listener_polling_interval_sec"] = TUNED
        with closing(sqlite3.connect(file)) as database:
            database.execute("PRAGMA journal_mode=WAL")
    DBOS(config=config)
    return DBOS


class Counted:
    """How many workflows have come to some point."""

    def __init__(self, of: int) -> None:
        self._of = of
        self._count = 0

    def one(self) -> None:
        """One has, in whatever thread."""
        self._count += 1

    async def all(self) -> None:
        """Return when all have."""
        while self._count < self._of:
            progress(self._count, self._of)
            await anyio.sleep(RESULT)


async def _results(handles: list[Any], right: object) -> None:
    """Know the results of workflows that have returned, all at once."""

    async def know(handle: Any) -> None:
        found = await handle.get_result(polling_interval_sec=RESULT)
        if found != right:
            raise AssertionError(f"DBOS found {found!r} instead of {right!r}")

    async with anyio.create_task_group() as tasks:
        for handle in handles:
            tasks.start_soon(know, handle)


async def dbos_steps(path: str, tuned: bool, workflows: int, steps: int) -> float:
    """Steps a second."""
    dbos, ended, handles = _launched(path, tuned), Counted(workflows), list[Any]()

    async def step(n: int) -> int:
        return n

    durable = dbos.step()(step)

    async def work(steps: int) -> int:
        for n in range(steps):
            await durable(n)
        ended.one()
        return steps

    workflow = dbos.workflow()(work)
    dbos.launch()

    async def start() -> None:
        handles.append(await dbos.start_workflow_async(workflow, steps))

    begun = time.perf_counter()
    async with anyio.create_task_group() as tasks:
        for _ in range(workflows):
            tasks.start_soon(start)
    await ended.all()
    await _results(handles, steps)
    taken = time.perf_counter() - begun
    await anyio.to_thread.run_sync(dbos.destroy)
    return workflows * steps / taken


async def dbos_signals(path: str, tuned: bool, count: int) -> float:
    """Workflows a second that are signalled and finish."""
    dbos, asking, ended = _launched(path, tuned), Counted(count), Counted(count)

    async def ask() -> Any:
        asking.one()
        told = await dbos.recv_async("go", timeout_seconds=600)
        ended.one()
        return told

    workflow = dbos.workflow()(ask)
    dbos.launch()
    handles = [await dbos.start_workflow_async(workflow) for _ in range(count)]
    await asking.all()
    await anyio.sleep(PARKED)

    async def tell(handle: Any) -> None:
        await dbos.send_async(handle.workflow_id, "go", "go")

    begun = time.perf_counter()
    async with anyio.create_task_group() as tasks:
        for handle in handles:
            tasks.start_soon(tell, handle)
    await ended.all()
    await _results(handles, "go")
    taken = time.perf_counter() - begun
    await anyio.to_thread.run_sync(dbos.destroy)
    return count / taken
