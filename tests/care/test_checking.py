"""A check finds all that is wrong with a store, and nothing else; beside a host too."""

from contextlib import suppress
from pathlib import Path

import anyio
import pytest

import looms
from looms import Finding, RunFinished, StoreFormatError, UnknownRun
from looms.snapshots.seals import seal
from looms.snapshots.tables import (
    ALL,
    BODIES,
    COMMITS,
    EFFECTS,
    EXTENTS,
    IDS,
    INBOX,
    KEYS,
    LISTING,
    LOG,
    META,
    REMOVALS,
    RETAINED_INDEX,
    RUNS,
    SHAPES,
    SNAPSHOTS,
    TIMERS,
    WAITS,
    Table,
)
from tests.care.stores import contents, flipped, modules, put, rows_of
from tests.crash.works import Asked, Trip, desk, trip

VALUED = [table for table in ALL if table.valued]
TOLD_BY_NOBODY = {"inbox", "requests", "answers", "meta"}  # when a row is lost, nothing else says that it was there


def test_nothing_is_wrong_with_a_store_that_has_something_in_every_table(filled: Path) -> None:
    assert {table for table, _ in contents(filled)} == set(ALL)
    found = looms.check(filled, modules=modules)
    assert found.ok
    assert (found.runs, found.findings) == (12, ())
    assert found.records == sum(1 for _ in rows_of(filled, LOG)) - 2  # those of a run that is being removed
    assert found.commits == sum(1 for _ in rows_of(filled, COMMITS))


@pytest.mark.parametrize("table", VALUED, ids=lambda table: table.name)
def test_a_flipped_bit_is_found_wherever_it_is(store: Path, table: Table) -> None:
    all_rows = [row for row in rows_of(store, table) if row[0] != b"format"]
    key, value = all_rows[len(all_rows) // 2]
    put(store, table, key, flipped(value, 9))
    named = {finding.table for finding in looms.check(store).findings}
    assert table.name in named or (table is BODIES and "snapshots" in named)


def test_a_store_that_does_not_say_its_format_is_not_opened(store: Path) -> None:
    put(store, META, b"format", flipped(dict(rows_of(store, META))[b"format"], 9))
    for call in (looms.check, looms.repair):
        with pytest.raises(StoreFormatError, match="'meta'"):
            call(store)


@pytest.mark.parametrize("table", [t for t in ALL if t.name not in TOLD_BY_NOBODY], ids=lambda table: table.name)
def test_a_row_that_is_lost_is_found(store: Path, table: Table) -> None:
    lost = [key for key, _ in rows_of(store, table) if table is not KEYS or key[:8] != bytes(8)]
    for key in lost:
        put(store, table, key, None)
    named = {finding.table for finding in looms.check(store).findings}
    told_elsewhere = {"bodies": "snapshots", "reads": "parked", "retained": "timers", "removals": "runs"}
    assert told_elsewhere.get(table.name, table.name) in named


@pytest.mark.parametrize(
    ("table", "value"),
    [
        *[(table, b"") for table in (LISTING, WAITS, TIMERS, RETAINED_INDEX, REMOVALS)],
        *[(table, b"\x01") for table in (IDS, EXTENTS, KEYS, EFFECTS, SHAPES, SNAPSHOTS, BODIES, LOG, RUNS, INBOX)],
    ],
    ids=lambda given: given.name if isinstance(given, Table) else "",
)
def test_a_row_too_many_is_found(store: Path, table: Table, value: bytes) -> None:
    key = flipped(list(rows_of(store, table))[-1][0], 8 * 4)
    put(store, table, key, seal(table, key, value) if table.valued else value)
    assert table.name in {finding.table for finding in looms.check(store).findings}


def test_a_run_of_which_nothing_but_its_records_is_left_is_found(store: Path) -> None:
    number = dict(rows_of(store, IDS))[b"one"][:8]
    put(store, IDS, b"one", None)
    put(store, RUNS, number, None)
    for _ in range(2):
        lost = [finding for finding in looms.check(store).findings if finding.table == "runs"]
        assert [(finding.key, finding.repairable) for finding in lost] == [({"run": int.from_bytes(number)}, False)]
        assert "nothing tells its id any more" in lost[0].what
        looms.repair(store)


def test_one_bad_row_hides_no_other(store: Path) -> None:
    numbers = dict(rows_of(store, IDS))
    one, other = numbers[b"one"][:8], numbers[b"other"][:8]
    for table in (KEYS, EFFECTS, EXTENTS):
        for key, value in rows_of(store, table):
            if key[:8] in (one, other):
                put(store, table, key, flipped(value, 3))
    for key, _ in rows_of(store, WAITS):
        put(store, WAITS, key, None)
    told = [(finding.table, finding.run_id) for finding in looms.check(store).findings]
    for run_id in ("one", "other"):
        assert ("extents", run_id) in told
        assert told.count(("keys", run_id)) == 20
    assert told.count(("effects", "other")) == sum(1 for key, _ in rows_of(store, EFFECTS) if key[:8] == other)
    assert told.count(("waits", "other")) > 2  # all of its records behind the lost extents follow from a snapshot


def test_a_finding_says_which_table_run_and_record_it_is_about(store: Path) -> None:
    key, value = list(rows_of(store, LOG))[3]
    put(store, LOG, key, flipped(value, 5))
    (found,) = looms.check(store).findings
    assert (found.table, found.run_id, found.seq, found.key) == ("log", "one", 3, {"position": 4})
    assert "checksum" in found.what
    assert not found.repairable


@pytest.mark.parametrize("body", [b"", b"\xc1", b"\x91", b"\x93\x01\x02\x03", b"\x91" * 2_000, b"\xa1\xff", b"\x00"])
@pytest.mark.parametrize("table", [table for table in VALUED if table is not META], ids=lambda table: table.name)
def test_well_sealed_rows_of_something_else_are_findings_and_no_errors(store: Path, table: Table, body: bytes) -> None:
    for key, _ in rows_of(store, table):
        put(store, table, key, seal(table, key, body))
    found = looms.check(store, modules=modules).findings
    assert table.name in {finding.table for finding in found} or table is BODIES


@pytest.mark.parametrize("table", ALL, ids=lambda table: table.name)
def test_keys_of_any_length_are_findings_and_no_errors(store: Path, table: Table) -> None:
    for key in (b"\0", b"\0" * 7, b"\0\0\0\0\0\0\0\1", b"\0\0\0\0\0\0\0\1" * 2 + b"x", b"\xff" * 300):
        put(store, table, key, seal(table, key, b"\x01") if table.valued else b"")
    looms.check(store, modules=modules)
    looms.repair(store)
    left = looms.check(store).findings
    assert {finding.table for finding in left} <= {"log", "inbox"}


def test_some_runs_alone_are_looked_at(store: Path) -> None:
    for key, value in rows_of(store, LOG):
        put(store, LOG, key, flipped(value, 5))
    found = looms.check(store, runs=["guest"])
    assert found.runs == 1
    assert {finding.run_id for finding in found.findings} == {"guest"}
    with pytest.raises(UnknownRun, match="'nobody'"):
        looms.check(store, runs=["nobody"])


def test_findings_are_told_as_they_come(store: Path) -> None:
    key, value = next(iter(rows_of(store, LOG)))
    put(store, LOG, key, flipped(value, 5))
    told: list[Finding] = []
    steps: list[int] = []
    found = looms.check(store, found=told.append, step=steps.append)
    assert tuple(told) == found.findings
    assert steps


async def test_what_a_host_writes_meanwhile_is_no_damage(tmp_path: Path, ledger: None) -> None:
    async with looms.Runtime(tmp_path / "store.looms", modules=modules, snapshot_every=4) as runtime:
        await runtime.start(desk, 0, run_id="desk 0")

        async def keep_busy(name: int) -> None:
            for n in range(1_000):
                run = await runtime.start(trip, Trip(3, "wait"), run_id=f"{name} {n}")
                for do in ("wait", "emit", "choose", "tell"):
                    await runtime.run("desk 0").signal(Asked(n, do, "desk 0"), key=f"{name} {n} {do}")
                with suppress(RunFinished):
                    await run.cancel("enough")
                await run.delete()

        async with anyio.create_task_group() as tasks:
            for name in range(3):
                tasks.start_soon(keep_busy, name)
            records = 0
            while records < 400:
                found = await runtime.check()
                assert found.findings == ()
                records = found.records
            tasks.cancel_scope.cancel()


async def test_a_reader_checks_too(store: Path) -> None:
    async with looms.Reader(store) as reader:
        assert (await reader.check()).ok
        assert (await reader.check("one", "guest")).runs == 2
