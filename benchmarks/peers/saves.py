"""Saving and rebuilding: Looms beside the `eventsourcing` library on SQLite.

Budget: `eventsourcing` on SQLite: saves a second by 1,000 callers; rebuilds: 10 and 20 times.

Measured: 1,000 callers, each with an aggregate (a run) of its own, that save one event after the other: saves a
second. In Looms the callers are tasks. `eventsourcing` is synchronous: its callers are measured as 1,000 threads and
one after the other in a single thread, and the faster of the two counts. And an aggregate of 10,000 events that is
rebuilt from all of them, with no snapshot on either side: events a second.

SQLite has a write-ahead log, as the library opens it.

Not measured: a database server.
"""

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import looms
from benchmarks import signals
from benchmarks.application import MODULES, Counted, Tallies, batches, bench, start_all, tally, tally_of
from benchmarks.context import Context
from benchmarks.figures import Figure, ratio
from benchmarks.reporting import progress


def saves(context: Context) -> list[Figure]:
    """Saves and rebuilds a second, against `eventsourcing`."""
    sizes, rounds = context.sizes, min(3, context.sizes.rounds)
    callers = {"callers": sizes.callers, "each": sizes.saves_each}

    def theirs() -> float:
        rates: list[float] = [
            context.run(their_saves, f"eventsourcing, {said}", path=context.empty(), threads=threads, **callers)
            for said, threads in (("one thread", 1), (f"{sizes.callers} threads", sizes.callers))
        ]
        return max(rates)

    rates = context.rounds(
        {
            "theirs": theirs,
            "ours": lambda: context.run(our_saves, "Looms, saves", path=context.empty(), **callers),
            "their rebuilds": lambda: context.run(
                their_rebuilds, "eventsourcing, rebuilds", path=context.empty(), events=sizes.rebuilt
            ),
            "our rebuilds": lambda: context.run(
                our_rebuilds, "Looms, rebuilds", path=context.empty(), events=sizes.rebuilt
            ),
        },
        rounds,
    )
    return [
        ratio(
            "peers",
            f"saves a second by {sizes.callers:,} callers, against eventsourcing",
            rates["ours"],
            rates["theirs"],
            "/s",
            at_least=10,
            against="eventsourcing on SQLite",
        ),
        ratio(
            "peers",
            f"events rebuilt a second, {sizes.rebuilt:,} of them, against eventsourcing",
            rates["our rebuilds"],
            rates["their rebuilds"],
            "/s",
            at_least=20,
            against="eventsourcing on SQLite",
        ),
    ]


async def our_saves(path: str, callers: int, each: int) -> float:
    """Saves a second."""
    async with looms.Runtime(path, modules=MODULES) as runtime:
        await start_all(runtime, tally, signals.tally_id, callers)
        begun = time.perf_counter()
        await signals.send_all(runtime, callers, each)
        taken = time.perf_counter() - begun
    return callers * each / taken


async def our_rebuilds(path: str, events: int) -> float:
    """Events rebuilt a second."""
    async with looms.Runtime(path, modules=MODULES, durability="relaxed") as runtime:
        run = await runtime.start(tally, run_id="long")
        for batch in batches(events):
            await run.signal(*batch)
    module, _ = tally_of(2)
    async with looms.Reader(path, modules=[bench, module]) as reader:
        Tallies.calls = 0
        begun = time.perf_counter()
        state = await reader.run("long").state()
        taken = time.perf_counter() - begun
    if (state.count, Tallies.calls) != (events, events + 1):
        raise AssertionError(f"{Tallies.calls} of {events + 1} records were folded, into {state}")
    return events / taken


def _application(path: str) -> tuple[Any, Callable[[], Any]]:
    """An application of the library on SQLite, and what makes an aggregate."""
    from eventsourcing.application import Application

    from benchmarks.peers.account import Account

    os.makedirs(path)
    settings = {
        "PERSISTENCE_MODULE": "eventsourcing.sqlite",
        "SQLITE_DBNAME": os.path.join(path, "events.sqlite"),
        "SQLITE_LOCK_TIMEOUT": "600",
    }
    return Application(env=settings), Account


def their_saves(path: str, threads: int, callers: int, each: int) -> float:
    """Saves a second."""
    application, account = _application(path)
    accounts = [account() for _ in range(callers)]
    application.save(*accounts)
    note = Counted(amount=0).note
    done = 0

    def caller(one: Any) -> None:
        nonlocal done
        for n in range(each):
            one.counted(amount=n, note=note)
            application.save(one)
            done += 1
            progress(done, callers * each)

    with ThreadPoolExecutor(threads) as pool:
        begun = time.perf_counter()
        list(pool.map(caller, accounts))
        taken = time.perf_counter() - begun
    return callers * each / taken


def their_rebuilds(path: str, events: int) -> float:
    """Events rebuilt a second."""
    application, account = _application(path)
    one, note = account(), Counted(amount=0).note
    for first in range(0, events, 100):
        progress(first, events)
        for n in range(first, min(first + 100, events)):
            one.counted(amount=n, note=note)
        application.save(one)
    begun = time.perf_counter()
    again = application.repository.get(one.id)
    taken = time.perf_counter() - begun
    if again.count != events:
        raise AssertionError(f"{again.count} of {events} events were rebuilt")
    return events / taken
