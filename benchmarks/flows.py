"""Workflows: steps one after the other, and a long one that comes back.

Budget: in one workflow at most two raw commits a step; a workflow of 10,000 steps, cold: resumes in under a second.

Measured: an `async def` with steps that do nothing, one after the other, alone in its host: the commits that a step
takes, and the time of a step against that of a raw commit of one row. And one of many steps that is cold and waits for
an event: from the signal until it is acknowledged, with the playing of all steps in it; beside it the bytes of its
snapshots, one every 256 records.

Not measured: steps that do something; many workflows at once (see `steps` of the peers).
"""

import time
from typing import Any

import looms
from benchmarks import raw
from benchmarks.context import Context
from benchmarks.figures import Figure, number, ratio
from benchmarks.reporting import progress
from looms import Event, Module, Workflow
from looms.reducers.codec import encode

module = Module("flows")

ROW = 100  # bytes of the raw row
PACE = 1_000  # steps between two reports of progress


@module.event("told")
class Told(Event):
    text: str


async def nothing(n: int) -> int:
    """A step."""
    return n


@module.workflow("chain")
async def chain(ctx: Workflow, steps: int) -> int:
    """Takes so many steps."""
    for n in range(steps):
        if n % PACE == 0:
            progress(n, steps)
        await ctx.run(nothing, n)
    return steps


@module.workflow("chain_and_wait")
async def chain_and_wait(ctx: Workflow, steps: int) -> str:
    """Takes so many steps, and then waits to be told something."""
    await chain(ctx, steps)
    return (await ctx.wait(Told)).text


def flows(context: Context) -> list[Figure]:
    """Steps of one workflow, and a long one that comes back."""
    sizes = context.sizes
    took = context.rounds(
        {
            "raw": lambda: context.run(
                raw.one_row, "raw, one row", path=context.empty(), size=ROW, count=sizes.wake_signals
            ),
            "Looms": lambda: context.run(steps, "Looms, steps", path=context.empty(), count=sizes.chained),
        }
    )
    commits = [one["commits"] for one in took["Looms"]]
    long = context.run(long_one, "a long workflow", path=context.empty(), count=sizes.long_chain)
    return [
        Figure(
            benchmark="flows",
            what="steps of one workflow: commits for each",
            value=max(commits),
            unit="commits",
            at_most=2,
            detail="that asks, and that records the attempt; the outcome is in the next one that asks",
        ),
        ratio(
            "flows",
            "steps of one workflow: time of each, against a raw commit of one row",
            [one["ms"] for one in took["Looms"]],
            took["raw"],
            "ms",
            against="raw, 1 row,",
        ),
        Figure(
            benchmark="flows",
            what=f"a cold workflow of {sizes.long_chain:,} steps: resumed by a signal",
            value=long["resumed"],
            unit="s",
            at_most=1.0,
            detail="with all of its steps played again",
        ),
        Figure(
            benchmark="flows",
            what="one of its snapshots that are deltas, against a full one of its end",
            value=long["delta"] / long["full"],
            detail=f"{number(long['delta'] / 1e3)} kB for 256 steps, {long['deltas']:,} of them; "
            f"{long['wholes']:,} are stored in full, the last state takes {number(long['full'] / 1e3)} kB; "
            f"all together {number(long['total'] / 1e3)} kB",
        ),
    ]


async def steps(path: str, count: int) -> dict[str, float]:
    """Commits and milliseconds for each of so many steps, beside those of a workflow that has none."""
    none, _ = await transactions(f"{path}-none", 0)
    all_of_them, taken = await transactions(path, count)
    return {"ms": taken / count * 1e3, "commits": (all_of_them - none) / count}


async def transactions(path: str, count: int) -> tuple[int, float]:
    """How many a workflow of so many steps takes, with all else that a store needs; and the seconds."""
    async with looms.Runtime(path, modules=[module]) as runtime:
        begun = time.perf_counter()
        run = await runtime.start(chain, count)
        if await run.result() != count:
            raise AssertionError("it did not take its steps")
        taken = time.perf_counter() - begun
    with raw.opened(path, readonly=True) as environment:
        return environment.info()["last_txnid"], taken


async def long_one(path: str, count: int) -> dict[str, Any]:
    """Seconds to resume a long workflow, and the bytes of its snapshots; `full`: of one of its last state."""
    async with looms.Runtime(path, modules=[module], durability="relaxed") as runtime:
        run = await runtime.start(chain_and_wait, count, run_id="long")
        async for record in run.events(follow=True):
            if record.seq > count and (await run.inspect()).waits:
                break
        stored = [snapshot async for snapshot in run.snapshots()]
        state = await run.state()
    async with looms.Runtime(path, modules=[module]) as runtime:
        begun = time.perf_counter()
        await runtime.run("long").signal(Told(text="go"))
        resumed = time.perf_counter() - begun
        if await runtime.run("long").result() != "go":
            raise AssertionError("it did not hear it")
    deltas = [snapshot.bytes for snapshot in stored if snapshot.kind == "delta"]
    return {
        "resumed": resumed,
        "deltas": len(deltas),
        "delta": sum(deltas) / max(1, len(deltas)),
        "wholes": len(stored) - len(deltas),
        "total": sum(snapshot.bytes for snapshot in stored),
        "full": len(encode(state)),
    }
