"""A repair puts right what the log or another table tells, says what it did, and leaves the rest as it is."""

from pathlib import Path

import pytest

import looms
from looms import Runtime, StoreFormatError, StoreInUse
from looms.reducers.views import RunState
from looms.snapshots.tables import (
    ALL,
    BODIES,
    COMMITS,
    EFFECTS,
    ENDED,
    EXTENTS,
    IDS,
    KEYS,
    LISTING,
    LOG,
    META,
    RETAINED_INDEX,
    RUNS,
    SHAPES,
    SNAPSHOTS,
    TIMERS,
    TYPES,
    WAITS,
    Table,
)
from tests.care.stores import contents, copied, flipped, modules, put, rows_of

# What follows from the log as it is; of the others some part is told nowhere else.
EXACTLY = (IDS, LISTING, ENDED, TYPES, WAITS, SHAPES, TIMERS, COMMITS, RETAINED_INDEX)


async def states(store: Path) -> dict[str, RunState]:
    """What every run shows."""
    async with looms.Reader(store, modules=modules) as reader:
        return {one.run_id: await reader.run(one.run_id).inspect() async for one in reader.runs()}


@pytest.mark.parametrize("table", EXACTLY, ids=lambda table: table.name)
def test_tables_that_follow_from_the_log_are_rebuilt_as_they_were(store: Path, table: Table) -> None:
    before = contents(store)
    for key, _ in list(rows_of(store, table))[:: 5 if table is COMMITS else 1]:
        put(store, table, key, None)
    repaired = looms.repair(store)
    assert repaired.ok
    assert table.name in {finding.table for finding in repaired.repaired}
    after = contents(store)
    lost = [row for row in before if before[row] != after.get(row)]
    assert all(row[0] in (COMMITS, TYPES) for row in lost)  # what was of runs that are gone, nobody knows
    assert len(lost) <= 5
    assert looms.check(store).ok
    assert looms.repair(store).repaired == ()


@pytest.mark.parametrize("table", [RUNS, EXTENTS, SNAPSHOTS, BODIES, EFFECTS, KEYS, META], ids=lambda table: table.name)
async def test_runs_are_as_they_were_when_what_leads_to_them_is_rebuilt(
    filled: Path, store: Path, table: Table
) -> None:
    fork = dict(rows_of(store, IDS))[b"fork"][:8]
    for key, value in rows_of(store, table):
        if key != b"format" and (table is not KEYS or key[:8] != bytes(8)) and (table is not RUNS or key != fork):
            put(store, table, key, flipped(value, 11))
    assert not looms.check(store).ok
    assert looms.repair(store).ok
    assert looms.check(store, modules=modules).ok
    now, before = await states(store), await states(filled)
    if table is RUNS:  # why a run is suspended is told by its head alone
        assert {one.error for one in now.values() if one.status == "suspended"} == {"what it said is lost"}
        now = {run_id: one for run_id, one in now.items() if one.status != "suspended"}
    assert now == {run_id: before[run_id] for run_id in now}


async def test_a_lost_record_stays_lost_and_the_other_runs_go_on(store: Path, ledger: None) -> None:
    key, value = next((key, value) for key, value in rows_of(store, LOG) if b"Ada" in value)  # the guest's first
    put(store, LOG, key, flipped(value, 5))
    repaired = looms.repair(store)
    assert not repaired.ok
    assert [(one.table, one.run_id, one.seq) for one in repaired.left] == [("log", "guest", 1)]
    async with Runtime(store, modules=modules) as runtime:
        with pytest.raises(StoreFormatError, match="record 1 of run 'guest'"):
            await runtime.run("guest").inspect()
        await runtime.run("other's friend").inspect()


def test_a_store_without_a_head_in_it_is_made_whole_from_its_log(store: Path) -> None:
    for table in (RUNS, EXTENTS, WAITS, TIMERS, SHAPES, EFFECTS, KEYS, SNAPSHOTS, BODIES, LISTING, COMMITS):
        for key, _ in rows_of(store, table):
            put(store, table, key, None)
    assert looms.repair(store).ok
    assert looms.check(store).runs == 12


async def test_a_fork_whose_head_is_lost_lets_no_effect_go_that_was_held(store: Path, ledger: None) -> None:
    held = [effect.id for effect in (await states(store))["fork"].effects if effect.held]
    assert held
    put(store, RUNS, dict(rows_of(store, IDS))[b"fork"][:8], None)
    left = looms.repair(store).left
    assert {(one.table, one.run_id) for one in left} == {("effects", "fork")}
    assert len(left) == len(held)


def test_a_host_keeps_repairs_out(store: Path) -> None:
    from looms.snapshots.store import Store

    with Store(store), pytest.raises(StoreInUse):
        looms.repair(store)


class PowerCut(Exception):
    """Raised where a process may die."""


def test_a_repair_that_is_cut_off_can_be_begun_again(filled: Path, tmp_path: Path) -> None:
    fork = dict(rows_of(filled, IDS))[b"fork"][:8]

    def damage(path: Path) -> Path:
        for table in (RUNS, EXTENTS, WAITS, COMMITS, SHAPES):
            for key, _ in list(rows_of(path, table))[::2]:
                if table is not RUNS or key != fork:
                    put(path, table, key, None)
        return path

    whole = damage(copied(filled, tmp_path / "whole.looms"))
    count = len(looms.repair(whole).repaired)
    for cut in range(1, count, 7):
        store = damage(copied(filled, tmp_path / f"{cut}.looms"))
        left = cut

        def repaired(_: looms.Finding) -> None:
            nonlocal left
            left -= 1
            if not left:
                raise PowerCut

        with pytest.raises(PowerCut):
            looms.repair(store, repaired=repaired)
        assert looms.repair(store).ok
        assert contents(store) == contents(whole)


def test_every_table_is_spoken_of(store: Path) -> None:
    for table in ALL:
        for key, value in rows_of(store, table):
            if value and key != b"format":
                put(store, table, key, flipped(value, 2))
    found = looms.repair(store)
    assert {one.table for one in found.left} == {"log", "keys"}
    assert {one.table for one in found.repaired} >= {"ids", "runs", "retained", "requests", "answers", "commits"}
