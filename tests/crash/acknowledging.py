"""A program that says each time that a call has returned; run as `python -m tests.crash.acknowledging STORE WAY ...`.

The ways: `runtime LOOP DURABILITY`, `sync`, and `across LOOP`, which asks a host that is another process.
"""

import os
import subprocess
import sys
from pathlib import Path

import anyio
import msgspec

import looms
from looms import Runtime
from looms.driving import driver
from looms.snapshots.environment import Durability
from tests.crash.flushes import SAID
from tests.crash.works import Asked, Trip, Word, desk, modules, trip


def say(what: str) -> None:
    """In one write, so that it is said when this returns."""
    os.write(1, f"{SAID} {what}\n".encode())


async def runtime(store: str, durability: Durability) -> None:
    async with Runtime(store, modules=modules, durability=durability) as rt:
        run = await rt.start(desk, 0, run_id="d")
        say("start")
        await run.signal(Asked(1, "wait", "x"), key="k1")
        say("signal")
        await run.signal(Asked(2, "stamp"), Asked(3, "fold"))
        say("signal of several")
        await rt.signal_many([("d", Asked(n, "fold")) for n in range(5)])
        say("signal_many")
        await rt.publish(Word("x"), key="p1")
        say("publish")
        await rt.publish(Word("kept"), retain=60)
        say("publish for later")
        over = await rt.start(trip, Trip(7, "wait"), run_id="t")
        say("start of another")
        await over.cancel("enough")
        say("cancel")
        await over.delete()
        say("delete")


def sync(store: str) -> None:
    with looms.open(store, modules=modules) as rt:
        run = rt.start(desk, 0, run_id="d")
        say("start")
        run.signal(Asked(1, "fold"))
        say("signal")
        rt.publish(Word("x"), retain=60)
        say("publish")


def across(store: str, loop: str) -> None:
    command = [sys.executable, "-m", "tests.crash.hosting", store, loop]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as host:
        assert host.stdout is not None
        assert host.stdout.readline() == b"open\n"
        anyio.run(asking, store, backend=loop)
        host.kill()


async def asking(store: str) -> None:
    for n in range(2):
        async with driver(store, modules) as asks:
            await asks.start("works.desk", b"0", run_id=f"d{n}")
            say("start by a host")
            await asks.signal(f"d{n}", "works.asked", msgspec.json.encode(Asked(1, "fold")))
            say("signal by a host")


if __name__ == "__main__":
    store, way, *more = sys.argv[1:]
    os.environ.setdefault("WORKS_LEDGER", str(Path(store).with_name("ledger")))
    if way == "sync":
        sync(store)
    elif way == "across":
        across(store, more[0])
    else:
        anyio.run(runtime, store, "relaxed" if more[1] == "relaxed" else "commit", backend=more[0])
