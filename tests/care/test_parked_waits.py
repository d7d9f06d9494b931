"""What a wait on a store has read follows from nothing: where its rows are lost or wrong, it is looked at once more."""

from pathlib import Path

import pytest

import looms
from looms.snapshots import read_rows
from looms.snapshots.packing import place, read_u64
from looms.snapshots.rows import ParkedRow, encode
from looms.snapshots.seals import seal
from looms.snapshots.tables import IDS, PARKED, READS, Table
from looms.testing import TestClock, runtime
from tests.care.stores import Register, modules, put, rows_of


async def somebody_comes(store: Path) -> str:
    """Write what the porter waits for; returns what he says then."""
    async with runtime(modules, store, TestClock()) as rt:
        await rt.clock.advance(0)
        await rt.store(Register, "front").update(names=("Ada",))
        await rt.clock.advance(0)
        answer: str = await rt.run("porter").result(timeout=5)
        return answer


@pytest.mark.parametrize("table", [READS, PARKED], ids=lambda table: table.name)
async def test_a_lost_row_is_found_and_after_a_repair_a_write_wakes_who_waits(store: Path, table: Table) -> None:
    for key, _ in list(rows_of(store, table)):
        put(store, table, key, None)
    found = looms.check(store)
    assert not found.ok
    assert all(finding.repairable for finding in found.findings)
    assert looms.repair(store).ok
    assert looms.check(store).ok
    assert await somebody_comes(store) == "Ada"


async def test_rows_of_nobody_are_let_go(store: Path) -> None:
    numbers = {run_id: read_u64(number) for run_id, number in rows_of(store, IDS)}
    front, porter = numbers[b"house.register/front"], numbers[b"porter"]
    put(store, READS, read_rows.key(front, b"something else", (porter, 7, 7)), b"")
    put(store, READS, b"short", b"")
    parked = place(porter, 7, 7)
    put(store, PARKED, parked, seal(PARKED, parked, encode(ParkedRow(front, (b"x",), 1))))
    found = looms.check(store)
    assert {finding.table for finding in found.findings} == {"reads", "parked"}
    assert looms.repair(store).ok
    assert looms.check(store).ok
    assert await somebody_comes(store) == "Ada"


async def test_a_wait_that_is_parked_on_a_run_that_there_is_not_looks_again(store: Path) -> None:
    [(key, _)] = rows_of(store, PARKED)
    put(store, PARKED, key, seal(PARKED, key, encode(ParkedRow(10**6, (b"x",), 1))))
    found = looms.check(store)
    assert {finding.table for finding in found.findings} == {"reads", "parked"}
    assert looms.repair(store).ok
    assert looms.check(store).ok
    assert await somebody_comes(store) == "Ada"
