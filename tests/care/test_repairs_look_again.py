"""A repair says that all is well only where the next check says so too, whatever was damaged."""

import random
from pathlib import Path

import msgspec
import pytest

import looms
from looms.snapshots.packing import read_u64, u64
from looms.snapshots.seals import seal
from looms.snapshots.tables import ALL, COMMITS, IDS, INBOX, KEYS, LOG, META, RETAINED, RUNS, Table
from looms.testing import TestClock, runtime
from tests.care.stores import contents, flipped, guest, modules, put, rows_of
from tests.crash.works import Asked, Word

HUGE = 2**64 - 1


def put_sound(store: Path, table: Table, key: bytes, body: bytes) -> None:
    """Put a row whose checksum is right."""
    put(store, table, key, seal(table, key, body) if table.valued else b"")


def bodies(store: Path, table: Table) -> dict[bytes, bytes]:
    return {key: value[:-4] for key, value in rows_of(store, table)}


async def test_a_record_of_the_runtime_that_says_nonsense_is_told_and_its_head_can_be_read(store: Path) -> None:
    async with runtime(modules, store, TestClock()) as rt:
        await rt.run("other's friend").cancel("enough")
    key, body = next((key, body) for key, body in bodies(store, LOG).items() if b"looms.cancelled" in body)
    record = msgspec.msgpack.decode(body)
    put_sound(
        store, LOG, key, msgspec.msgpack.encode([{"reason": 5} if x == {"reason": "enough"} else x for x in record])
    )
    run = record[0]
    head = msgspec.msgpack.decode(bodies(store, RUNS)[u64(run)])
    put_sound(store, RUNS, u64(run), msgspec.msgpack.encode([5 if x == "enough" else x for x in head]))
    repaired = looms.repair(store)
    assert [(one.table, one.run_id) for one in repaired.left] == [("log", "other's friend")]
    assert same(repaired.left, looms.check(store).findings)
    async with looms.Reader(store) as reader:
        assert "other's friend" in [one.run_id async for one in reader.runs(status="cancelled")]


@pytest.mark.parametrize("table", [INBOX, RETAINED, COMMITS, LOG], ids=lambda table: table.name)
async def test_a_row_under_a_number_that_nobody_gives_out_is_in_nobodys_way(
    store: Path, ledger: None, table: Table
) -> None:
    key, body = next(iter(bodies(store, table).items()))
    put(store, table, key, None)
    put_sound(store, table, key[:-8] + u64(HUGE), body)
    repaired = looms.repair(store)
    assert same(repaired.left, looms.check(store).findings)
    assert not [at for at, _ in rows_of(store, table) if read_u64(at, len(at) - 8) == HUGE]
    if table is not LOG:
        assert repaired.ok
    async with runtime(modules, store, TestClock()) as rt:
        await rt.run("other").signal(Asked(1, "fold"))
    assert same(looms.check(store).findings, repaired.left)


async def test_a_store_without_runs_that_has_lost_its_next_numbers_is_made_whole(tmp_path: Path) -> None:
    store = tmp_path / "empty.looms"
    async with runtime(modules, store, TestClock()) as rt:
        run = await rt.start(guest, run_id="g")
        await run.cancel(grace=0)
        await run.delete(force=True)
    with_numbers = bodies(store, META)[b"counters"]
    put(store, META, b"counters", None)
    (finding,) = looms.check(store).findings
    assert (finding.table, finding.repairable) == ("meta", True)
    assert looms.repair(store).ok
    assert looms.check(store).ok
    assert bodies(store, META)[b"counters"][1] >= with_numbers[1]  # no run gets the number of another one
    async with runtime(modules, store, TestClock()) as rt:
        await rt.start(guest, run_id="g")


def test_next_numbers_that_were_given_out_already_are_told(store: Path) -> None:
    counters = msgspec.msgpack.decode(bodies(store, META)[b"counters"])
    put_sound(store, META, b"counters", msgspec.msgpack.encode([counters[0] - 1, *counters[1:]]))
    (finding,) = looms.check(store).findings
    assert (finding.table, finding.repairable) == ("meta", True)
    assert looms.repair(store).ok


async def test_what_is_in_the_way_is_let_go_when_somebody_says_so(store: Path, ledger: None) -> None:
    away = dict(rows_of(store, IDS))[b"away"][:8]
    messages = [(INBOX, key) for key, _ in rows_of(store, INBOX) if key[:8] == away]
    publications = [(KEYS, key) for key, _ in rows_of(store, KEYS) if key[:8] == bytes(8)]
    assert messages
    assert publications
    for table, key in (*messages, *publications):
        put(store, table, key, flipped(contents(store)[table, key], 3))
    left = looms.repair(store).left
    assert all(one.expendable and not one.repairable for one in left)
    assert len(left) == len(messages) + len(publications)
    assert len(looms.repair(store, let_go=True).repaired) == len(left)
    assert looms.check(store, modules=modules).ok
    async with runtime(modules, store, TestClock()) as rt:
        await rt.run("away").resume()
        for _, key in publications:
            await rt.publish(Word("nobody"), key=key[8:].decode())


def test_a_repair_leaves_what_a_check_finds_whatever_was_damaged(store: Path, seed: int) -> None:
    random.seed(seed)
    for _ in range(6):
        table = random.choice(ALL)
        rows = [(key, value) for key, value in rows_of(store, table) if key != b"format"]
        if not rows:
            continue
        key, value = random.choice(rows)
        body = value[:-4]
        match random.randrange(5):
            case 0:
                put(store, table, key, None)
            case 1 if value:
                put(store, table, key, flipped(value, random.randrange(len(value) * 8)))
            case 2:  # as if it had been written under another key
                put_sound(store, table, flipped(key, random.randrange(len(key) * 8)), body)
            case 3:
                put_sound(store, table, random.randbytes(random.choice((1, 3, 8, 16, 20, 40))), body)
            case _ if body:
                put_sound(store, table, key, flipped(body, random.randrange(len(body) * 8)))
    repaired = looms.repair(store)
    assert same(repaired.left, looms.check(store).findings)
    left = looms.repair(store, let_go=True).left
    assert same(left, looms.check(store).findings)


@pytest.fixture(params=range(12))
def seed(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def same(left: tuple[looms.Finding, ...], found: tuple[looms.Finding, ...]) -> bool:
    """Whether the same is wrong, and nothing of it could be repaired."""
    assert sorted((str(one.table), one.what) for one in left) == sorted((str(one.table), one.what) for one in found)
    return True
