"""Damage in one row is found by whoever reads it, is named, and harms no other row."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import lmdb
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from looms.snapshots import (
    commits,
    effect_rows,
    heads,
    inbox,
    keys,
    log,
    read_rows,
    removal,
    requests,
    retained,
    shapes,
    snapshot_rows,
    timers,
    type_rows,
    wait_rows,
)
from looms.snapshots.environment import Environment
from looms.snapshots.errors import StoreFormatError
from looms.snapshots.packing import read_u64
from looms.snapshots.reading import Reading
from looms.snapshots.rows import EffectRow, Head, ParkedRow, SnapshotInfo
from looms.snapshots.seals import seal
from looms.snapshots.store import Store
from looms.snapshots.tables import ALL, EXTENTS, LISTING, LOG, RUNS, Table
from looms.snapshots.view import View
from tests.snapshots.stories import a_store, start, turn

HASH = b"h" * 16


def fill(store: Store) -> None:
    """Put something into every table."""
    batch = store.new_batch()
    one, other = start(batch, "r1"), start(batch, "r2")
    store.commit(batch)
    for n in range(20):  # enough to spill extents
        batch = store.new_batch()
        one, other = turn(batch, one, [b"one %d" % n]), turn(batch, other, [b"other %d" % n])
        store.commit(batch)
    batch = store.new_batch()
    snapshot_rows.put(batch, 1, 5, SnapshotInfo(1, "full", None, {"a": "b"}, 0), b"state")
    inbox.put(batch, 1, b"message")
    read_rows.park(batch, (1, 1, 0), ParkedRow(2, (b"what was read",), 1))
    wait_rows.put(batch, HASH, 1, 1, 0)
    timers.put(batch, timers.TimerKey(5, 1, 1, 0))
    effect_rows.put(batch, (1, 1, 0), EffectRow("charge"))
    keys.put(batch, 1, "key", b"1")
    retained.index(batch, HASH, retained.put(batch, b"event"))
    with store.view() as view:
        shapes.change(batch.over(view), batch, "shop.paid", (("id",),), 1)
    type_rows.put(batch, "shop.paid", 2)
    requests.answer(batch, b"2" * 16, b"answer")
    store.commit(batch)
    requests.ask(store.environment, b"1" * 16, b"request")
    batch = store.new_batch()
    removal.begin(batch, start(batch, "gone"))
    turn(batch, start(batch, "z over"), [b"last"], status="completed")
    store.commit(batch)


def found(view: Reading, run_id: str) -> Head:
    head = heads.find(view, run_id)
    assert head is not None
    return head


# What reads a row of each table, with those who read others beside it left out.
READERS: dict[str, Callable[[Reading], object]] = {
    "ids": lambda view: heads.number_of(view, "r1"),
    "runs": lambda view: [heads.head(view, read_u64(key)) for key in view.keys(RUNS)],
    "log": lambda view: log.page(view, found(view, "r1")),
    "extents": lambda view: log.page(view, found(view, "r1")),
    "listing": lambda view: list(view.scan(ALL[5])),
    "snapshots": lambda view: snapshot_rows.page(view, 1),
    "bodies": lambda view: snapshot_rows.body(view, 1, 5),
    "inbox": lambda view: inbox.page(view, 1),
    "shapes": lambda view: list(shapes.load(view)),
    "effects": lambda view: [effect_rows.get(view, key) for key in effect_rows.places(view)],
    "parked": lambda view: read_rows.parked(view, (1, 1, 0)),
    "keys": lambda view: keys.get(view, 1, "key"),
    "commits": lambda view: commits.page(view),
    "retained": lambda view: retained.page(view),
    "requests": lambda view: requests.page(view),
    "answers": lambda view: requests.answered(view, b"2" * 16),
    "types": lambda view: type_rows.load(view),
}


OPAQUE = {"log", "bodies", "inbox", "keys", "retained", "requests", "answers"}  # bodies that mean nothing to this layer


def first_row(path: str, table: Table) -> tuple[bytes, bytes]:
    """Return the key and the stored value of a table's first row."""
    with lmdb.open(path, max_dbs=64) as raw, raw.begin(db=raw.open_db(table.name.encode())) as txn:
        cursor = txn.cursor()
        assert cursor.first()
        return cursor.item()


def overwrite(path: str, table: Table, key: bytes, value: bytes) -> None:
    with lmdb.open(path, max_dbs=64) as raw, raw.begin(write=True) as txn:
        txn.put(key, value, db=raw.open_db(table.name.encode(), txn))


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The path of a store with something in every table, closed."""
    folder = tmp_path_factory.mktemp("damage") / "store.looms"
    with Store(folder) as store:
        fill(store)
    return str(folder)


def test_there_is_something_in_every_table(filled: str) -> None:
    assert all(first_row(filled, table)[0] for table in ALL)


@pytest.mark.parametrize(
    "table", [table for table in ALL if table.valued and table.name != "meta"], ids=lambda t: t.name
)
@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_a_flipped_bit_is_found_by_the_tables_reader(filled: str, table: Table, data: st.DataObject) -> None:
    key, value = first_row(filled, table)
    at = data.draw(st.integers(0, 8 * len(value) - 1))
    flipped = bytearray(value)
    flipped[at // 8] ^= 1 << at % 8
    overwrite(filled, table, key, bytes(flipped))
    try:
        with Store(filled) as store, store.view() as view:
            with pytest.raises(StoreFormatError, match=table.name) as caught:
                READERS[table.name](view)
            assert filled in str(caught.value)
            other = heads.find(view, "r2")
            assert other is not None
            assert [seq for seq, _ in log.records(view, other)] == list(range(1, other.seq + 1))
    finally:
        overwrite(filled, table, key, value)


@pytest.mark.parametrize(
    "table",
    [table for table in ALL if table.name in READERS and table.name not in OPAQUE],
    ids=lambda table: table.name,
)
@pytest.mark.parametrize(
    "body", [b"", b"\xc1", b"\x91", b"\x93\x01\x02\x03", b"\x91" * 2_000, b"\xa1\xff", b"\x92\xff\xff"]
)
def test_a_well_sealed_row_of_something_else_is_found(filled: str, table: Table, body: bytes) -> None:
    key, value = first_row(filled, table)
    overwrite(filled, table, key, seal(table, key, body) if table.valued else body or b"x")
    try:
        with Store(filled) as store, store.view() as view, pytest.raises(StoreFormatError, match=table.name):
            READERS[table.name](view)
    finally:
        overwrite(filled, table, key, value)


def test_a_damaged_record_is_named_by_run_and_seq_and_those_before_it_are_read() -> None:
    with a_store() as store:
        fill(store)
        path = store.path
        store.close()
        with lmdb.open(path, max_dbs=64) as raw, raw.begin(write=True) as txn:
            table = raw.open_db(LOG.name.encode(), txn)
            key = (9).to_bytes(8)
            txn.put(key, b"x" + txn.get(key, b"", db=table)[1:], db=table)
        with Store(path) as store, store.view() as view:
            head = heads.find(view, "r1")
            assert head is not None
            read: list[tuple[int, bytes]] = []
            with pytest.raises(StoreFormatError, match=r"record 5 of run 'r1' \(number 1\)") as caught:
                read.extend(log.records(view, head))
            assert (caught.value.table, caught.value.run, caught.value.seq) == ("log", 1, 5)
            scan = log.records(view, head)
            assert [next(scan)[0] for _ in range(4)] == [1, 2, 3, 4]
            assert [seq for seq, _ in log.records(view, head, 6)] == list(range(6, head.seq + 1))


@pytest.mark.parametrize("lost", [LOG, EXTENTS])
def test_a_lost_row_is_an_error_and_never_a_shorter_log(lost: Table) -> None:
    with a_store() as store:
        fill(store)
        path = store.path
        store.close()
        with lmdb.open(path, max_dbs=64) as raw, raw.begin(write=True) as txn:
            cursor = txn.cursor(raw.open_db(lost.name.encode(), txn))
            cursor.first()
            cursor.delete()
        with Store(path) as store, store.view() as view:
            head = heads.find(view, "r1")
            assert head is not None
            with pytest.raises(StoreFormatError, match="run 'r1'"):
                list(log.records(view, head))
            with pytest.raises(StoreFormatError, match="run 'r1'"):
                log.record(view, head, 1)


@pytest.mark.parametrize(
    "tail",
    [
        [[1, 30, 10**15]],
        [[1, 1, 0]] * 3,
        [[1, 1, -5]],
        [[5, 1, 3], [1, 1, 2]],
        [[1, 10**18, 5]],
        [[1, 2**64 - 1, 5]],
        [[1, 1, 1]] * 1_000,
        [],
    ],
)
def test_hostile_extents_are_an_error(tail: list[list[int]]) -> None:
    with a_store() as store:
        fill(store)
        path = store.path
        store.close()
        key = (1).to_bytes(8)
        with lmdb.open(path, max_dbs=64) as raw, raw.begin(write=True) as txn:
            table = raw.open_db(RUNS.name.encode(), txn)
            head = msgspec.msgpack.decode(txn.get(key, b"", db=table)[:-4])
            head[8] = tail
            txn.put(key, seal(RUNS, key, msgspec.msgpack.encode(head)), db=table)
        with Store(path) as store, store.view() as view, pytest.raises(StoreFormatError):
            list(log.records(view, found(view, "r1")))


def test_a_head_under_another_runs_number_is_found() -> None:
    with a_store() as store:
        fill(store)
        path = store.path
        store.close()
        key, other = (1).to_bytes(8), (2).to_bytes(8)
        with lmdb.open(path, max_dbs=64) as raw, raw.begin(write=True) as txn:
            table = raw.open_db(RUNS.name.encode(), txn)
            txn.put(key, seal(RUNS, key, txn.get(other, b"", db=table)[:-4]), db=table)
        with a_view(path) as view, pytest.raises(StoreFormatError, match="it is about run 2"):
            heads.head(view, 1)


@pytest.mark.parametrize("table", [table for table in ALL if table.key_size], ids=lambda table: table.name)
def test_a_key_of_another_length_is_found(table: Table) -> None:
    with a_store() as store:
        path = store.path
        store.close()
        overwrite(path, table, b"\0\1", seal(table, b"\0\1", b"x") if table.valued else b"")
        with a_view(path) as view:
            for read in (view.scan, view.keys):
                with pytest.raises(StoreFormatError, match="its key has 2 bytes"):
                    list(read(table))
            with pytest.raises(StoreFormatError, match="its key has 2 bytes"):
                view.page(table, b"", None, 5)


@pytest.mark.parametrize("key", [b"x", b"order\0\1x", b"order\0\1" + b"x" * 9, b"\xff\xfe\0\1" + b"\0" * 8])
def test_a_listing_of_nonsense_is_an_error_or_nobody(key: bytes) -> None:
    with a_store() as store:
        fill(store)
        path = store.path
        store.close()
        overwrite(path, LISTING, key, b"")
        with a_view(path) as view:
            for read in (heads.definition_names, lambda view: heads.list_runs(view, "order")):
                try:
                    read(view)
                except StoreFormatError as error:
                    assert "listing" in str(error)  # noqa: PT017  # either is right; anything else is not


@contextmanager
def a_view(path: str) -> Iterator[View]:
    """A view of a store whose last rows may be such that a host does not find where to go on."""
    with closing(Environment(path)) as environment, environment.view() as view:
        yield view
