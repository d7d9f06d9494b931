"""A damaged row is its run's misfortune alone: that run says so, the host opens and stays, and all others go on."""

import shutil
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import lmdb
import pytest

from looms import RunFinished, RunSuspended, StoreFormatError
from looms.reducers.entries import unpack_entry
from looms.snapshots import heads
from looms.snapshots.packing import read_u64
from looms.snapshots.store import Store
from looms.snapshots.tables import BODIES, EFFECTS, EXTENTS, IDS, INBOX, KEYS, LOG, RUNS, SNAPSHOTS, Table
from looms.testing import TestClock, runtime
from tests.crash.faults import PATIENCE
from tests.crash.works import Asked, Mood, Told, Word, clerk, desk, modules

OF_RUNS = (RUNS, EXTENTS, SNAPSHOTS, BODIES, INBOX, EFFECTS, KEYS)  # their keys begin with the run's number

DAMAGED = ("sick", "away")


async def fill(store: Path) -> None:
    """Make a store in which two pairs of runs are in the midst of everything."""
    Mood.bad = False
    async with runtime(modules, store, TestClock(), snapshot_every=6) as rt:
        for name in ("sick", "well"):
            run = await rt.start(desk, 0, run_id=name)
            await rt.start(desk, 0, run_id=f"{name}'s friend")
            for n in range(20):  # in turn, so that their records lie apart
                await run.signal(Asked(n, "fold"), key=f"k{n}")
                await rt.run(f"{name}'s friend").signal(Asked(n, "fold"))
            await run.signal(Asked(0, "wait", "x"), Asked(1, "stamp"), Asked(2, "sleep"))
            await run.signal(Asked(3, "fold"))  # behind the last snapshot
        for name in ("away", "present"):
            await rt.start(clerk, 0, run_id=name)
        Mood.bad = True
        for name in ("away", "present"):
            await rt.run("sick's friend").signal(Asked(17, "tell", name))
        await rt.clock.advance(0)
        Mood.bad = False


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The path of such a store, closed."""
    folder = tmp_path_factory.mktemp("damage")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKS_LEDGER", str(folder / "ledger"))
        anyio.run(fill, folder / "store.looms")
    return folder / "store.looms"


def rows(store: Path) -> Iterator[tuple[str, Table, bytes]]:
    """The rows of the runs that are to be damaged."""
    with Store(store) as opened, opened.view() as view:
        for run_id in DAMAGED:
            head = heads.find(view, run_id)
            assert head is not None
            yield run_id, IDS, run_id.encode()
            for table in OF_RUNS:
                for key in view.keys(table):
                    if read_u64(key) == head.number:
                        yield run_id, table, key
            for key, _ in view.scan(LOG):
                if belongs(view.get(LOG, key), head.number):
                    yield run_id, LOG, key


def belongs(record: bytes | None, number: int) -> bool:
    """Whether a record is of a run."""
    assert record is not None
    return unpack_entry(record, None).row.run == number


def flip(store: Path, table: Table, key: bytes) -> None:
    """Flip a bit in the middle of a row's value."""
    with lmdb.open(str(store), max_dbs=64) as raw, raw.begin(write=True) as txn:
        handle = raw.open_db(table.name.encode(), txn)
        value = bytearray(txn.get(key, db=handle) or b"")
        value[len(value) // 2] ^= 0x10
        txn.put(key, bytes(value), db=handle)


@pytest.mark.parametrize("anyio_backend", ["asyncio", pytest.param("trio", marks=pytest.mark.long)])
async def test_each_row_of_a_run_harms_that_run_alone(filled: Path, tmp_path: Path, ledger: Path) -> None:
    found = list(rows(filled))
    assert {table for _, table, _ in found} == {IDS, RUNS, LOG, EXTENTS, SNAPSHOTS, BODIES, KEYS, EFFECTS, INBOX}
    for n, (run_id, table, key) in enumerate(found):
        store = tmp_path / f"{n}.looms"
        shutil.copytree(filled, store, ignore=shutil.ignore_patterns("doorbell"))
        flip(store, table, key)
        try:
            with anyio.fail_after(PATIENCE):
                await others_go_on(store, run_id)
        except BaseException as error:
            error.add_note(f"with a damaged row in {table.name} at {key.hex()}")
            raise
        shutil.rmtree(store)


async def test_a_run_with_a_damaged_record_says_so_at_every_call(filled: Path, tmp_path: Path) -> None:
    run_id, table, key = next(row for row in reversed(list(rows(filled))) if row[:2] == ("sick", LOG))
    store = tmp_path / "store.looms"
    shutil.copytree(filled, store, ignore=shutil.ignore_patterns("doorbell"))
    flip(store, table, key)
    async with runtime(modules, store) as rt:
        run = rt.run(run_id)
        for call in (lambda: run.signal(Told(9, "me")), run.inspect, run.state, run.cancel, run.resume):
            for _ in range(2):
                with pytest.raises(StoreFormatError, match=r"record \d+ of run 'sick'") as caught:
                    await call()
                assert (caught.value.table, caught.value.run) == ("log", 1)
        assert [one.status async for one in rt.runs() if one.run_id == run_id] == ["running"]
        assert [record.seq async for record in run.events(to=3)] == [1, 2, 3]


async def others_go_on(store: Path, damaged: str) -> None:
    clock = TestClock()
    async with runtime(modules, store, clock, snapshot_every=6) as rt:
        run, well = rt.run(damaged), rt.run("well")
        calls: list[Callable[[], Awaitable[Any]]] = [
            lambda: run.signal(Told(9, "me"), key="new"),
            lambda: run.signal(Told(1, "me"), key="k1"),
            run.inspect,
            lambda: run.replay_to(1),
            run.resume,
        ]
        for call in calls:
            with suppress(StoreFormatError, RunSuspended):
                await call()
        await rt.run("well's friend").signal(Asked(50, "tell", "sick"), Asked(51, "tell", "well"))
        assert "well" in (await rt.publish(Word("x", 3))).runs
        await clock.advance(60)
        state = await well.inspect()
        assert state.waits == ()
        assert state.effects == ()
        assert state.state.counts == {"Asked": 24, "Word": 1, "TimedOut": 1, "EffectFailed": 1, "Told": 2}
        await rt.run("present").resume()
        assert (await rt.run("present").state()).counts == {"Told": 2}
        assert (await (await rt.start(desk, 0, run_id="new")).inspect()).seq == 1
        with suppress(StoreFormatError, RunFinished):
            await run.cancel()
        assert rt.host.open
