"""A disk that fails at any of its calls: the caller is told by name, and all that was acknowledged is there afterwards.

After an error in the midst of a commit a host does not go on. The system tells of data that it could not write once,
and takes them for written from then on; so it is over, and the next one begins with what is on the disk. Where there is
no room, it goes on: a commit that was refused is written anew as a whole, and counts when all of it was flushed.
"""

import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import looms
from tests.crash.hearing import Teller, Told, teller
from tests.crash.killing import LIMIT, ROOT_FOLDER, Place
from tests.crash.tracing import made, refusing
from tests.crash.works import modules

NAMED = {"StoreFull", "StoreFailed", "StoreError"}
WRITES = ("writev", "pwrite64", "fdatasync")  # with which a commit gets to the disk


@pytest.fixture(scope="module")
def telling() -> Iterator[Teller]:
    with teller() as found:
        yield found


def refused(telling: Teller, place: Place, call: str, error: str, n: int, **more: object) -> Told | None:
    """A story in which the n-th call of a kind is refused once the store is open; None when there are not so many."""
    noted = place.store.with_name("calls")
    pid = telling.begin(place, "refused", **more)
    assert telling.open()
    with refusing(pid, call, error, str(n), noted, paths=[place.store / "data.mdb"]):
        told = telling.tell()
    return told if any(one.injected for one in made(noted)) else None


def refused_while_opening(telling: Teller, place: Place, call: str, error: str, n: int, **_: object) -> Told | None:
    """A store is opened and closed, with the n-th call of a kind refused; None when there are not so many."""
    noted = place.store.with_name("calls")
    pid = telling.begin(place, "refused", rounds=0)
    files = [place.store, *(place.store / name for name in ("data.mdb", "lock.mdb", "lock", "new/data.mdb"))]
    with refusing(pid, call, error, str(n), noted, paths=files):
        telling.open()
        told = telling.tell()
    return told if any(one.injected for one in made(noted)) else None


def everywhere(
    telling: Teller,
    folder: Path,
    call: str,
    error: str,
    every: int,
    how: Callable[..., Told | None] = refused,
    first: bool = False,
    **more: object,
) -> Counter[str | None]:
    """Tell a story with each (or every second, ...) call of a kind refused, and count how its block ended.

    After each, the store is opened again: everything acknowledged is there, and goes on.
    """
    ends: Counter[str | None] = Counter()
    n = 1
    while True:
        place = Place(folder / f"{n}")
        place.store.parent.mkdir()
        if first:
            place.acknowledged += telling.told(place, "first").acknowledged
        told = how(telling, place, call, error, n, **more)
        if told is None:
            return ends
        assert told.code == 0, f"the {n}th {call}"
        assert told.errors <= NAMED, told
        place.acknowledged += told.acknowledged
        if (place.store / "data.mdb").exists():
            place.check(place.acknowledged)
        again = telling.told(place, "again")
        assert not again.refused
        place.acknowledged += again.acknowledged
        place.check(place.acknowledged)
        ends[told.block] += 1
        n += every


@pytest.mark.parametrize(("call", "every"), [("writev", 19), ("pwrite64", 19), ("fdatasync", 9)])
def test_an_error_in_the_midst_of_a_commit_ends_the_host(
    telling: Teller, tmp_path: Path, call: str, every: int
) -> None:
    ends = everywhere(telling, tmp_path, call, "EIO", every)
    assert set(ends) == {"StoreFailed"}
    assert ends


@pytest.mark.long
@pytest.mark.parametrize("call", WRITES)
@pytest.mark.parametrize(
    ("loop", "durability", "error"),
    [("trio", "commit", "EIO"), ("asyncio", "relaxed", "EIO"), ("asyncio", "commit", "EROFS")],
)
def test_so_it_does_at_every_write_and_flush(
    telling: Teller, tmp_path: Path, call: str, loop: str, durability: str, error: str
) -> None:
    """Also when the system makes the file system one that can only be read, as it does after errors."""
    every = 1 if error == "EIO" else 3
    ends = everywhere(telling, tmp_path, call, error, every, loop=loop, durability=durability)
    assert set(ends) == {"StoreFailed"}
    assert ends.total() > 2


@pytest.mark.parametrize(("call", "every"), [("writev", 19), ("fdatasync", 14)])
def test_no_room_for_a_commit_refuses_it_and_the_host_goes_on(
    telling: Teller, tmp_path: Path, call: str, every: int
) -> None:
    no_room(telling, tmp_path, call, every)


@pytest.mark.long
@pytest.mark.parametrize("call", WRITES)
def test_so_it_is_wherever_there_is_none(telling: Teller, tmp_path: Path, call: str) -> None:
    no_room(telling, tmp_path, call, 1)


def no_room(telling: Teller, folder: Path, call: str, every: int) -> None:
    ends = everywhere(telling, folder, call, "ENOSPC", every)
    # Where there is no room for the page that makes a commit count, LMDB takes nothing more until it is opened again.
    assert set(ends) <= ({None, "StoreFailed"} if call == "pwrite64" else {None})
    assert ends


@pytest.mark.long
@pytest.mark.parametrize("error", ["EIO", "ENOSPC"])
def test_a_file_that_cannot_be_made_longer_refuses_what_needs_it(telling: Teller, tmp_path: Path, error: str) -> None:
    assert set(everywhere(telling, tmp_path, "fallocate", error, 1, large=80_000)) == {None}


@pytest.mark.long
def test_a_store_that_has_reached_its_map_size_refuses_and_goes_on_with_a_larger_one(
    telling: Teller, tmp_path: Path
) -> None:
    place = Place(tmp_path)
    told = telling.told(place, "small", map_size=2 << 20, rounds=30, large=20_000)
    assert told.errors == {"StoreFull"}
    place.acknowledged += told.acknowledged
    place.check(place.acknowledged)
    larger = telling.told(place, "larger", map_size=8 << 20)
    assert not larger.refused
    place.acknowledged += larger.acknowledged
    place.check(place.acknowledged)


TO_OPEN = ("openat", "flock", "mmap", "pwrite64", "fdatasync", "fsync")
TO_MAKE = (*TO_OPEN, "ftruncate", "mkdir", "rename")


@pytest.mark.parametrize("call", ["fsync"])
def test_what_fails_while_a_store_is_made_is_told_and_it_can_be_made_then(
    telling: Teller, tmp_path: Path, call: str
) -> None:
    ends = everywhere(telling, tmp_path, call, "EIO", 1, refused_while_opening)
    assert set(ends) == {"StoreError"}


@pytest.mark.long
@pytest.mark.parametrize("error", ["EIO", "ENOSPC"])
@pytest.mark.parametrize(("call", "there"), [*((call, False) for call in TO_MAKE), *((call, True) for call in TO_OPEN)])
def test_so_it_is_whichever_call_fails(telling: Teller, tmp_path: Path, call: str, there: bool, error: str) -> None:
    """Whether there is a store already or not."""
    ends = everywhere(telling, tmp_path, call, error, 1, refused_while_opening, first=there)
    assert set(ends) & NAMED


SHARED = """
    import os, sys
    from looms import StoreFailed
    from looms.snapshots.environment import Environment
    from looms.snapshots.store import Store
    from tests.snapshots.stories import start

    store, reader = Store(sys.argv[1]), Environment(sys.argv[1])

    def begin(run_id):
        batch = store.new_batch()
        start(batch, run_id)
        return batch

    store.commit(begin("there"))
    os.write(1, b"%d\\n" % os.getpid())
    sys.stdin.readline()
    batch = begin("lost")
    for what in (lambda: store.commit(batch), lambda: store.commit(batch), store.view, reader.view, reader.sizes):
        try:
            what()
        except StoreFailed as error:
            print("closed and opened again" in str(error))
    store.close()
    try:
        Store(sys.argv[1])
    except StoreFailed as error:
        print("has not closed it everywhere" in str(error))
    reader.close()
    with Store(sys.argv[1]) as store:
        print(store.commit(begin("after")))
"""


@pytest.mark.parametrize("call", ["fdatasync", "pwrite64"])
def test_all_handles_of_a_process_are_over_until_the_last_is_closed(store: Path, call: str) -> None:
    assert output(SHARED, store, call).split() == ["True"] * 6 + ["2"]


def output(source: str, store: Path, call: str) -> str:
    """What a program prints; after its first line, with its pid, one call of a kind fails.

    Whoever tried again would be told that all is well.
    """
    command = [sys.executable, "-c", textwrap.dedent(source), str(store)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=ROOT_FOLDER) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        with refusing(pid, call, "EIO", "1", store.with_name("calls"), paths=[store / "data.mdb"]):
            return process.communicate("\n", timeout=LIMIT)[0]


WITHOUT_AWAIT = """
    import os, sys, time
    import looms
    from tests.crash.works import Asked, desk, modules

    rt = looms.open(sys.argv[1], modules=modules)
    run = rt.start(desk, 0, run_id="d")
    os.write(1, b"%d\\n" % os.getpid())
    sys.stdin.readline()
    for what in (lambda: run.signal(Asked(1, "fold")), rt.close, lambda: run.signal(Asked(2, "fold"))):
        try:
            what()
        except looms.LoomsError as error:
            print(type(error).__name__, "the disk failed" in str(error))
"""


def test_without_await_a_call_and_the_end_say_that_the_disk_failed(store: Path) -> None:
    said = output(WITHOUT_AWAIT, store, "fdatasync").splitlines()
    assert said == ["StoreFailed True", "StoreFailed True", "RuntimeClosed True"]
    with looms.open_reader(store, modules=modules) as reader:
        assert reader.run("d").inspect().seq == 1


TOGETHER = """
    import os, sys
    import anyio
    import looms
    from tests.crash.works import Asked, desk, modules

    async def tell(rt, n):
        try:
            await rt.run(f"d{n}").signal(Asked(n, "fold"))
        except looms.StoreFailed:
            print("told", flush=True)

    async def main():
        async with looms.Runtime(sys.argv[1], modules=modules) as rt:
            for n in range(10):
                await rt.start(desk, 0, run_id=f"d{n}")
            os.write(1, b"%d\\n" % os.getpid())
            await anyio.to_thread.run_sync(sys.stdin.readline)
            async with anyio.create_task_group() as tasks:
                for n in range(10):
                    tasks.start_soon(tell, rt, n)

    try:
        anyio.run(main, backend="trio")
    except looms.StoreFailed:
        print("over")
"""


def test_all_who_wait_are_told_before_the_runtime_ends(store: Path) -> None:
    assert output(TOGETHER, store, "fdatasync").split() == ["told"] * 10 + ["over"]
