"""A run that is not over, or is damaged in any way, can be removed for good, and nothing of it is left."""

from pathlib import Path

import pytest

import looms
from looms import RunActive, Runtime, StoreFormatError, UnknownRun
from looms.actors.service import Service
from looms.snapshots import heads, removal
from looms.snapshots.packing import read_u64, u64
from looms.snapshots.store import Store
from looms.snapshots.tables import (
    BODIES,
    EFFECTS,
    ENDED,
    EXTENTS,
    IDS,
    INBOX,
    KEYS,
    LISTING,
    LOG,
    REMOVALS,
    RUNS,
    SNAPSHOTS,
    TIMERS,
    WAITS,
    Table,
)
from looms.snapshots.walks import whose
from looms.testing import TestClock, runtime
from tests.care.stores import contents, flipped, modules, put, rows_of

RUNS_OF_ALL_KINDS = ("one", "other", "one's friend", "away", "guest", "trip 4", "trip 5", "fork")


def number_of(store: Path, run_id: str) -> int:
    return read_u64(dict(rows_of(store, IDS))[run_id.encode()])


def rows_that_name(store: Path, number: int) -> list[tuple[Table, bytes]]:
    """The rows of a run, in whatever table they are."""
    found = []
    for table, key in contents(store):
        at = {WAITS: 16, TIMERS: 8, ENDED: 9}.get(table)
        if at is not None:
            mine = key[at : at + 8] == u64(number)
        elif table is LISTING:
            mine = key.endswith(u64(number))
        else:
            mine = table in (RUNS, EXTENTS, SNAPSHOTS, BODIES, INBOX, KEYS, EFFECTS, REMOVALS) and key[:8] == u64(
                number
            )
        if mine:
            found.append((table, key))
    with Store(store) as opened, opened.view() as view:
        found += [
            (LOG, key) for key, body in view.rows(LOG, limit=10_000) if (one := whose(body)) and one.run == number
        ]
    return found


async def deleted(store: Path, run_id: str, *, force: bool = True) -> None:
    """Delete a run, and wait until its rows are gone."""
    async with runtime(modules, store, TestClock()) as rt:
        await rt.run(run_id).delete(force=force)
        with pytest.raises(UnknownRun):
            await rt.run(run_id).inspect()
        await until_gone(rt)


async def until_gone(rt: Runtime) -> None:
    """Wait until nothing is left of what was deleted."""
    await Service(rt.host).until_removed().result()


@pytest.mark.parametrize("run_id", RUNS_OF_ALL_KINDS)
async def test_nothing_is_left_of_a_run_that_is_deleted_by_force(store: Path, ledger: None, run_id: str) -> None:
    number = number_of(store, run_id)
    await deleted(store, run_id)
    assert rows_that_name(store, number) == []
    assert looms.check(store, modules=modules).findings == ()


async def test_a_run_that_is_not_over_is_deleted_by_force_alone(store: Path, ledger: None) -> None:
    async with runtime(modules, store, TestClock()) as rt:
        with pytest.raises(RunActive, match="run guest is waiting"):
            await rt.run("guest").delete()
        with pytest.raises(UnknownRun):
            await rt.run("nobody").delete(force=True)
        await rt.run("guest").inspect()


async def test_a_damaged_run_is_deleted_by_force_and_its_export_brings_it_back(
    store: Path, ledger: None, tmp_path: Path
) -> None:
    number, file = number_of(store, "guest"), tmp_path / "guest.jsonl"
    async with looms.Reader(store, modules=modules) as reader:
        await reader.export_runs(file, run_ids=["guest"])
        before = await reader.run("guest").inspect()
    key, value = next((key, value) for key, value in rows_of(store, LOG) if b"Ada" in value)
    put(store, LOG, key, flipped(value, 5))
    async with runtime(modules, store, TestClock()) as rt:
        guest = rt.run("guest")
        for refused in (guest.cancel(), guest.resume(), guest.fork(at=1), rt.import_runs(file)):
            with pytest.raises((StoreFormatError, looms.RunExists)):
                await refused
        await guest.delete(force=True)
        await rt.import_runs(file)
        await until_gone(rt)
        assert await guest.inspect() == before
    assert rows_that_name(store, number) == []
    # What its lost record waited for is counted still, until a repair counts again.
    assert {finding.table for finding in looms.check(store).findings} == {"shapes"}
    assert looms.repair(store).ok


@pytest.mark.parametrize("table", [RUNS, EXTENTS, INBOX, SNAPSHOTS, BODIES, EFFECTS, KEYS, LOG], ids=lambda t: t.name)
@pytest.mark.parametrize("how", ["flipped", "gone"])
async def test_whatever_of_a_run_is_damaged_it_can_be_deleted(
    store: Path, ledger: None, table: Table, how: str
) -> None:
    for run_id in ("one", "other", "away", "guest"):
        number = number_of(store, run_id)
        for at, key in [row for row in rows_that_name(store, number) if row[0] is table]:
            put(store, at, key, flipped(contents(store)[at, key], 11) if how == "flipped" else None)
        await deleted(store, run_id)
        left = {at for at, _ in rows_that_name(store, number)}
        assert left == set()
    assert looms.repair(store).left == () or table in (LOG, EXTENTS, RUNS)


async def test_a_damaged_run_that_is_over_needs_no_force(store: Path, ledger: None) -> None:
    async with runtime(modules, store, TestClock()) as rt:
        await rt.run("one's friend").cancel("enough")
    number = number_of(store, "one's friend")
    for table, key in rows_that_name(store, number):
        if table in (LOG, EXTENTS):
            put(store, table, key, flipped(contents(store)[table, key], 11))
    await deleted(store, "one's friend", force=False)
    assert rows_that_name(store, number) == []


async def test_what_other_runs_had_sent_to_it_comes_back_to_them(store: Path, ledger: None) -> None:
    async with runtime(modules, store, TestClock()) as rt:
        friend = rt.run("one's friend")
        sent = [record async for record in friend.events()][-1].seq
        await rt.run("away").delete(force=True)
        await until_gone(rt)
        await rt.clock.advance(0)
        back = [record async for record in friend.events(after=sent)]
        assert [record.type for record in back] == ["looms.signal_failed"] * 2  # it had told it twice
        assert "away was deleted" in str(back[0].event)


async def test_a_deletion_that_is_cut_off_goes_on_at_the_next_start(store: Path, ledger: None) -> None:
    number = number_of(store, "guest")
    with Store(store) as opened:
        batch = opened.new_batch()
        with opened.view() as view:
            head = heads.find(view, "guest")
            assert head is not None
            removal.discard(batch, head)
        opened.commit(batch)
    assert looms.check(store).findings == ()
    assert rows_that_name(store, number) != []
    async with runtime(modules, store, TestClock()) as rt:
        await until_gone(rt)
        assert (await rt.check()).ok
    assert rows_that_name(store, number) == []
