"""What is measured of a soak, sample by sample."""

import asyncio
import os
import threading
import tracemalloc
from collections.abc import Callable

import msgspec

from looms import Runtime

FOR_GOOD = ("commits", "former", "keys")
"""Tables that grow by design: commits are followed, and ids of deleted runs and publications' keys are remembered."""


class Measure(msgspec.Struct, frozen=True):
    """Something that should not grow.

    Attributes:
        name, unit: as they are shown; a value is divided by `per` for that.
        percent: what it may grow in an hour of traffic, of its median.
        least: growth in an hour that is none.
        of: gives the value.
    """

    name: str
    unit: str
    per: float
    percent: float
    least: float
    of: Callable[[Runtime], float]


def _status(field: str) -> float:
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024.0
    raise LookupError(field)


def _used(runtime: Runtime) -> float:
    """Bytes on pages that hold something, but for the tables that grow by design."""
    with runtime.view():
        found = runtime.host.store.environment.sizes()
    return float(sum(table.bytes for table in found.tables if table.table not in FOR_GOOD))


def _free(runtime: Runtime) -> float:
    found = runtime.host.store.environment.sizes()
    return float(found.free * found.page)


def _file(runtime: Runtime) -> float:
    """Bytes of the file, but for what grows by design."""
    found = runtime.host.store.environment.sizes()
    return found.file - float(sum(table.bytes for table in found.tables if table.table in FOR_GOOD))


MB = float(1 << 20)
MEASURES = (
    Measure("memory (anonymous)", "MB", MB, 10, 16 * MB, lambda _: _status("RssAnon")),
    Measure("memory (traced)", "MB", MB, 10, 2 * MB, lambda _: float(tracemalloc.get_traced_memory()[0])),
    Measure("file handles", "", 1, 10, 5, lambda _: float(len(os.listdir("/proc/self/fd")))),
    Measure("threads", "", 1, 10, 3, lambda _: float(threading.active_count())),
    Measure("tasks", "", 1, 10, 15, lambda _: float(len(asyncio.all_tasks()))),
    Measure("readers of the store", "", 1, 10, 3, lambda runtime: float(len(runtime.host.store.environment.readers()))),
    Measure("runs in memory", "", 1, 10, 50, lambda runtime: float(len(runtime.host.cells))),
    Measure("store in use", "MB", MB, 15, 1 * MB, _used),
    Measure("store's free pages", "MB", MB, 25, 4 * MB, _free),
    Measure("store's file", "MB", MB, 15, 4 * MB, _file),
)


class Samples:
    """The samples of a soak."""

    def __init__(self) -> None:
        self.hours: list[float] = []
        self.values: dict[str, list[float]] = {measure.name: [] for measure in MEASURES}

    def take(self, hours: float, runtime: Runtime) -> None:
        """Take one, so many hours of traffic after the beginning."""
        self.hours.append(hours)
        for measure in MEASURES:
            self.values[measure.name].append(measure.of(runtime))
