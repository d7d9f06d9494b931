"""What stands in a store: rows with the right seal and the wrong content, as another version might write them."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import anyio
import msgspec

import looms
from looms import LoomsError, Reader, RunFinished, StoreFormatError, UnknownRun
from looms.reducers import image_bytes, patches
from looms.reducers.codec import Unfit
from looms.reducers.entries import unpack_entry
from looms.reducers.errors import ReducerError
from looms.reducers.fold import fold
from looms.reducers.folded import FoldedRun
from looms.reducers.images import Image, restore
from looms.reducers.items import unpack_item
from looms.reducers.places import ANYTHING, place
from looms.reducers.portable import record_line
from looms.reducers.registry import Registry
from looms.snapshots import chains, heads, log, snapshot_rows
from looms.snapshots.seals import seal
from looms.snapshots.tables import ALL, INBOX, Table
from looms.testing import TestClock, runtime
from tests.care.stores import contents, fill, put
from tests.care.stores import modules as all_modules
from tests.fuzz.bench import bench
from tests.fuzz.desk import Desk, modules
from tests.fuzz.harness import EntryPoint, Finding

CODE = Registry(modules)
PATIENCE = 60  # seconds
_BYTES = (msgspec.MsgspecError, ValueError, RecursionError)
"""What decoding raises, and whoever reads a row makes an error of: it is in the contract of these functions."""


@cache
def _records() -> list[bytes]:
    with bench().view() as view:
        head = heads.find(view, "one")
        assert head is not None
        return [data for _, data in log.records(view, head)]


def _record(data: bytes) -> None:
    """A record of a log, behind those that were before it."""
    for code in (CODE, None):
        records = _records()
        run = FoldedRun("one", 1, "desk.desk", ())
        for before in records[:3]:
            fold(run, unpack_entry(before, code), code)
        run.journal.clear()
        entry = unpack_entry(data, code)
        record_line(data)
        if entry.seq != run.seq + 1:
            return
        fold(run, entry, code)


def _item(data: bytes) -> None:
    """A message of an inbox."""
    unpack_item(data)


@cache
def _images() -> list[tuple[bytes, bytes | None]]:
    """Snapshots of a run, with the differences between them."""
    with bench().view() as view:
        seqs = sorted(snapshot_rows.seqs_down(view, 1, 10**9))
        found = [chains.read(view, 1, seq, CODE).links[-1].image for seq in seqs]
    fulls = [image_bytes.pack_full(one, CODE) for one in found]
    return [(full, None) for full in fulls] + [
        (fulls[n], image_bytes.pack_delta(found[n], found[n + 1], CODE)) for n in range(len(found) - 1)
    ]


def _whole(image: Image) -> None:
    entries = [unpack_entry(data, CODE) for data in _records()]

    def entry_at(seq: int) -> Any:
        if not 1 <= seq <= len(entries):
            raise StoreFormatError(f"no record {seq}")
        return entries[seq - 1]

    try:
        restore(image, FoldedRun("one", 1, "desk.desk", ()), entry_at)
    except (msgspec.MsgspecError, LoomsError, LookupError, TypeError, ValueError) as error:
        raise Unfit(str(error)) from error  # as `history.stored` has it


def _snapshot(data: bytes) -> None:
    """A snapshot's body."""
    for code in (None, CODE):
        _whole(image_bytes.unpack_full(data, code))


def _delta(data: bytes) -> None:
    """A difference's body, against each snapshot."""
    for full, _ in _images():
        for code in (None, CODE):
            base = image_bytes.unpack_full(full, code)
            _whole(image_bytes.unpack_delta(base, data, code))


def _patch(data: bytes) -> None:
    """A difference of states."""
    try:
        patch = msgspec.msgpack.decode(data)
    except _BYTES as error:
        raise Unfit(str(error)) from error
    before = Desk(seen=3, notes=("a", "b"), counts={"a": 1}, names=frozenset({"x"}))
    patches.apply(before, patch, place(Desk))
    patches.apply(msgspec.to_builtins(before), patch, ANYTHING)


def _patches() -> list[bytes]:
    encode = msgspec.msgpack.encode
    return [
        encode(
            [1, {"seen": [0, encode(4)], "notes": [3, 1, [6, encode(["c"])], [5, -1], 1], "last": [0, encode("x")]}]
        ),
        encode([1, {"counts": [3, [0, encode(2)], [6, encode({"b": 2})]], "names": [4, encode(["x"]), encode(["y"])]}]),
    ]


_filled: Path | None = None


@contextmanager
def stored() -> Iterator[None]:
    """A store with something in all tables, to be spoiled, while this lasts."""
    global _filled
    with tempfile.TemporaryDirectory(prefix="looms-fuzz-") as folder:
        _filled = Path(folder) / "filled.looms"
        with _ledger(Path(folder)):
            anyio.run(fill, _filled)
            try:
                yield
            finally:
                _filled = None


def rows_of_each_table() -> dict[Table, list[tuple[bytes, bytes]]]:
    """Its rows: keys, and bodies without their seals."""
    assert _filled is not None, "with stored(): ..."
    found: dict[Table, list[tuple[bytes, bytes]]] = {table: [] for table in ALL}
    for (table, key), value in contents(_filled).items():
        found[table].append((key, value[:-4] if table.valued else b""))
    return found


def spoiled_row(table: Table, key: bytes, body: bytes) -> bytes:
    """A row of a table, as the entry point takes it."""
    return msgspec.msgpack.encode((ALL.index(table), key, body))


def _some_rows() -> list[bytes]:
    """A few rows of each table: else nearly all would be records."""
    return [
        spoiled_row(table, *row)
        for table, rows in rows_of_each_table().items()
        for row in rows[:: max(1, len(rows) // 6)]
    ]


def _messages() -> list[bytes]:
    return [body for _, body in rows_of_each_table()[INBOX]]


@contextmanager
def _ledger(folder: Path) -> Iterator[None]:
    """The effects of that store's application note their attempts here."""
    os.environ["WORKS_LEDGER"] = str(folder / "ledger")
    try:
        yield
    finally:
        del os.environ["WORKS_LEDGER"]


def _row(data: bytes) -> None:
    """A row of any table: everything that reads it goes on, or says so by an error of Looms."""
    try:
        at, key, body = msgspec.msgpack.decode(data, type=tuple[int, bytes, bytes])
    except _BYTES:
        return
    if not 0 <= at < len(ALL) or not 0 < len(key) <= 255:
        return
    assert _filled is not None, "with stored(): ..."
    table = ALL[at]
    store = _filled.with_name("spoiled.looms")
    shutil.rmtree(store, ignore_errors=True)
    shutil.copytree(_filled, store, ignore=shutil.ignore_patterns("doorbell"))
    put(store, table, key, seal(table, key, body) if table.valued else body)
    told: list[LoomsError] = []

    async def look() -> None:
        async with Reader(store, modules=all_modules) as reader:
            try:
                ids = [one.run_id async for one in reader.runs()]
            except LoomsError as error:
                told.append(error)
                ids = ["one", "other"]
            for what in (reader.commits(), reader.effects()):
                try:
                    async for _ in what:
                        pass
                except LoomsError as error:
                    told.append(error)
            for id in ids:
                run = reader.run(id)
                try:
                    await run.inspect()
                    async for _ in run.events():
                        pass
                    async for _ in run.snapshots():
                        pass
                except LoomsError as error:
                    told.append(error)
            try:
                await reader.export_runs(store.with_name("out"), None)
            except LoomsError as error:
                told.append(error)
            finally:
                store.with_name("out").unlink(missing_ok=True)

    async def serve() -> None:
        async with runtime(all_modules, store, TestClock(), durability="relaxed") as rt:
            with anyio.fail_after(PATIENCE):
                await rt.clock.advance(100)
                for id in ("one", "other"):
                    try:
                        await rt.run(id).cancel("enough", grace=0)
                    except (RunFinished, UnknownRun):
                        pass  # as it was before
                    except LoomsError as error:
                        told.append(error)

    for do in (look, serve):
        try:
            anyio.run(do)
        except LoomsError as error:
            told.append(error)
    for check in (looms.check, looms.stats):
        try:
            check(store)
        except LoomsError as error:
            told.append(error)
    for one in told:
        if not str(one):
            raise Finding("an error that says nothing")
    if told:
        raise told[0]


ROW = EntryPoint("row", "row", _some_rows, _row, slow=True)

STORED = (
    EntryPoint("record", "msgpack", lambda: _records()[3:], _record, refuses=(*_BYTES, ReducerError)),
    EntryPoint(
        "message",
        "msgpack",
        _messages,
        _item,
        refuses=_BYTES,
    ),
    EntryPoint(
        "snapshot", "msgpack", lambda: [full for full, _ in _images()], _snapshot, refuses=(*_BYTES, Unfit, LoomsError)
    ),
    EntryPoint(
        "delta",
        "msgpack",
        lambda: [delta for _, delta in _images() if delta],
        _delta,
        refuses=(*_BYTES, Unfit, LoomsError),
    ),
    EntryPoint("patch", "msgpack", _patches, _patch, refuses=(Unfit,)),
    ROW,
)
