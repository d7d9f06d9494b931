"""A store with its host, to be given what is wrong: what it holds is compared before and after."""

import hashlib
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import anyio

from looms import Runtime
from looms.snapshots.environment import Environment
from looms.snapshots.tables import ALL
from looms.snapshots.view import View
from looms.sync.loop import Loop
from looms.testing import TestClock
from tests.fuzz.desk import Told, Typed, at_desk, modules, parked

T = TypeVar("T")

PATIENCE = 60  # seconds, after which a call hangs
OPTIONS: dict[str, Any] = {"snapshot_every": 6, "durability": "relaxed"}
_bench: "Bench | None" = None


class Bench:
    """A store that is served on a loop of its own, until it is closed.

    Args:
        folder: where its store is put.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / "store.looms"
        self._kept = folder / "kept.looms"
        self._open()
        self.call(self._fill)
        self.close()
        shutil.copytree(self.path, self._kept, ignore=shutil.ignore_patterns("doorbell"))
        self._open()

    def _open(self) -> None:
        # A clock that nobody moves: nothing happens here that nobody asked for.
        self.runtime = Runtime(self.path, modules=modules, clock=TestClock(), **OPTIONS)
        self._loop = Loop(self.runtime, "the bench")

    def close(self) -> None:
        """Close the store."""
        self._loop.close()

    def reset(self) -> None:
        """Put the store back to what it was in the beginning."""
        self.close()
        shutil.rmtree(self.path)
        shutil.copytree(self._kept, self.path)
        self._open()

    def call(self, function: Callable[..., Awaitable[T]], *args: Any, **kwargs: Any) -> T:
        """What a call of the runtime answers; `TimeoutError` where it hangs."""

        async def called() -> T:
            with anyio.fail_after(PATIENCE):
                return await function(*args, **kwargs)

        return self._loop.call(called)

    @contextmanager
    def view(self) -> Iterator[View]:
        """A look at its store."""
        environment = Environment(self.path)
        try:
            with environment.view() as view:
                yield view
        finally:
            environment.close()

    def digest(self) -> str:
        """What stands for all that is in the store."""
        return digest(self.path)

    async def _fill(self) -> None:
        one = await self.runtime.start(at_desk, {"a": 1}, run_id="one")
        for n in range(8):
            await one.signal(Told({"n": n, "list": [1, 2, {"deep": "x"}]}), Typed(number=n), key=f"k{n}")
        await one.signal(Told({"wait": {"text": "b", "items": [1, 2]}}))
        await self.runtime.start(parked, {"text": "x", "node": {"name": "n"}}, run_id="parked")
        over = await self.runtime.start(at_desk, run_id="over")
        await over.cancel("enough", grace=0)
        await self.runtime.publish(Told("later"), retain=3_600, key="p1")
        await self.runtime.run("nobody").signal(Told("early"), retain=3_600)


def digest(path: Path) -> str:
    """What stands for all rows of a store: keys and values of each table."""
    found = hashlib.blake2b(digest_size=16)
    environment = Environment(path)
    try:
        with environment.view() as view:
            for table in ALL:
                found.update(table.name.encode())
                for key, value in view.rows(table, limit=1_000_000):
                    found.update(b"\0%d:%s" % (len(key), key))
                    found.update(value if isinstance(value, bytes) else str(value).encode())
    finally:
        environment.close()
    return found.hexdigest()


@contextmanager
def opened() -> Iterator[None]:
    """A bench for this process, while this lasts."""
    global _bench
    with tempfile.TemporaryDirectory(prefix="looms-fuzz-") as folder:
        _bench = Bench(Path(folder))
        try:
            yield
        finally:
            _bench.close()
            _bench = None


def bench() -> Bench:
    """The bench of this process."""
    assert _bench is not None, "with opened(): ..."
    return _bench
