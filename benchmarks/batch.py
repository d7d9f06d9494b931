"""A hundred events a call, to one run.

Budget: one run, 100 events a call, against raw at 100 a commit in one run: at least 0.5.

Measured: records a second, one call after the other, each acknowledged before the next. Snapshots are taken as they
are due. Raw appends 100 records, and writes the head and the commit's row, in bytes as Looms writes them.

Not measured: several runs at once (see `signals`).
"""

import shutil
import time
from pathlib import Path

import looms
from benchmarks import raw
from benchmarks.application import MODULES, Counted, tally
from benchmarks.context import Context, copied
from benchmarks.figures import Figure, ratio
from benchmarks.reporting import tracked

EACH = 100


def batch(context: Context) -> list[Figure]:
    """Records a second in turns of a hundred, against raw."""
    calls = context.sizes.batch_calls
    bytes_of = context.run(bytes_written, "what a call writes", path=context.empty())
    pasts = context.made(
        "past", raw.pasts, "raw", runs=1, records=EACH, record=bytes_of["record"], head=bytes_of["head"]
    )
    rates = context.rounds(
        {
            "raw": lambda: context.run(
                raw.spread, "raw", path=context.copy(pasts), runs=1, seq=EACH, each=EACH, count=calls, **bytes_of
            ),
            "Looms": lambda: context.run(load, "Looms", path=context.empty(), calls=calls),
        }
    )
    return [
        ratio("batch", "records a second, 100 a call, against raw", rates["Looms"], rates["raw"], "/s", at_least=0.5)
    ]


async def load(path: str, calls: int) -> float:
    """Records a second."""
    events = [Counted(amount=n) for n in range(EACH)]
    async with looms.Runtime(path, modules=MODULES) as runtime:
        run = await runtime.start(tally, run_id="tally")
        await run.signal(*events)
        begun = time.perf_counter()
        for _ in tracked(range(calls), calls):
            await run.signal(*events)
        taken = time.perf_counter() - begun
    return calls * EACH / taken


async def bytes_written(path: str) -> dict[str, int]:
    """The mean bytes of a record, and those of the head and of the commit's row."""
    before, after = Path(path), Path(path).with_name("batch-after")
    await load(str(before), 1)
    shutil.rmtree(after, ignore_errors=True)
    copied(before, after)
    async with looms.Runtime(after, modules=MODULES) as runtime:
        await runtime.run("tally").signal(*(Counted(amount=n) for n in range(EACH)))
    rows = raw.written(before, after)
    return {"record": raw.mean(rows, "log"), "head": raw.mean(rows, "runs"), "commit": raw.mean(rows, "commits")}
