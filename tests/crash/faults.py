"""A store whose commits can be made to fail, as a disk's would, or to take their time."""

import threading
from collections.abc import Callable

import anyio
import pytest

from looms.snapshots.batch import Batch
from looms.snapshots.errors import StoreFull
from looms.snapshots.store import Store

Refusal = Callable[[int, Batch], Exception | None]


def full() -> Exception:
    """What a full disk says."""
    return StoreFull("the disk is full, says a test")


class Faults:
    """What the stores of a test do with their commits. They are counted from 1, also those that fail.

    Attributes:
        commits: how many there were.
        refused: how many of them failed.
    """

    def __init__(self) -> None:
        self.commits = 0
        self.refused = 0
        self.waiting = False
        self._refuse: Refusal = lambda n, batch: None
        self._open = threading.Event()
        self._open.set()

    def refuse(self, *commits: int, error: Callable[[], Exception] = full) -> None:
        """Have these fail, counted from now on: ``refuse(1)`` is the next one."""
        at = {self.commits + n for n in commits}
        self._refuse = lambda n, batch: error() if n in at else None

    def refuse_all(self, error: Callable[[], Exception] = full) -> None:
        """Have all fail, until told otherwise."""
        self._refuse = lambda n, batch: error()

    def refuse_those(self, which: Callable[[Batch], bool], error: Callable[[], Exception] = full) -> None:
        """Have all fail that hold something of a kind."""
        self._refuse = lambda n, batch: error() if which(batch) else None

    def refuse_none(self) -> None:
        """Have no more fail."""
        self._refuse = lambda n, batch: None

    def hold(self) -> None:
        """Have commits wait until they are released."""
        self.waiting = False
        self._open.clear()

    def release(self) -> None:
        """Let commits go on."""
        self._open.set()

    def release_in(self, seconds: float) -> None:
        """Let commits go on after a while, whatever the test does meanwhile."""
        threading.Timer(seconds, self.release).start()

    async def under_way(self) -> None:
        """Return when a commit waits to be released."""
        while not self.waiting:  # noqa: ASYNC110 - the thread that commits tells nobody
            await anyio.sleep(0.001)

    def pass_through(self, batch: Batch) -> None:
        """Called for each commit, by the thread that makes it."""
        self.commits += 1
        number, self.waiting = self.commits, not self._open.is_set()
        assert self._open.wait(PATIENCE), "nobody lets this commit go on"
        error = self._refuse(number, batch)
        if error is not None:
            self.refused += 1
            raise error


PATIENCE = 30  # seconds


def install(monkeypatch: pytest.MonkeyPatch) -> Faults:
    """Have all runtimes of a test open stores with faults."""
    faults = Faults()

    class FaultyStore(Store):
        def commit(self, batch: Batch, *, urgent: bool = False) -> int | None:
            if not batch.empty:
                faults.pass_through(batch)
            return super().commit(batch, urgent=urgent)

    monkeypatch.setattr("looms.runtime.EnvironmentStore", FaultyStore)
    return faults
