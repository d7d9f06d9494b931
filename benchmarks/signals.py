"""Many senders at once, one event a call.

Budget: 1,000 runs, 1,000 concurrent senders, one event each call, acknowledged durable per second, against raw at
1,000 records a commit spread over 1,000 runs with (run, seq) keys: at least 0.6 (a better layout may pass 1).

Measured: each sender signals its own run, and sends the next event when the one before was acknowledged. Every run
has a past of 257 to 512 records, 384 in the middle, and snapshots are due as they would be: at any time for some. All
runs are in memory; they were brought back by two rounds before. Raw's runs begin with a past of as many records, and
it writes 1,000 records, 1,000 heads and the commit's row in each commit, in bytes as Looms writes them. It keeps no
extents and takes no snapshots. Beside it: raw that writes the records and nothing else; and `durability="relaxed"` on
both sides.

Not measured: runs that are not in memory (see `cold`); how long each sender waits (see `fairness`).
"""

import time
from pathlib import Path
from typing import Any

import anyio

import looms
from benchmarks import raw
from benchmarks.application import MODULES, Counted, start_all, tally
from benchmarks.context import Context, copied
from benchmarks.figures import Figure, ratio
from benchmarks.reporting import progress

WARM = 2  # rounds before those that are measured
LONGER = 4  # times as many commits of raw, which would be over in a moment
PAST = 384  # records of a run, on average


def signals(context: Context) -> list[Figure]:
    """Acknowledged events a second from many senders, against raw."""
    sizes = context.sizes
    bytes_of = context.run(bytes_written, "what signals write", path=busy(context), senders=sizes.senders)
    pasts = context.made(
        "pasts",
        raw.pasts,
        "raw runs with a past",
        runs=sizes.senders,
        records=PAST,
        record=bytes_of["record"],
        head=bytes_of["head"],
    )

    def theirs(said: str, **how: bool) -> float:
        rate: float = context.run(
            raw.spread,
            said,
            path=context.copy(pasts),
            runs=sizes.senders,
            seq=PAST,
            each=1,
            count=LONGER * sizes.signals_each,
            **bytes_of,
            **how,
        )
        return rate

    rates = context.rounds(
        {
            "raw": lambda: theirs("raw"),
            "Looms": lambda: ours(context),
            "raw, records": lambda: theirs("raw, records alone", alone=True),
            "raw, relaxed": lambda: theirs("raw, relaxed", durable=False),
            "relaxed": lambda: ours(context, "relaxed"),
        }
    )
    return [
        ratio("signals", "events a second, against raw", rates["Looms"], rates["raw"], "/s", at_least=0.6),
        ratio(
            "signals",
            "events a second, against raw that writes records alone",
            rates["Looms"],
            rates["raw, records"],
            "/s",
        ),
        ratio(
            "signals", "relaxed: events a second, against raw, relaxed", rates["relaxed"], rates["raw, relaxed"], "/s"
        ),
    ]


def busy(context: Context) -> Path:
    """The store with a run for each sender, and their past."""
    senders = context.sizes.senders
    return context.made(f"busy-{senders}", make_busy, f"a store with {senders:,} busy runs", count=senders)


def ours(context: Context, durability: str = "commit") -> float:
    """Events a second that Looms acknowledges, in a process of its own, on a copy of the store."""
    sizes = context.sizes
    rate: float = context.run(
        load,
        f"Looms, {durability}",
        path=context.copy(busy(context)),
        senders=sizes.senders,
        each=sizes.signals_each,
        durability=durability,
    )
    return rate


def tally_id(n: int) -> str:
    """The id of the n-th run."""
    return f"tally-{n:06d}"


async def make_busy(path: str, count: int) -> None:
    """Make the runs, and give them their past: a snapshot at 257, and up to 255 records behind it."""
    async with looms.Runtime(path, modules=MODULES, durability="relaxed") as runtime:
        await start_all(runtime, tally, tally_id, count)
        for n in range(count):
            progress(n, count)
            run = runtime.run(tally_id(n))
            await run.signal(*(Counted(amount=at) for at in range(256)))
            behind = n * 256 // count
            if behind:
                await run.signal(*(Counted(amount=at) for at in range(behind)))


async def send_all(runtime: looms.Runtime, senders: int, each: int) -> None:
    """Have each sender signal its run so many times."""
    sent = 0

    async def sender(n: int) -> None:
        nonlocal sent
        run = runtime.run(tally_id(n))
        for at in range(each):
            await run.signal(Counted(amount=at))
            sent += 1
            progress(sent, senders * each)

    async with anyio.create_task_group() as tasks:
        for n in range(senders):
            tasks.start_soon(sender, n)


async def load(path: str, senders: int, each: int, durability: Any = "commit") -> float:
    """Acknowledged events a second."""
    async with looms.Runtime(path, modules=MODULES, durability=durability) as runtime:
        await send_all(runtime, senders, WARM)
        begun = time.perf_counter()
        await send_all(runtime, senders, each)
        taken = time.perf_counter() - begun
    return senders * each / taken


async def bytes_written(path: str, senders: int) -> dict[str, int]:
    """The mean bytes of a record, of a head, and of a commit's row for as many records as there are senders."""
    rounds = 8  # a head tells of its run's last sixteen places in the log: half of them by then
    after = Path(path).with_name("busy-after")
    copied(path, after)
    async with looms.Runtime(after, modules=MODULES) as runtime:
        await send_all(runtime, senders, rounds)
    rows = raw.written(path, after)
    of_commits = sum(row.size for row in rows if row.table == "commits")
    return {"record": raw.mean(rows, "log"), "head": raw.mean(rows, "runs"), "commit": of_commits // rounds}
