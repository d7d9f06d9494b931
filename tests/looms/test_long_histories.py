"""Whatever walks a log reads it page by page: how long it is shows in the time it takes, never in memory."""

import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from looms import Module, Reader, Runtime, State
from tests.looms.shop import MODULES, OPEN, Paid, Takings, calls, ledger, shop, till
from tests.looms.test_following import CountingRuntime

RECORDS = 100_000
MEGABYTE = 1_000_000
SNAPSHOT_EVERY = 10_000


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a run of a hundred thousand records."""
    path = tmp_path_factory.mktemp("long") / "long.looms"

    async def fill() -> None:
        async with Runtime(path, modules=MODULES, durability="relaxed", snapshot_every=SNAPSHOT_EVERY) as rt:
            run = await rt.start(till, OPEN, run_id="t1")
            await run.signal(*(Paid() for _ in range(RECORDS % 1_000 or 999)))
            for _ in range(RECORDS // 1_000 - 1):
                await run.signal(*(Paid() for _ in range(1_000)))

    anyio.run(fill)
    return path


@pytest.fixture
def traced() -> Iterator[Callable[[], float]]:
    """How many megabytes more there were at the most, since the test began."""
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    try:
        yield lambda: (tracemalloc.get_traced_memory()[1] - before) / MEGABYTE
    finally:
        tracemalloc.stop()


async def count_events(reader: Reader) -> int:
    count = 0
    async for _ in reader.run("t1").events():
        count += 1
    return count


async def project(reader: Reader) -> int:
    return (await reader.run("t1").project(ledger)).total + 1


@pytest.mark.long
@pytest.mark.parametrize("anyio_backend", ["trio"])
async def test_a_hundred_thousand_records_are_walked_in_little_memory(store: Path, traced: Callable[[], float]) -> None:
    async with Reader(store, modules=MODULES) as reader:
        assert await count_events(reader) == RECORDS
        assert traced() < 4


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_hundred_thousand_records_are_folded_anew_in_little_memory(
    store: Path, traced: Callable[[], float]
) -> None:
    """No snapshot fits code of another version."""
    module = Module("shop", requires=[])
    module.events |= shop.events
    module.reducer("till", state=Takings, output=int, version=2)(till.function)
    async with Reader(store, modules=[module]) as reader:
        before = len(calls)
        assert (await reader.run("t1").state()).payments == RECORDS - 1
        assert len(calls) - before == RECORDS
        calls.clear()
        assert traced() < 16


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_log_is_verified_in_little_memory(path: Path, traced: Callable[[], float]) -> None:
    records = RECORDS // 10
    async with Runtime(path, modules=MODULES, durability="relaxed", snapshot_every=1_000) as rt:
        run = await rt.start(till, OPEN, run_id="t1")
        for _ in range(records // 1_000):
            await run.signal(*(Paid() for _ in range(1_000)))
    calls.clear()
    tracemalloc.reset_peak()
    before = traced()
    async with Reader(path, modules=MODULES) as reader:
        found = await reader.verify("t1")
        assert (found.ok, found.records, found.snapshots) == (True, records + 1, records // 1_000)
    calls.clear()
    assert traced() - before < 4


async def test_a_projection_over_a_long_log_is_right(store: Path) -> None:
    async with Reader(store, modules=MODULES) as reader:
        assert await project(reader) == RECORDS


async def test_a_walk_heeds_a_stop(store: Path) -> None:
    async with Reader(store, modules=MODULES) as reader:
        for walk in (count_events, project):
            with anyio.CancelScope() as scope:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(walk, reader)
                    for _ in range(5):
                        await anyio.lowlevel.checkpoint()
                    scope.cancel()
            assert scope.cancelled_caught


async def test_others_have_their_turn_while_a_log_is_walked(store: Path) -> None:
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            await anyio.lowlevel.checkpoint()
            turns += 1

    async with Reader(store, modules=MODULES) as reader, anyio.create_task_group() as tasks:
        tasks.start_soon(others)
        async for _ in reader.run("t1").events(to=20_000):
            pass
        tasks.cancel_scope.cancel()
    assert turns > 20_000 / 300


async def test_a_state_in_the_middle_is_folded_from_the_snapshot_before_it(store: Path) -> None:
    async with Reader(store, modules=MODULES) as reader:
        for seq in (RECORDS // 2, RECORDS, 15_001):
            before = len(calls)
            assert (await reader.run("t1").replay_to(seq)).after.state.payments == seq - 1
            assert len(calls) - before <= SNAPSHOT_EVERY + 1_000
        snapshots = [snapshot.seq async for snapshot in reader.run("t1").snapshots()]
        assert len(snapshots) == RECORDS // SNAPSHOT_EVERY


async def test_lists_are_read_a_page_at_a_time(path: Path) -> None:
    async with CountingRuntime(path, modules=MODULES, durability="relaxed", snapshot_every=1) as rt:
        run = await rt.start(till, OPEN, run_id="t1")
        for _ in range(599):
            await run.signal(Paid())
        walks: dict[str, Any] = {"events": run.events, "snapshots": run.snapshots, "commits": rt.commits}
        for name, walk in walks.items():
            rt.looks = 0
            assert len([item async for item in walk()]) == 600, name
            assert rt.looks == 4, name


async def test_a_projection_that_raises_says_where(store: Path) -> None:
    class Sum(State):
        total: int = 0

    @shop.projection("raising", state=Sum)
    def raising(state: Sum, event: Paid) -> Sum:
        if state.total == 1_000:
            raise LookupError("enough")
        return Sum(state.total + 1)

    del shop.projections["shop.raising"]
    async with Reader(store, modules=MODULES) as reader:
        with pytest.raises(Exception, match=r"seq 1002: LookupError: enough") as refused:
            await reader.run("t1").project(raising)
        assert (type(refused.value).__name__, refused.value.seq) == ("ReducerError", 1_002)  # type: ignore[attr-defined]
