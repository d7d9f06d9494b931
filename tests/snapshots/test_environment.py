"""One environment for a folder in a process, whoever opens and closes it; other processes read beside it."""

import os
import re
import shutil
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from looms.reducers.errors import InvalidInput
from looms.snapshots import heads, log
from looms.snapshots.environment import Environment
from looms.snapshots.errors import StoreClosed
from looms.snapshots.packing import u64
from looms.snapshots.rows import Head
from looms.snapshots.store import Store
from looms.snapshots.tables import KEYS, RUNS
from tests.snapshots.programs import line, output, program, say
from tests.snapshots.stories import start, turn


def commit_one(store: Store, run_id: str) -> Head:
    batch = store.new_batch()
    head = start(batch, run_id)
    store.commit(batch)
    return head


def sees(environment: Environment, run_id: str) -> bool:
    with environment.view() as view:
        return heads.find(view, run_id) is not None


def test_a_reader_beside_a_host_sees_its_commits_and_closing_it_harms_nothing(folder: Path, store: Store) -> None:
    link = folder.with_name("link.looms")
    link.symlink_to(folder)
    reader, other = Environment(folder), Environment(link)
    commit_one(store, "r1")
    assert sees(reader, "r1")
    assert sees(other, "r1")
    reader.close()
    with pytest.raises(StoreClosed, match=r"store\.looms"):
        reader.view()
    commit_one(store, "r2")
    assert sees(other, "r2")
    other.close()
    commit_one(store, "r3")


def test_a_reader_outlives_the_host_and_sees_the_next_one(folder: Path) -> None:
    with Store(folder) as store:
        commit_one(store, "r1")
        reader = Environment(folder)
    assert sees(reader, "r1")
    with Store(folder) as store:
        commit_one(store, "r2")
        assert sees(reader, "r2")
    reader.close()


def test_a_reader_that_was_first_does_not_keep_a_host_out(folder: Path) -> None:
    Store(folder).close()
    reader = Environment(folder)
    with Store(folder) as store:
        commit_one(store, "r1")
        assert sees(reader, "r1")
    reader.close()


def test_a_view_that_is_open_while_another_handle_closes_goes_on(folder: Path, store: Store) -> None:
    commit_one(store, "r1")
    reader, other = Environment(folder), Environment(folder)
    with reader.view() as view:
        other.close()
        assert heads.find(view, "r1") is not None
    reader.close()


def test_a_view_sees_one_state_whatever_is_committed_meanwhile(store: Store) -> None:
    head = commit_one(store, "r1")
    with store.view() as view:
        batch = store.new_batch()
        turn(batch, head, [b"later"])
        store.commit(batch)
        commit_one(store, "r2")
        assert heads.head(view, head.number) == head
        assert heads.find(view, "r2") is None
    with store.view() as view:
        found = heads.head(view, head.number)
        assert found is not None
        assert found.seq == 2


def test_a_folder_that_was_removed_and_made_again_is_another_store(folder: Path) -> None:
    store = Store(folder)
    commit_one(store, "old")
    shutil.rmtree(folder)
    with Store(folder) as other:
        commit_one(other, "new")
        assert not sees(other.environment, "old")
    store.close()
    with Store(folder) as again:
        assert sees(again.environment, "new")


def test_a_store_asked_to_be_durable_is_so_beside_a_relaxed_one(folder: Path) -> None:
    with Store(folder, durability="relaxed"):
        reader = Environment(folder)
    with Store(folder) as store:  # shares an environment that does not sync by itself
        commit_one(store, "r1")
        assert store.environment._sync_after
    reader.close()


def test_threads_that_come_and_go_leave_no_readers(store: Store) -> None:
    def read() -> None:
        with store.view() as view:
            assert heads.find(view, "r1") is None

    for _ in range(50):
        threads = [threading.Thread(target=read) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(store.environment.readers()) == 0
    views = [store.view() for _ in range(500)]
    assert len(store.environment.readers()) == 500
    for view in views:
        view.close()
    assert len(store.environment.readers()) == 0
    with pytest.raises(StoreClosed, match="the view is closed"):
        views[0].get(KEYS, b"x")


def test_another_process_reads_while_this_one_writes(folder: Path, store: Store) -> None:
    head = commit_one(store, "r1")
    source = """
        import sys
        from looms.snapshots import heads, log
        from looms.snapshots.environment import Environment
        environment = Environment(sys.argv[1])
        print("ready", flush=True)
        while sys.stdin.readline():
            with environment.view() as view:
                head = heads.find(view, "r1")
                print(len(list(log.records(view, head))), flush=True)
    """
    with program(source, folder) as reader:
        assert line(reader) == "ready"
        for n in range(20):
            say(reader)
            assert line(reader) == str(n + 1)
            batch = store.new_batch()
            head = turn(batch, head, [b"%d" % n])
            store.commit(batch)


@pytest.mark.long
def test_three_hundred_killed_readers_leave_no_slots_and_pin_no_pages(folder: Path) -> None:
    with Store(folder) as store:
        batch = store.new_batch()
        for n in range(100):
            batch.put(KEYS, b"%d" % n, os.urandom(3_000))
        store.commit(batch)
        # Each of them opens the store by itself: what is inherited does not count.
        source = """
            import os, signal, sys
            from looms.snapshots.environment import Environment
            children = []
            for _ in range(300):
                told, tell = os.pipe()
                child = os.fork()
                if child == 0:
                    environment = Environment(sys.argv[1])
                    view = environment.view()
                    os.write(tell, b"x")
                    signal.pause()
                os.read(told, 1)
                os.close(told)
                os.close(tell)
                children.append(child)
            print("all there", flush=True)
            sys.stdin.readline()
            for child in children:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
            print("all gone", flush=True)
        """
        with program(source, folder) as crowd:
            assert line(crowd) == "all there"
            assert len(store.environment.readers()) >= 300
            say(crowd)
            assert line(crowd) == "all gone"
        assert store.environment.clear_stale_readers() == 300
        assert len(store.environment.readers()) == 0
        size = (folder / "data.mdb").stat().st_size
        for n in range(300):
            batch = store.new_batch()
            batch.put(KEYS, b"%d" % (n % 100), os.urandom(3_000))
            store.commit(batch)
        assert (folder / "data.mdb").stat().st_size <= 1.2 * size


def test_stale_readers_are_cleared_when_a_store_is_opened(folder: Path) -> None:
    Store(folder).close()
    source = """
        import sys
        from looms.snapshots.environment import Environment
        environment = Environment(sys.argv[1])
        views = [environment.view() for _ in range(10)]
        print("there", flush=True)
        sys.stdin.readline()
    """
    with program(source, folder) as living:
        assert line(living) == "there"
        with program(source, folder) as killed:
            assert line(killed) == "there"
        with Store(folder) as store:
            assert len(store.environment.readers()) == 10
            with program(source, folder) as killed:
                assert line(killed) == "there"
            with closing(Environment(folder)):
                assert len(store.environment.readers()) == 10


def test_what_is_open_is_refused_after_a_fork(folder: Path) -> None:
    printed = output(
        """
        import os, sys
        from looms.snapshots.environment import Environment
        from looms.snapshots.errors import StoreClosed
        from looms.snapshots.store import Store
        from tests.snapshots.stories import start

        store = Store(sys.argv[1])
        reader = Environment(sys.argv[1])
        batch = store.new_batch()
        start(batch, "r1")
        child = os.fork()
        if child == 0:
            attempts = (
                store.view,
                reader.view,
                lambda: store.commit(batch),
                store.environment.clear_stale_readers,
                lambda: Environment(sys.argv[1]),
            )
            for attempt in attempts:
                try:
                    attempt()
                    print("worked")
                except StoreClosed as error:
                    print("fork" in str(error) and sys.argv[1] in str(error))
            reader.close()
            store.close()
            sys.exit(0)
        os.waitpid(child, 0)
        store.commit(batch)
        reader.close()
        with store.view():
            print("the parent goes on")
        """,
        folder,
    )
    assert printed.splitlines() == ["True"] * 5 + ["the parent goes on"]
    with Store(folder) as store, store.view() as view:
        head = heads.find(view, "r1")
        assert head is not None
        assert list(log.records(view, head)) == [(1, b"started")]


def test_a_child_opens_a_store_that_was_closed_before_the_fork(folder: Path) -> None:
    printed = output(
        """
        import os, sys
        from looms.snapshots.store import Store
        Store(sys.argv[1]).close()
        child = os.fork()
        if child == 0:
            Store(sys.argv[1]).close()
            print("opened", flush=True)
            os._exit(0)
        os.waitpid(child, 0)
        """,
        folder,
    )
    assert printed == "opened\n"


@pytest.mark.parametrize("size", [0, 1, -1, (1 << 20) - 1, 1 << 63, True, "4GiB", 2.0**30])
def test_a_map_size_that_cannot_be_is_refused_and_nothing_is_made(tmp_path: Path, size: Any) -> None:
    with pytest.raises(InvalidInput, match="a whole number from 1048576"):
        Environment(tmp_path / "x", create=True, map_size=size)
    with pytest.raises(InvalidInput, match="a whole number from 1048576"):
        Store(tmp_path / "x", map_size=size)
    assert list(tmp_path.iterdir()) == []


def test_a_map_size_that_is_smaller_than_the_store_is_refused_with_what_it_needs(tmp_path: Path) -> None:
    with Store(tmp_path / "x", map_size=8 << 20) as store:
        batch = store.new_batch()
        batch.put(RUNS, u64(1), b"x" * (4 << 20))
        store.commit(batch)
    with pytest.raises(InvalidInput, match="give at least") as refused:
        Store(tmp_path / "x", map_size=1 << 20)
    needed = int(re.search(r"give at least (\d+)", str(refused.value))[1])  # type: ignore[index]
    assert 4 << 20 < needed < 5 << 20
    Store(tmp_path / "x", map_size=needed).close()
