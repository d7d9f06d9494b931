"""A long history is copied in parts, and a fork is there as a whole or not at all."""

from pathlib import Path
from typing import Any

import anyio
import lmdb
import pytest

import looms
from looms import (
    Run,
    RunExists,
    UnknownRun,
)
from looms.snapshots import copying, heads, removal
from looms.snapshots.packing import pair
from looms.testing import TestClock, runtime
from tests.crash.faults import install
from tests.looms.desk import MODULES, Asked, Mood, begin, store
from tests.looms.shop import log


@pytest.fixture(autouse=True)
def good_mood() -> None:
    Mood.bad, Mood.begun = False, []


@pytest.fixture
def in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have histories copied a few records at a time."""
    monkeypatch.setattr(copying, "RECORDS", 3)


def damage(path: Path, run: int, seq: int) -> None:
    """Flip a byte of a snapshot's body."""
    with lmdb.open(str(path), max_dbs=64) as environment, environment.begin(write=True) as txn:
        table = environment.open_db(b"bodies", txn)
        body = bytearray(txn.get(pair(run, seq), db=table) or b"")
        body[0] ^= 1
        txn.put(pair(run, seq), bytes(body), db=table)


@pytest.mark.usefixtures("in_parts")
async def test_a_long_history_is_copied_in_parts_and_shown_at_once(path: Path) -> None:
    async with store(path, snapshot_every=4) as rt:
        run = await begin(rt, Asked("make", -1), *(Asked("note", n) for n in range(17)))
        before = [commit.number async for commit in rt.commits()][-1]
        shown: list[tuple[list[str], int]] = []

        async def watch() -> None:
            while True:
                more = rt.next_commit()
                shown.append(([one.run_id async for one in rt.runs()], len([c async for c in rt.commits()])))
                await more.wait()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch)
            fork = await run.fork(19, "f")
            await run.signal(Asked("note"))
            tasks.cancel_scope.cancel()
        assert (await log(fork))[:19] == (await log(run))[:19]
        commits = [commit async for commit in rt.commits(after=before)]
        assert [(t.run_id, t.first, t.last) for t in commits[0].turns] == [("f", 1, 19)]
        assert {tuple(ids) for ids, _ in shown} <= {("d",), ("d", "f")}
        assert [one.seq async for one in fork.snapshots()] == [one.seq async for one in run.snapshots()][:4]
        with rt.view() as view:
            assert removal.pending(view) == []


@pytest.mark.usefixtures("in_parts")
async def test_the_run_goes_on_while_it_is_copied(path: Path) -> None:
    async with store(path) as rt:
        run = await begin(rt, *(Asked("note", n) for n in range(29)))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run.fork, 30, "f")
            tasks.start_soon(run.fork, 20, "g")
            for n in range(20):
                await run.signal(Asked("note", n))
        assert (await log(rt.run("f"))) == (await log(run))[:30]
        assert (await log(rt.run("g"))) == (await log(run))[:20]


@pytest.mark.usefixtures("in_parts")
async def test_a_run_that_is_deleted_meanwhile_is_not_forked_and_nothing_stays(path: Path) -> None:
    async with store(path) as rt:
        run = await begin(rt, *(Asked("note", n) for n in range(28)), Asked("complete"))
        errors: list[Exception] = []

        async def forking() -> None:
            with pytest.raises(UnknownRun, match="'d'") as refused:
                await run.fork(30, "f")
            errors.append(refused.value)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(forking)
            await rt.next_commit().wait()
            await run.delete()
        assert errors
        await rt.clock.advance(10)
        with rt.view() as view:
            assert removal.pending(view) == []
            assert heads.find(view, "f") is None


@pytest.mark.usefixtures("in_parts")
async def test_of_two_forks_under_one_id_one_is_made(path: Path) -> None:
    async with store(path) as rt:
        run = await begin(rt, *(Asked("note", n) for n in range(29)))
        told: list[str] = []

        async def forking() -> None:
            try:
                await run.fork(30, "f")
                told.append("made")
            except RunExists:
                told.append("exists")

        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(forking)
        assert sorted(told) == ["exists", "exists", "made"]
        await rt.clock.advance(10)
        with rt.view() as view:
            assert removal.pending(view) == []


@pytest.mark.usefixtures("in_parts")
async def test_a_runtime_that_is_closed_in_the_midst_of_it_says_so_and_leaves_nothing(path: Path) -> None:
    clock = TestClock()
    told: list[Exception] = []

    async def forking(run: Run[Any, Any]) -> None:
        try:
            await run.fork(60, "f")
        except looms.RuntimeClosed as error:
            told.append(error)

    async with anyio.create_task_group() as tasks, runtime(MODULES, path, clock) as rt:
        run = await begin(rt, *(Asked("note", n) for n in range(59)))
        tasks.start_soon(forking, run)
        await rt.next_commit().wait()
        await rt.next_commit().wait()
    assert told
    async with store(path, clock) as rt:
        await rt.clock.advance(10)
        with rt.view() as view:
            assert removal.pending(view) == []
        await rt.run("d").fork(60, "f")


@pytest.mark.usefixtures("in_parts")
async def test_a_snapshot_that_is_damaged_is_left_out(path: Path) -> None:
    async with store(path, snapshot_every=2) as rt:
        await begin(rt, *(Asked("note", n) for n in range(9)))
        with rt.view() as view:
            number = heads.number_of(view, "d")
        assert number is not None
    damage(path, number, 4)
    async with runtime(MODULES, path) as rt:
        fork = await rt.run("d").fork(10)
        assert [one.seq async for one in fork.snapshots()] == [2, 6, 8, 10]
        assert (await fork.state()) == await rt.run("d").state()


async def test_a_long_fork_is_as_quick_to_look_at_as_its_run(path: Path) -> None:
    """Snapshots come along: nowhere is more folded than between two of them."""
    async with store(path, snapshot_every=10) as rt:
        run = await begin(rt)
        await run.signal(*(Asked("note", n) for n in range(300)))
        for n in range(100):
            await run.signal(Asked("note", n))
        fork = await run.fork(401, "f")
        snapshots = [one.seq async for one in fork.snapshots()]
        assert snapshots == [one.seq async for one in run.snapshots()]


async def test_a_fork_that_a_full_disk_refuses_leaves_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "RECORDS", 3)
    faults = install(monkeypatch)
    async with store(path) as rt:
        run = await begin(rt, *(Asked("note", n) for n in range(29)))
        for refused in (1, 2, 4, 10, 11):
            faults.refuse(refused)
            with pytest.raises(looms.StoreFull):
                await run.fork(30, "f")
            faults.refuse_none()
            await rt.clock.advance(10)
            with rt.view() as view:
                assert removal.pending(view) == []
                assert heads.find(view, "f") is None
        await run.fork(30, "f")
