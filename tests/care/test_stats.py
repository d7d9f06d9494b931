"""The statistics of a store add up to what is in it."""

from pathlib import Path

import looms
from looms import Runtime
from looms.snapshots.tables import LOG, SNAPSHOTS
from tests.care.stores import contents, flipped, modules, put, rows_of
from tests.crash.works import Asked, desk


def test_they_count_what_there_is(filled: Path) -> None:
    found = looms.stats(filled)
    assert (sum(found.runs.values()), found.runs["suspended"], found.runs["cancelled"]) == (12, 2, 1)
    assert sum(sum(counts.values()) for counts in found.definitions.values()) == sum(found.runs.values())
    assert found.records == sum(1 for _ in rows_of(filled, LOG))
    assert sum(kind.count for kind in found.snapshots) == sum(1 for _ in rows_of(filled, SNAPSHOTS))
    assert {table.table: table.entries for table in found.sizes.tables} == {
        table.table: sum(1 for of, _ in contents(filled) if of.name == table.table) for table in found.sizes.tables
    }
    assert found.sizes.file == (filled / "data.mdb").stat().st_size
    assert found.sizes.free < found.sizes.pages


def test_the_largest_runs_come_first(filled: Path) -> None:
    found = looms.stats(filled, top=3).largest
    assert [run.bytes for run in found] == sorted((run.bytes for run in found), reverse=True)
    assert found[0].run_id in ("one", "other", "fork")
    everything = looms.stats(filled, top=1_000).largest
    assert len(everything) == 12
    assert found == everything[:3]
    bodies = sum(len(value) - 4 for key, value in rows_of(filled, LOG))
    assert bodies * 0.9 < sum(run.log_bytes for run in everything) < bodies  # one run is being removed
    assert looms.stats(filled, top=0).largest == ()


def test_a_damaged_row_is_left_out(store: Path) -> None:
    for table in (LOG, SNAPSHOTS):
        key, value = next(iter(rows_of(store, table)))
        put(store, table, key, flipped(value, 7))
    before = looms.stats(store)
    assert before.records == sum(1 for _ in rows_of(store, LOG))


async def test_a_host_and_a_reader_tell_the_same(tmp_path: Path, ledger: None) -> None:
    async with Runtime(tmp_path / "store.looms", modules=modules, snapshot_every=4) as runtime:
        run = await runtime.start(desk, 0, run_id="one")
        for n in range(9):
            await run.signal(Asked(n, "fold"), key=f"k{n}")
        mine = await runtime.stats()
        async with looms.Reader(tmp_path / "store.looms") as reader:
            assert await reader.stats() == mine
    assert (mine.records, mine.commits, mine.keys) == (10, 10, 9)
