"""What is not a store is refused and left exactly as it was."""

import os
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import lmdb
import msgspec
import pytest

from looms.snapshots import folder
from looms.snapshots.batch import Batch
from looms.snapshots.environment import Environment
from looms.snapshots.errors import StoreError, StoreFormatError, StoreInUse, StoreNotFound
from looms.snapshots.packing import pair
from looms.snapshots.seals import seal
from looms.snapshots.store import Store
from looms.snapshots.tables import ALL, BODIES, META
from tests.snapshots.programs import line, output, program, say
from tests.snapshots.stories import start


def snapshot(path: Path) -> dict[str, bytes]:
    """Return the name and content of everything below a path."""
    return {str(p.relative_to(path)): p.read_bytes() for p in sorted(path.rglob("*")) if p.is_file()}


def open_store(path: Path) -> None:
    Store(path).close()


def open_environment(path: Path) -> None:
    Environment(path).close()


@pytest.fixture(params=[open_store, open_environment], ids=["host", "reader"])
def opening(request: pytest.FixtureRequest) -> Callable[[Path], None]:
    """Both ways to open a store."""
    found: Callable[[Path], None] = request.param
    return found


def make_store(folder: Path) -> None:
    with Store(folder) as store:
        batch = store.new_batch()
        start(batch, "r1", [b"x" * 1_000] * 1_000)
        store.commit(batch)


PAGE = struct.pack("=8x H H 4x", 0, 8)  # the header of one of LMDB's first pages


def meta(magic: int = 0xBEEFC0DE, version: int = 1, size: int = 4_096, last: int = 1) -> bytes:
    """Return such a page."""
    page = PAGE + struct.pack("=I I 8x 8x I 44x 48x Q Q", magic, version, size, last, 0)
    return page.ljust(4_096, b"\0")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"minutes of the meeting\n" * 1_000, "not an LMDB file"),
        (b"x", "not an LMDB file"),
        (b"\0" * 8_192, "not an LMDB file"),
        (meta(), "incomplete|not an LMDB"),
        (meta() + b"\0" * 4_096, "not an LMDB file"),
        (meta(version=3) * 2, "format 3"),
        (meta(size=0) * 2, "0 bytes"),
        (meta(size=3_000) * 2, "3000 bytes"),
        (meta(size=8_192) + b"\0" * 4_096 + meta(), "do not agree"),
        (meta(last=1_000) * 2, "cut short"),
        (meta(last=2**63) * 2, "cut short"),
    ],
)
def test_a_file_that_is_not_a_stores_is_refused(
    folder: Path, content: bytes, says: str, opening: Callable[[Path], None]
) -> None:
    folder.mkdir()
    (folder / "data.mdb").write_bytes(content)
    (folder / "other").write_text("mine")
    before = snapshot(folder)
    with pytest.raises(StoreFormatError, match=f"(?s)store.looms.*({says})"):
        opening(folder)
    assert snapshot(folder) == before


def test_a_database_whose_tables_are_nonsense_is_damaged(folder: Path, opening: Callable[[Path], None]) -> None:
    folder.mkdir()
    (folder / "data.mdb").write_bytes(meta() * 4)
    with pytest.raises(StoreFormatError, match=r"store\.looms.*damaged"):
        opening(folder)


def test_a_folder_of_other_things_is_refused(folder: Path, opening: Callable[[Path], None]) -> None:
    folder.mkdir()
    (folder / "holiday.jpg").write_text("a beach")
    with pytest.raises(StoreFormatError, match=r"holiday\.jpg"):
        opening(folder)
    assert snapshot(folder) == {"holiday.jpg": b"a beach"}


def test_a_file_in_place_of_the_folder_is_refused(folder: Path, opening: Callable[[Path], None]) -> None:
    folder.write_text("mine")
    with pytest.raises(StoreFormatError, match="a store is a folder"):
        opening(folder)
    assert folder.read_text() == "mine"


@pytest.mark.parametrize("with_lock_file", [True, False])
def test_the_database_of_another_program_is_refused(
    folder: Path, with_lock_file: bool, opening: Callable[[Path], None]
) -> None:
    folder.mkdir()
    with lmdb.open(str(folder), max_dbs=2) as other, other.begin(write=True) as txn:
        txn.put(b"theirs", b"1", db=other.open_db(b"things", txn))
    if not with_lock_file:
        (folder / "lock.mdb").unlink()
    before = snapshot(folder)
    with pytest.raises(StoreFormatError, match="another program"):
        opening(folder)
    after = snapshot(folder)
    for names in (before, after):  # LMDB notes its readers in its lock file, where there is one
        if with_lock_file:
            del names["lock.mdb"]
    after.pop("lock", None) if with_lock_file else None
    assert after == before


def test_a_missing_parent_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"there is no folder .*nowhere"):
        Store(tmp_path / "nowhere" / "store.looms")
    assert list(tmp_path.iterdir()) == []


def test_who_came_to_read_makes_nothing(folder: Path) -> None:
    with pytest.raises(StoreNotFound, match=r"store\.looms: there is no store"):
        Environment(folder)
    assert not folder.exists()
    folder.mkdir()
    with pytest.raises(StoreNotFound):
        Environment(folder)
    assert snapshot(folder) == {}


@pytest.mark.parametrize("left", [(), ("lock",), ("lock", "new/lock.mdb"), ("lock", "new/lock.mdb", "new/data.mdb")])
def test_a_creation_that_died_half_way_is_begun_again(folder: Path, left: tuple[str, ...]) -> None:
    folder.mkdir()
    for name in left:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).touch()
    make_store(folder)
    open_environment(folder)
    assert {path.name for path in folder.iterdir()} == {"data.mdb", "lock.mdb", "lock"}


@pytest.mark.parametrize("lost", ["missing", "empty"])
def test_a_store_whose_data_are_gone_is_no_new_store(folder: Path, lost: str, opening: Callable[[Path], None]) -> None:
    make_store(folder)
    (folder / "data.mdb").unlink()
    if lost == "empty":
        (folder / "data.mdb").touch()
    before = snapshot(folder)
    with pytest.raises(
        StoreFormatError, match=rf"there was a store, and its data\.mdb is {lost}.*Restore it from a copy"
    ):
        opening(folder)
    assert snapshot(folder) == before


DYING = """
    import os, shutil, sys
    from looms.snapshots.store import Store

    def die_at(left):
        def step(frame, event, arg):
            nonlocal left
            left -= 1
            if not left:
                os._exit(9)
        sys.setprofile(step)
        Store(sys.argv[1])
        os._exit(0)

    deaths = 0
    while True:
        child = os.fork() or die_at(1 + 11 * deaths)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        with Store(sys.argv[1]):
            pass
        shutil.rmtree(sys.argv[1])
        if code == 0:
            break
        deaths += 1
    print(deaths)
"""


@pytest.mark.long
def test_whoever_dies_while_he_makes_a_store_leaves_one_that_can_be_made(folder: Path) -> None:
    assert int(output(DYING, folder)) > 10


def test_a_creation_that_died_before_the_tables_were_made_is_begun_again(folder: Path) -> None:
    folder.mkdir()
    lmdb.open(str(folder)).close()
    make_store(folder)


def test_a_store_of_a_newer_version_is_refused_and_named(folder: Path, opening: Callable[[Path], None]) -> None:
    make_store(folder)
    with lmdb.open(str(folder), max_dbs=64) as raw, raw.begin(write=True) as txn:
        body = msgspec.msgpack.encode([2, "7.1.0", "and more"])
        txn.put(b"format", seal(META, b"format", body), db=raw.open_db(b"meta", txn))
    before = (folder / "data.mdb").read_bytes()
    with pytest.raises(StoreFormatError, match=r"format 2, written by looms 7\.1\.0"):
        opening(folder)
    assert (folder / "data.mdb").read_bytes() == before


@pytest.mark.parametrize("value", [None, b"", b"nonsense", seal(META, b"format", b"\xc1")])
def test_a_store_that_does_not_say_its_format_is_refused(
    folder: Path, value: bytes | None, opening: Callable[[Path], None]
) -> None:
    make_store(folder)
    with lmdb.open(str(folder), max_dbs=64) as raw, raw.begin(write=True) as txn:
        table = raw.open_db(b"meta", txn)
        txn.delete(b"format", db=table) if value is None else txn.put(b"format", value, db=table)
    with pytest.raises(StoreFormatError, match=r"store\.looms"):
        opening(folder)


def test_a_store_without_one_of_its_tables_is_refused(folder: Path, opening: Callable[[Path], None]) -> None:
    make_store(folder)
    with lmdb.open(str(folder), max_dbs=64) as raw, raw.begin(write=True) as txn:
        txn.drop(raw.open_db(b"timers", txn))
    with pytest.raises(StoreFormatError, match="'timers'"):
        opening(folder)


@pytest.mark.parametrize("kept", [0.999, 0.9, 0.5, 0.1])
def test_a_copy_that_was_cut_short_is_refused(folder: Path, kept: float, opening: Callable[[Path], None]) -> None:
    make_store(folder)
    data = folder / "data.mdb"
    with lmdb.open(str(folder)) as raw:
        used = (raw.info()["last_pgno"] + 1) * 4_096
    copy = folder.with_name("copy.looms")
    copy.mkdir()
    shutil.copy(data, copy)
    os.truncate(copy / "data.mdb", int(used * kept))
    before = snapshot(copy)
    with pytest.raises(StoreFormatError, match="cut short"):
        opening(copy)
    assert snapshot(copy) == before


@pytest.mark.parametrize("pages", [1, 3, 15])
def test_a_store_that_was_cut_by_a_few_pages_is_refused_and_left_as_it_is(
    folder: Path, pages: int, opening: Callable[[Path], None]
) -> None:
    """Also beside the lock files of a host that was killed, which may leave free pages unwritten."""
    make_store(folder)
    with lmdb.open(str(folder)) as raw:
        used = raw.info()["last_pgno"] + 1
    os.truncate(folder / "data.mdb", (used - pages) * 4_096)
    before = snapshot(folder)
    with pytest.raises(StoreFormatError, match=f"cut short: of {used} pages in use it has {used - pages}"):
        opening(folder)
    assert snapshot(folder) == before


@pytest.mark.parametrize("rounds", [1, 40])
def test_only_free_pages_may_be_missing_at_the_end(
    folder: Path, tmp_path: Path, rounds: int, opening: Callable[[Path], None]
) -> None:
    """Wherever a file is cut that is not refused, no row is another one."""
    make_store(folder)
    with Store(folder) as store:
        for n in range(rounds):  # much that is let go again, in lists that have pages of their own
            fill(store, lambda batch, row, n=n: batch.put(BODIES, pair(n, row), bytes(20_000)))  # type: ignore[misc]
            fill(store, lambda batch, row, n=n: batch.delete(BODIES, pair(n, row)))  # type: ignore[misc]
        for n in range(4):
            fill(store, lambda batch, row, n=n: batch.put(META, b"more", bytes((n,))))  # type: ignore[misc]
    before = all_rows(folder)
    with lmdb.open(str(folder)) as raw:
        used = raw.info()["last_pgno"] + 1
    copy = tmp_path / "copy.looms"
    shutil.copytree(folder, copy)
    accepted = refused = 0
    for missing in (*range(1, 20), *range(20, used, 50)):
        shutil.copy(folder / "data.mdb", copy)
        os.truncate(copy / "data.mdb", (used - missing) * 4_096)
        try:
            opening(copy)
        except StoreFormatError:
            refused += 1
            continue
        accepted += 1
        assert (copy / "data.mdb").stat().st_size >= used * 4_096
        assert all_rows(copy) == before
    assert accepted
    assert refused


def fill(store: Store, change: Callable[[Batch, int], None]) -> None:
    batch = store.new_batch()
    for row in range(100):
        change(batch, row)
    store.commit(batch)


def all_rows(folder: Path) -> list[tuple[bytes, bytes]]:
    with lmdb.open(str(folder), max_dbs=64) as raw, raw.begin() as txn:
        tables = [raw.open_db(table.name.encode(), txn, create=False) for table in ALL]
        return [row for table in tables for row in txn.cursor(table)]


def test_a_folder_that_can_only_be_read_is_read(folder: Path) -> None:
    make_store(folder)
    source = """
        import os, sys
        from looms.snapshots import heads, log
        from looms.snapshots.environment import Environment
        from looms.snapshots.errors import StoreError
        from looms.snapshots.store import Store
        os.chdir(sys.argv[1])
        if os.geteuid() == 0:  # who may write everywhere
            os.setgroups([])
            os.setegid(65534)
            os.seteuid(65534)
        environment = Environment("store.looms")
        with environment.view() as view:
            print(len(list(log.records(view, heads.find(view, "r1")))))
        for attempt in (lambda: environment.write([]), lambda: Store("store.looms")):
            try:
                attempt()
            except StoreError as error:
                print(type(error).__name__, "store.looms" in str(error))
        environment.close()
    """
    folder.parent.chmod(0o755)
    for path in (*folder.iterdir(), folder):
        path.chmod(0o555)
    try:
        printed = output(source, folder.parent)
    finally:
        folder.chmod(0o755)
    assert printed.splitlines() == ["1000", "StoreError True", "StoreError True"]


def test_who_can_only_read_cannot_read_beside_a_host_that_does_not_know_of_him(folder: Path) -> None:
    make_store(folder)
    source = """
        import os, sys
        from looms.snapshots.environment import Environment
        from looms.snapshots.errors import StoreError
        os.chdir(sys.argv[1])
        if os.geteuid() == 0:
            os.setgroups([])
            os.setegid(65534)
            os.seteuid(65534)
        try:
            Environment("store.looms")
        except StoreError as error:
            print(error)
        print("now", flush=True)
        sys.stdin.readline()
        environment = Environment("store.looms")
        print("reading", flush=True)
        sys.stdin.readline()
        environment.close()
        print("closed", flush=True)
        sys.stdin.readline()
    """
    folder.parent.chmod(0o755)
    with Store(folder) as store:
        for path in folder.iterdir():
            path.chmod(0o444)
        with program(source, folder.parent) as reader:
            assert f"in use by process {os.getpid()}" in line(reader)
            assert line(reader) == "now"
            store.close()
            say(reader)
            assert line(reader) == "reading"
            for path in folder.iterdir():
                path.chmod(0o644)
            with pytest.raises(StoreInUse):
                Store(folder)
            say(reader)
            assert line(reader) == "closed"
            Store(folder).close()


@pytest.mark.parametrize("path", ["", "/proc/looms-test"])
def test_a_path_at_which_no_folder_can_be_is_refused_as_that(path: str) -> None:
    with pytest.raises(StoreError, match="no folder of that name can be made"):
        folder.make(path)
