"""A commit is all or nothing, and the numbering goes on without gaps."""

import threading
from itertools import count
from pathlib import Path

import pytest

from looms.snapshots import commits, heads, inbox, log
from looms.snapshots.batch import COUNTERS, Batch, Frontier
from looms.snapshots.errors import StoreClosed, StoreError, StoreFull
from looms.snapshots.rows import Counters, Head, Turn
from looms.snapshots.store import Store
from looms.snapshots.tables import COMMITS, KEYS, LOG, META, RUNS, TIMERS
from tests.snapshots.programs import line, output, program
from tests.snapshots.stories import contents, start, turn

SMALL = 2 << 20


def fill(store: Store) -> Batch:
    """Commit row after row until the store is full. Returns the batch that was refused."""
    for n in count():
        batch = store.new_batch()
        batch.put(KEYS, b"%d" % n, b"x" * 2_000)
        try:
            store.commit(batch)
        except StoreFull:
            break
    return batch


def test_what_was_committed_is_there_after_reopening(folder: Path) -> None:
    with Store(folder) as store:
        batch = store.new_batch()
        head = start(batch, "r1", [b"a", b"b"])
        inbox.put(batch, head.number, b"hello")
        assert (batch.commit, store.commit(batch)) == (1, 1)
        before = contents(store)
    with Store(folder) as store:
        assert contents(store) == before
        assert store.new_batch().start == Frontier(Counters(2, 2), position=3, commit=2)
        with store.view() as view:
            found = heads.find(view, "r1")
            assert found == head
            assert list(log.records(view, head)) == [(1, b"a"), (2, b"b")]
            assert inbox.page(view, head.number) == [(1, b"hello")]


def test_commits_with_turns_are_numbered_from_1_without_gaps(store: Store) -> None:
    batch = store.new_batch()
    one, two = start(batch, "r1"), start(batch, "r2", [b"a", b"b"])
    store.commit(batch)
    batch = store.new_batch()
    inbox.put(batch, 1, b"no turn")
    assert (batch.commit, store.commit(batch)) == (None, None)
    assert store.commit(store.new_batch()) is None
    batch = store.new_batch()
    turn(batch, turn(batch, two, [b"c"]), [b"d"])
    turn(batch, one, [b"e"])
    assert store.commit(batch) == 2
    with store.view() as view:
        assert commits.page(view) == [
            (1, (Turn(1, 1, 1), Turn(2, 1, 2))),
            (2, (Turn(2, 3, 3), Turn(2, 4, 4), Turn(1, 2, 2))),
        ]
        assert commits.page(view, after=1, limit=1) == commits.page(view)[1:]
        assert commits.last(view) == 2


def test_counters_are_written_only_when_they_change(store: Store) -> None:
    batch = store.new_batch()
    head = start(batch, "r1")
    store.commit(batch)
    batch = store.new_batch()
    turn(batch, head, [b"a"])
    assert META not in [table for table, _, _ in batch.changes()]
    store.commit(batch)
    with store.view() as view:
        assert view.get(META, COUNTERS) is not None


def test_the_last_write_of_a_key_wins(store: Store) -> None:
    batch = store.new_batch()
    batch.put(KEYS, b"a", b"1")
    batch.delete(KEYS, b"a")
    batch.put(KEYS, b"b", b"1")
    batch.put(KEYS, b"b", b"2")
    batch.delete(KEYS, b"c")
    batch.put(KEYS, b"c", b"3")
    store.commit(batch)
    assert contents(store)["keys"] == {b"b": b"2", b"c": b"3"}


@pytest.mark.parametrize("table", [KEYS, RUNS])
def test_keys_that_the_database_cannot_hold_are_refused_before_anything_is_written(table, store: Store) -> None:  # type: ignore[no-untyped-def]
    batch = store.new_batch()
    for key in (b"", b"x" * 512):
        with pytest.raises(ValueError, match=table.name):
            batch.put(table, key, b"body")
    batch.put(table, b"x" * 511, b"body")
    with pytest.raises(ValueError, match="no value"):
        batch.put(TIMERS, b"x", b"body")
    store.commit(batch)


def test_a_full_map_changes_nothing_and_is_over_when_there_is_more_room(folder: Path) -> None:
    with Store(folder, map_size=SMALL) as store:
        batch = store.new_batch()
        head = start(batch, "r1")
        store.commit(batch)
        while True:
            batch = store.new_batch()
            grown = turn(batch, head, [b"x" * 20_000])
            batch.put(KEYS, b"effect", b"%d" % grown.seq)
            batch.next_run()
            before = contents(store)
            try:
                number = store.commit(batch)
            except StoreFull as error:
                assert str(folder) in str(error)  # noqa: PT017  # it is raised once, after many commits that are not
                assert "map_size" in str(error)  # noqa: PT017
                break
            assert number == head.seq + 1
            head = grown
        assert head.seq > 20
        assert contents(store) == before
        assert store.new_batch().start == batch.start
        with pytest.raises(StoreFull):
            store.commit(batch)
        with store.view() as view:
            assert [seq for seq, _ in log.records(view, head)] == list(range(1, head.seq + 1))

    with Store(folder, map_size=SMALL) as store:
        refused = fill(store)
        with pytest.raises(StoreFull):
            store.commit(refused)
        for n in range(16):  # the reserve is a sixteenth of the map, 32 pages
            batch = store.new_batch()
            batch.put(KEYS, b"urgent%d" % n, b"x" * 3_000)
            store.commit(batch, urgent=True)

    with Store(folder) as store:
        batch = store.new_batch()
        turn(batch, head, [b"x" * 20_000])
        assert store.commit(batch) == head.seq + 1


def test_a_full_store_can_be_emptied_and_then_goes_on(folder: Path) -> None:
    from looms.snapshots import removal

    with Store(folder, map_size=SMALL) as store:
        runs: list[Head] = []
        full = False
        while not full:
            batch = store.new_batch()
            head = start(batch, f"r{len(runs)}", [b"x" * 3_000] * 5)
            try:
                store.commit(batch)
            except StoreFull:
                full = True
            else:
                runs.append(head)
        for head in runs[: len(runs) // 2]:
            batch = store.new_batch()
            removal.begin(batch, head)
            store.commit(batch, urgent=True)
            more = True
            while more:
                batch = store.new_batch()
                with store.view() as view:
                    more = removal.step(view, batch, head.number, limit=3)
                store.commit(batch, urgent=True)
        for n in range(len(runs) // 3):
            batch = store.new_batch()
            start(batch, f"again{n}", [b"x" * 3_000] * 5)
            store.commit(batch)


def test_a_full_disk_changes_nothing_and_is_over_when_there_is_room(folder: Path) -> None:
    printed = output(
        """
        import resource, sys
        from looms.snapshots.errors import StoreFull
        from looms.snapshots.store import Store
        from tests.snapshots.stories import contents, start, turn

        def limit(size):
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

        def filled(store, head, size):
            while True:
                batch = store.new_batch()
                grown = turn(batch, head, [b"x" * size])
                before = contents(store)
                try:
                    store.commit(batch)
                except StoreFull as error:
                    assert "disk" in str(error) and sys.argv[1] in str(error), error
                    assert contents(store) == before
                    return head, batch
                head = grown

        with Store(sys.argv[1]) as store:
            batch = store.new_batch()
            head = start(batch, "r1")
            store.commit(batch)
            limit(2 << 20)
            head, _ = filled(store, head, 700_000)
            head, batch = filled(store, head, 10_000)
            store.commit(batch, urgent=True)
            limit(resource.RLIM_INFINITY)
            batch = store.new_batch()
            turn(batch, head, [b"x" * 700_000])
            print(head.seq > 20, store.commit(batch) == head.seq + 2)
        """,
        folder,
    )
    assert printed == "True True\n"


def test_a_commit_that_fails_half_way_leaves_nothing(store: Store) -> None:
    batch = store.new_batch()
    head = start(batch, "r1")
    store.commit(batch)
    before = contents(store)
    batch = store.new_batch()
    turn(batch, head, [b"a"])
    batch.put(KEYS, b"a", b"1")
    batch.put(LOG, b"\0" * 8, b"before all others")  # cannot be appended
    batch.put(KEYS, b"a", b"1")
    with pytest.raises(StoreError, match="'log'"):
        store.commit(batch)
    assert contents(store) == before
    batch = store.new_batch()
    turn(batch, head, [b"a"])
    assert store.commit(batch) == 2


def test_a_batch_that_does_not_go_on_where_the_store_stands_is_refused(store: Store) -> None:
    one, other = store.new_batch(), store.new_batch()
    start(one, "r1")
    start(other, "r2")
    store.commit(one)
    before = contents(store)
    with pytest.raises(StoreError, match="order"):
        store.commit(other)
    with pytest.raises(StoreError, match="order"):
        store.commit(one)
    assert contents(store) == before


def test_a_batch_may_be_planned_while_the_one_before_it_is_written(store: Store) -> None:
    first = store.new_batch()
    head = start(first, "r1")
    second = store.new_batch(after=first)
    with store.view() as view:
        assert heads.find(second.over(first.over(view)), "r1") == head
    turn(second, head, [b"a"])
    third = store.new_batch(after=second)
    start(third, "r2")
    with pytest.raises(StoreError, match="order"):
        store.commit(second)
    assert [store.commit(batch) for batch in (first, second, third)] == [1, 2, 3]
    assert len(contents(store)["log"]) == 3


def test_commits_from_many_threads_are_one_after_the_other(store: Store) -> None:
    planning = threading.Lock()
    numbers: list[int | None] = []

    def work(name: str) -> None:
        for n in range(20):
            with planning:
                batch = store.new_batch()
                start(batch, f"{name}{n}")
                numbers.append(store.commit(batch))

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert numbers == list(range(1, 81))
    assert len(contents(store)["ids"]) == 80


def test_every_commit_that_returned_survives_a_kill_and_the_one_under_way_is_whole_or_not_there(folder: Path) -> None:
    source = """
        import sys
        from looms.snapshots.store import Store
        from tests.snapshots.stories import start, turn
        with Store(sys.argv[1]) as store:
            batch = store.new_batch()
            runs = [start(batch, f"r{n}") for n in range(20)]
            store.commit(batch)
            while True:
                batch = store.new_batch()
                runs = [turn(batch, head, [b"x" * 500] * 2) for head in runs]
                print(store.commit(batch), flush=True)
    """
    for acknowledged in (1, 7, 40):
        here = folder.with_name(f"{acknowledged}.looms")
        with program(source, here) as host:
            seen = [int(line(host)) for _ in range(acknowledged)]
        with Store(here) as store, store.view() as view:
            last = commits.last(view)
            assert last >= seen[-1]
            for head in heads.list_runs(view):
                assert head.seq == 1 + 2 * (last - 1)
                assert [seq for seq, _ in log.records(view, head)] == list(range(1, head.seq + 1))
            assert [number for number, _ in commits.page(view, limit=10_000)] == list(range(1, last + 1))
            assert store.new_batch().start.position == 1 + 20 * (1 + 2 * (last - 1))


@pytest.mark.parametrize("durability", ["commit", "relaxed"])
def test_both_durabilities_keep_what_was_committed(folder: Path, durability) -> None:  # type: ignore[no-untyped-def]
    with Store(folder, durability=durability) as store:
        batch = store.new_batch()
        start(batch, "r1")
        store.commit(batch)
    with Store(folder) as store, store.view() as view:
        assert heads.find(view, "r1") is not None


def test_a_closed_store_says_so_to_everyone(folder: Path) -> None:
    store = Store(folder)
    batch = store.new_batch()
    start(batch, "r1")
    view = store.view()
    store.close()
    store.close()
    errors: list[Exception] = []

    def use() -> None:
        for attempt in (
            store.view,
            lambda: store.commit(batch),
            lambda: view.get(RUNS, b"x"),
            lambda: list(view.scan(COMMITS)),
            lambda: view.page(RUNS, b"", None, 1),
            lambda: view.get_many(RUNS, [b"x"]),
            store.environment.clear_stale_readers,
        ):
            try:
                attempt()
            except Exception as error:  # noqa: BLE001
                errors.append(error)

    use()
    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    assert [type(error) for error in errors] == [StoreClosed] * 14
    assert all(str(folder) in str(error) for error in errors)
    view.close()
