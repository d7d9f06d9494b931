"""Tells a scenario, and dies at a commit; run as `python -m tests.crash.dying LOOP SCENARIO`, which is a module.

Reads lines of JSON: the store, the ledger, which commit of this process it is, and whether it dies just before it is
made or just after. For each, prints a line when it is over: the exit code, and how many commits there were. The
imports are done once: each story is told by a child that is forked before any event loop and any store.
"""

import importlib
import os
import random
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Literal

import anyio
import msgspec

import looms.runtime
from looms.actors import committer
from looms.snapshots.batch import Batch
from looms.snapshots.store import Store
from tests.crash.works import LEDGER

DEATH = 9


class Order(msgspec.Struct, frozen=True):
    store: str
    ledger: str
    commit: int = 0  # from 1; 0 lets it live
    moment: Literal["before", "after"] = "before"


class Mortal(Store):
    """A store that takes its process with it at one of its commits: just before, or when it is on disk."""

    order: Order
    commits = 0

    def commit(self, batch: Batch, *, urgent: bool = False) -> int | None:
        Mortal.commits += 1
        last = Mortal.commits == self.order.commit
        if last and self.order.moment == "before":
            os._exit(DEATH)
        number = super().commit(batch, urgent=urgent)
        if last:
            os._exit(DEATH)
        return number


def live(order: Order, loop: str, tell: Callable[[Path], Awaitable[None]]) -> None:
    """Tell the story as far as one gets."""
    os.environ[LEDGER] = order.ledger
    Mortal.order = order
    looms.runtime.EnvironmentStore = Mortal  # type: ignore[attr-defined]
    random.seed(0)  # of which backoffs take their jitter
    committer.perf_counter = float  # type: ignore[attr-defined]  # no time passes: no turn is cut for what it took
    anyio.run(partial(tell, Path(order.store)), backend=loop)


def main(loop: str, scenario: str) -> None:
    tell = importlib.import_module(scenario).tell
    for line in sys.stdin.buffer:
        order = msgspec.json.decode(line, type=Order)
        reads, writes = os.pipe()
        child = os.fork()
        if child == 0:
            live(order, loop, tell)
            os.write(writes, str(Mortal.commits).encode())
            return
        os.close(writes)
        with os.fdopen(reads) as pipe:
            commits = int(pipe.read() or 0)
        _, status = os.waitpid(child, 0)
        print(msgspec.json.encode((os.waitstatus_to_exitcode(status), commits)).decode(), flush=True)  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
