"""`uv run python -m tests.soak --minutes 3`: an hour of mixed traffic, and what it leaves behind.

A runtime on a clock that runs faster serves customers, operators, followers and other processes. Memory, file handles,
threads, tasks, readers and the store's size are sampled; each is flat, or the exit code is 1.
"""

import argparse
import gc
import os
import shutil
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path

import anyio
import msgspec
from rich.console import Console

import looms
from looms import Retention, Runtime
from tests.soak.application import soaked
from tests.soak.clock import FastClock
from tests.soak.drawing import shown
from tests.soak.measures import MEASURES, Samples
from tests.soak.slopes import WARM_UP, Verdict, verdict
from tests.soak.traffic import Traffic

ARENAS = "MALLOC_ARENA_MAX"
HOURS = 1.0  # of traffic
SAMPLES = 240
STOPPED = 130  # the exit code, as of a program that a Ctrl-C ends
RETAINED = 300  # seconds of the clock that a run is kept which is over


class Soaked(msgspec.Struct, frozen=True):
    """What came of a soak.

    Attributes:
        seconds, hours: of the machine, and of traffic.
        done: how often each thing was done.
        verdicts: measure by measure.
        grown: where memory is held that was not after the warm-up: the places that hold most.
        flat: all of them are.
    """

    seconds: float
    hours: float
    done: dict[str, int]
    verdicts: tuple[Verdict, ...]
    grown: tuple[str, ...]
    samples: dict[str, list[float]]

    @property
    def flat(self) -> bool:
        return all(one.flat for one in self.verdicts)


async def soak(folder: Path, seconds: float, at: Callable[[float, Samples], None]) -> Soaked:
    """Let an hour of traffic go by.

    Args:
        folder: where the store is made.
        seconds: of the machine, that it takes.
        at: is told after each sample how far it is, from 0 to 1.
    """
    samples, began = Samples(), time.monotonic()
    clock = FastClock(HOURS * 3600 / seconds)
    warm: tracemalloc.Snapshot | None = None
    retention = Retention(finished=RETAINED, snapshots=60, keep_every=1_000)
    async with Runtime(
        folder / "soak.looms", modules=[soaked], clock=clock, snapshot_every=8, max_resident=40, retention=retention
    ) as runtime:
        traffic = Traffic(runtime, folder)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(traffic.run)
            while (passed := time.monotonic() - began) < seconds:
                await anyio.sleep(seconds / SAMPLES)
                gc.collect()  # what is left are no cycles that nobody has looked for yet
                samples.take(passed / seconds * HOURS, runtime)
                at(passed / seconds, samples)
                if warm is None and passed > seconds * WARM_UP:
                    warm = tracemalloc.take_snapshot()
            tasks.cancel_scope.cancel()
        last = tracemalloc.take_snapshot()
    checked = looms.check(folder / "soak.looms", modules=[soaked])
    if not checked.ok:
        raise looms.LoomsError(f"the store is not sound: {checked.findings[:3]}")
    verdicts = tuple(
        verdict(one.name, samples.hours, samples.values[one.name], one.percent, one.least) for one in MEASURES
    )
    grown = () if warm is None else tuple(str(one) for one in last.compare_to(warm, "lineno")[:10])
    return Soaked(time.monotonic() - began, HOURS, dict(traffic.done), verdicts, grown, samples.values)


def main(arguments: Sequence[str] | None = None) -> int:
    """Soak, and say what came of it; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=None, help="how long it takes (default: 3)")
    parser.add_argument("--seconds", type=float, default=None, help="the same in seconds")
    parser.add_argument("--json", action="store_true", help="print what came of it as JSON")
    parser.add_argument("--folder", type=Path, help="make the store there")
    asked = parser.parse_args(arguments)
    seconds = asked.seconds or (asked.minutes or 3) * 60
    console = Console(stderr=True)
    folder = Path(tempfile.mkdtemp(prefix="looms-soak-", dir=asked.folder))
    tracemalloc.start(1)
    began = time.monotonic()
    try:
        with console.status("soaking") as status:

            def at(done: float, samples: Samples) -> None:
                status.update(f"soaking: {done:.0%}, {samples.values['memory (anonymous)'][-1] / 2**20:.0f} MB")

            soaked_ = anyio.run(soak, folder, seconds, at)
    except KeyboardInterrupt:
        console.print(f"stopped after {time.monotonic() - began:.0f} of {seconds:.0f} s: nothing can be said yet")
        return STOPPED
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if asked.json:
        sys.stdout.buffer.write(msgspec.json.encode({**msgspec.to_builtins(soaked_), "flat": soaked_.flat}) + b"\n")
    else:
        Console().print(shown(soaked_.verdicts, soaked_.samples, soaked_.done, soaked_.seconds))
        if not soaked_.flat:
            Console().print("where memory is held that was not:", *soaked_.grown, sep="\n  ", highlight=False)
    return 0 if soaked_.flat else 1


if __name__ == "__main__":
    # With an arena for each thread that ever was, the system's allocator holds more and more of what was given back.
    if ARENAS not in os.environ:
        os.execve(sys.executable, sys.orig_argv, {**os.environ, ARENAS: "2"})
    sys.exit(main())
