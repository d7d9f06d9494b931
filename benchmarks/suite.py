"""All benchmarks, in the order of the budgets, and running them one after the other."""

import time
from collections.abc import Callable

import msgspec

from benchmarks.batch import batch
from benchmarks.cold import cold
from benchmarks.context import Context, Failed
from benchmarks.deltas import deltas
from benchmarks.fairness import fairness
from benchmarks.figures import Figure
from benchmarks.flows import flows
from benchmarks.fold import fold
from benchmarks.growth import Growth, by_records, by_runs, by_state, by_waits
from benchmarks.in_run_waits import in_run_waits
from benchmarks.parked import parked
from benchmarks.peers.durable_steps import durable_steps
from benchmarks.peers.saves import saves
from benchmarks.publishing import publishing
from benchmarks.replays import replays
from benchmarks.shared_state import shared_state
from benchmarks.signals import signals
from benchmarks.stall import stall
from benchmarks.timers import timers
from benchmarks.wake import wake


class Benchmark(msgspec.Struct, frozen=True):
    """A benchmark.

    Attributes:
        name: what `--only` takes.
        measure: gives its figures, or its table.
        seconds: what it takes in full, about, on an idle machine: for the time that is left.
    """

    name: str
    measure: Callable[[Context], list[Figure] | Growth]
    seconds: float


BENCHMARKS = (
    Benchmark("wake", wake, 70),
    Benchmark("signals", signals, 120),
    Benchmark("batch", batch, 60),
    Benchmark("fold", fold, 120),
    Benchmark("cold", cold, 20),
    Benchmark("replay", replays, 120),
    Benchmark("deltas", deltas, 60),
    Benchmark("parked", parked, 400),
    Benchmark("publish", publishing, 40),
    Benchmark("timers", timers, 120),
    Benchmark("in-run waits", in_run_waits, 30),
    Benchmark("flows", flows, 60),
    Benchmark("stores", shared_state, 90),
    Benchmark("stall", stall, 40),
    Benchmark("fairness", fairness, 200),
)
PEERS = (Benchmark("steps", durable_steps, 90), Benchmark("saves", saves, 90))
GROWING = (
    Benchmark("by runs", by_runs, 150),
    Benchmark("by records", by_records, 200),
    Benchmark("by waits", by_waits, 20),
    Benchmark("by state", by_state, 30),
)


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a benchmark: its figures or a table of growth, or the error that ended it."""

    name: str
    seconds: float
    figures: tuple[Figure, ...] = ()
    growth: Growth | None = None
    error: str | None = None

    @property
    def told(self) -> str:
        """The error in a line."""
        return (self.error or "").strip().rpartition("\n")[2]


def measured(context: Context, benchmark: Benchmark) -> Outcome:
    """Run one benchmark. An error of it ends it, and no other one."""
    begun = time.monotonic()
    try:
        found = benchmark.measure(context)
    except Failed as failed:
        return Outcome(name=benchmark.name, seconds=time.monotonic() - begun, error=str(failed))
    except Exception as error:  # noqa: BLE001 - whatever it is: what else was measured, and is yet to be, counts
        said = f"{type(error).__name__}: {error}"
        return Outcome(name=benchmark.name, seconds=time.monotonic() - begun, error=said)
    seconds = time.monotonic() - begun
    if isinstance(found, Growth):
        return Outcome(name=benchmark.name, seconds=seconds, growth=found)
    return Outcome(name=benchmark.name, seconds=seconds, figures=tuple(found))
