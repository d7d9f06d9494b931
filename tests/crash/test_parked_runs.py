"""Runs that are parked on waits with deadlines cost nothing: whoever opens their store reads none of them."""

import shutil
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import anyio
import pytest

from looms import Module, Reduced, Started, State, TimedOut, complete, step, wait
from looms.reducers.registry import Registry
from looms.snapshots.store import Store
from looms.testing import TestClock, runtime
from tests.crash.audit import audit
from tests.crash.works import Word, works

FEW, MANY = 1_000, 10_000
LONG = 3_600  # seconds to the first deadline; the others follow a second apart

garage = Module("garage", requires=[works])


class Spot(State):
    n: int = 0


@garage.reducer("car", state=Spot)
def car(state: Spot, event: Started[int] | Word | TimedOut) -> Reduced[Spot]:
    match event:
        case Started(input=n):
            return step(Spot(n), wait(Word, match={"tag": f"car {n}"}, timeout=LONG + n))
        case Word():
            return step(state, complete("called"))
    return step(state, complete("out of time"))


modules = [works, garage]


async def park(store: Path, cars: int) -> None:
    async with runtime(modules, store, TestClock(), durability="relaxed") as rt:
        for first in range(0, cars, 500):
            async with anyio.create_task_group() as tasks:
                for n in range(first, first + 500):
                    tasks.start_soon(_start, rt, n)


async def _start(rt: Any, n: int) -> None:
    await rt.start(car, n, run_id=f"car {n}")


@pytest.fixture(scope="module")
def garages(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Stores with parked runs, by how many."""
    folder = tmp_path_factory.mktemp("garages")
    for cars in (FEW, MANY):
        anyio.run(park, folder / str(cars), cars)
    return {cars: folder / str(cars) for cars in (FEW, MANY)}


class Counted:
    """A view of a store that counts what is read through it."""

    rows = 0

    def __init__(self, view: Any) -> None:
        self._view = view

    def __getattr__(self, name: str) -> Any:
        return getattr(self._view, name)

    def __enter__(self) -> Self:
        self._view.__enter__()
        return self

    def __exit__(self, *error: object) -> Any:
        return self._view.__exit__(*error)

    def get(self, *args: Any) -> Any:
        Counted.rows += 1
        return self._view.get(*args)

    def get_many(self, table: Any, keys: Any) -> Any:
        Counted.rows += len(keys)
        return self._view.get_many(table, keys)

    def page(self, *args: Any) -> Any:
        found = self._view.page(*args)
        Counted.rows += len(found)
        return found

    def scan(self, *args: Any, **options: Any) -> Any:
        return self._counted(self._view.scan(*args, **options))

    def keys(self, *args: Any, **options: Any) -> Any:
        return self._counted(self._view.keys(*args, **options))

    def _counted(self, rows: Iterator[Any]) -> Iterator[Any]:
        for row in rows:
            Counted.rows += 1
            yield row


@pytest.fixture(autouse=True)
def counting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count what the stores of this test's runtimes read."""

    class CountedStore(Store):
        def view(self) -> Any:
            return Counted(super().view())

    monkeypatch.setattr("looms.runtime.EnvironmentStore", CountedStore)


@contextmanager
def reading() -> Iterator[list[int]]:
    """How many rows are read in the block; known at its end."""
    read: list[int] = []
    before = Counted.rows
    yield read
    read.append(Counted.rows - before)


async def test_opening_reads_none_of_them(garages: dict[int, Path]) -> None:
    read = {}
    for cars, store in garages.items():
        with reading() as rows:
            async with runtime(modules, store) as rt:
                await rt.clock.advance(1)
                assert len(rt.host.cells) == 0
        read[cars] = rows
    assert read[FEW] == read[MANY]
    assert read[MANY][0] < 50


async def test_they_take_no_memory(garages: dict[int, Path]) -> None:
    taken = {}
    for cars in (FEW, MANY, FEW, MANY):  # what is made once is made in the first two
        tracemalloc.start()
        async with runtime(modules, garages[cars]) as rt:
            await rt.clock.advance(1)
            taken[cars], _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert taken[MANY] < taken[FEW] + 100_000


async def test_opening_takes_no_longer(garages: dict[int, Path]) -> None:
    best = dict.fromkeys(garages, 60.0)
    for _ in range(7):
        for cars, store in garages.items():
            begun = time.perf_counter()
            async with runtime(modules, store):
                best[cars] = min(best[cars], time.perf_counter() - begun)
    # Ten times as many: what looked at each of them would take about ten times as long.
    assert best[MANY] < 2 * best[FEW] + 0.01, best


async def test_a_publication_finds_the_one_that_waits_for_it(garages: dict[int, Path], tmp_path: Path) -> None:
    read = {}
    for cars, garage_ in garages.items():
        store = copy(garage_, tmp_path)
        async with runtime(modules, store) as rt:
            with reading() as rows:
                published = await rt.publish(Word(f"car {cars - 7}"))
            assert published.runs == [f"car {cars - 7}"]
            assert len(rt.host.cells) == 1
            assert await rt.run(f"car {cars - 7}").result() == "called"
            assert len([one async for one in rt.runs(status="waiting")]) == cars - 1
            assert (await rt.publish(Word(f"car {cars - 7}"))).runs == []
            assert (await rt.publish(Word("car"))).runs == []
        read[cars] = rows
    assert read[FEW] == read[MANY]


async def test_a_deadline_fires_for_its_run_alone(garages: dict[int, Path], tmp_path: Path) -> None:
    store = copy(garages[MANY], tmp_path)
    async with runtime(modules, store) as rt:
        await rt.clock.advance(LONG - 0.001)
        assert len(rt.host.cells) == 0
        await rt.clock.advance(0.001)
        assert len(rt.host.cells) == 1
        assert await rt.run("car 0").result() == "out of time"
        await rt.clock.advance(3)
        assert [one.run_id async for one in rt.runs(status="completed")] == [f"car {n}" for n in range(4)]


def test_all_of_them_are_there(garages: dict[int, Path]) -> None:
    assert len(audit(garages[FEW], Registry(modules))) == FEW


def copy(store: Path, folder: Path) -> Path:
    """A store of one's own."""
    copied = folder / store.name
    shutil.copytree(store, copied, ignore=shutil.ignore_patterns("doorbell"))
    return copied
