"""A host under a mixed load, to be killed; run as `python -m tests.crash.worker STORE LOOP SEED ROUND`.

Prints a line of JSON for each call that returned, once it has returned: what was asked for, and the answer.
"""

import os
import sys
from contextlib import suppress
from functools import partial
from random import Random
from typing import Any, Literal, get_args

import anyio
import msgspec

import looms
from looms import RunActive, RunFinished, Runtime, UnknownEffect, UnknownRun
from looms.snapshots import copying
from tests.crash.works import Asked, Do, Told, Trip, Word, desk, modules, trip

STDOUT = 1
DESKS = 4
SHARES: dict[Do, int] = {"fold": 8, "wait": 3, "invoke": 2, "tell": 3, "flood": 0, "pass": 0}  # the others: 1
DOINGS: list[Do] = [do for do in get_args(Do) for _ in range(SHARES.get(do, 1))]


class Acknowledged(msgspec.Struct, frozen=True, omit_defaults=True):
    """A call that returned."""

    call: str
    run: str = ""
    key: str = ""
    payloads: tuple[dict[str, Any], ...] = ()
    seq: int = 0
    runs: tuple[str, ...] = ()


def acknowledge(*args: Any, **fields: Any) -> None:
    """Say so, in one write, so that it is said when this returns."""
    os.write(STDOUT, msgspec.json.encode(Acknowledged(*args, **fields)) + b"\n")


class Load:
    """What the tasks of one round do; their keys and ids are unlike those of other rounds."""

    def __init__(self, runtime: Runtime, seed: str) -> None:
        self._runtime = runtime
        self._seed = seed

    async def signals(self, task: int) -> None:
        """Ask the desks for all kinds of things, one or several at a time, each under a key."""
        random = Random(f"{self._seed} signals {task}")
        for n in range(1_000_000):
            run = self._runtime.run(f"desk {random.randrange(DESKS)}")
            key = f"{self._seed} {task} {n}"
            events = tuple(self._event(random, n, f"{key} {part}") for part in range(random.choice((1, 1, 1, 3))))
            receipt = await run.signal(*events, key=key)
            assert not receipt.duplicate
            acknowledge("signal", run.id, key, tuple(map(msgspec.to_builtins, events)), receipt.seq)

    def _event(self, random: Random, n: int, tag: str) -> looms.Event:
        do = random.choice(DOINGS)
        if do == "tell":
            return Asked(n, do, f"desk {random.randrange(DESKS)}")
        if do in ("wait", "choose", "shout"):
            return Asked(n, do, f"tag {random.randrange(40)}")
        return Asked(n, do, tag)

    async def starts(self, task: int) -> None:
        """Start short runs."""
        random = Random(f"{self._seed} starts {task}")
        for n in range(1_000_000):
            given = Trip(random.randrange(10_000), random.choice(("wait", "stamp", "press", "child")))
            run = await self._runtime.start(trip, given, run_id=f"trip {self._seed} {task} {n}")
            acknowledge("start", run.id, payloads=({"input": msgspec.to_builtins(given)},), seq=1)
            if n % 5 == 0:
                await self._end(random, run)
            await anyio.sleep(0.002)

    async def _end(self, random: Random, run: looms.Run[Any, Any]) -> None:
        """Cancel a short run, or let it end; and sometimes have it removed."""
        try:
            if random.random() < 0.5:
                await run.cancel("not wanted")
                acknowledge("cancel", run.id)
            else:
                await run.result(timeout=0.2)
        except (RunFinished, looms.RunFailed, looms.RunCancelled, TimeoutError):
            pass
        if random.random() < 0.3:
            acknowledge("deleting", run.id)
            try:
                await run.delete()
                acknowledge("delete", run.id)
            except (RunActive, UnknownRun):
                pass

    async def publications(self, task: int) -> None:
        """Publish words, to whoever waits for them."""
        random = Random(f"{self._seed} publications {task}")
        for n in range(1_000_000):
            key = f"{self._seed} {task} {n}"
            tag = random.choice((f"tag {random.randrange(40)}", f"trip {random.randrange(10_000)}"))
            word = Word(tag, random.getrandbits(50))
            published = await self._runtime.publish(word, key=key)
            acknowledge("publish", "", key, (msgspec.to_builtins(word),), runs=tuple(published.runs))
            await anyio.sleep(0.003)

    async def forks(self, task: int) -> None:
        """Fork desks while they work, and have what is held in the forks run, or run at once."""
        random = Random(f"{self._seed} forks {task}")
        for n in range(1_000_000):
            desk = self._runtime.run(f"desk {random.randrange(DESKS)}")
            at = random.randint(1, (await desk.inspect()).seq)
            effects: Literal["hold", "redispatch"] = random.choice(("hold", "redispatch"))
            fork_id = f"fork {self._seed} {task} {n}"
            fork = await desk.fork(at, fork_id, effects=effects)
            acknowledge("fork", fork_id, desk.id, seq=at)
            for effect in (await fork.inspect()).effects[:2]:
                with suppress(UnknownEffect):  # it ran meanwhile
                    await fork.retry_effect(effect.id)
            await anyio.sleep(0.02)

    async def early(self, task: int) -> None:
        """Send to runs that are started only afterwards."""
        for n in range(1_000_000):
            run = self._runtime.run(f"early {self._seed} {n}")
            told, key = Told(n, "early"), f"{self._seed} {task} {n}"
            await run.signal(told, key=key, retain=60)
            acknowledge("early", run.id, key, (msgspec.to_builtins(told),))
            await self._runtime.start(desk, n, run_id=run.id)
            acknowledge("start", run.id, payloads=({"input": n},), seq=1)
            receipt = await run.signal(told, key=key)
            assert receipt.duplicate
            acknowledge("signal", run.id, key, (msgspec.to_builtins(told),), receipt.seq)
            await anyio.sleep(0.01)


async def main(store: str, seed: str) -> None:
    options = Random(f"{seed} options")
    copying.RECORDS = options.choice((7, 50, 1_024))  # so that many forks take several commits
    async with Runtime(store, modules=modules, snapshot_every=options.choice((3, 20, 256))) as runtime:
        for n in range(DESKS):
            await runtime.start(desk, n, run_id=f"desk {n}", exists="return")
        load = Load(runtime, seed)
        work = [*[load.signals] * 6, *[load.starts] * 2, *[load.publications] * 2, load.early, load.forks]
        async with anyio.create_task_group() as tasks:
            for task, does in enumerate(work):
                tasks.start_soon(does, task)


if __name__ == "__main__":
    store, loop, seed = sys.argv[1:]
    anyio.run(partial(main, store, seed), backend=loop)
