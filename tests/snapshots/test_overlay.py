"""A batch is read as it will be once it is committed."""

from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from looms.snapshots.batch import Batch
from looms.snapshots.reading import Reading
from looms.snapshots.store import Store
from looms.snapshots.tables import KEYS, LISTING, Table
from tests.snapshots.stories import a_store, everything, start

# Few keys, so that writes meet.
key = st.binary(min_size=1, max_size=2).map(lambda key: bytes(b % 3 for b in key))
table = st.sampled_from([KEYS, LISTING])


@dataclass(frozen=True)
class Change:
    table: Table
    key: bytes
    body: bytes | None

    def into(self, batch: Batch) -> None:
        if self.body is None:
            batch.delete(self.table, self.key)
        else:
            batch.put(self.table, self.key, self.body if self.table.valued else b"")


changes = st.lists(st.builds(Change, table, key, st.none() | st.binary(max_size=4)), max_size=20)
bound = st.just(b"") | key


def looks(reading: Reading, low: bytes, high: bytes | None, limit: int) -> list[object]:
    """Return the answers to all questions that can be asked."""
    keys = [bytes((a, b)) for a in range(3) for b in range(3)]
    return [
        answer
        for table in (KEYS, LISTING)
        for answer in (
            [reading.get(table, key) for key in keys],
            reading.get_many(table, keys),
            *(list(reading.scan(table, low, high, reverse=reverse)) for reverse in (False, True)),
            *(list(reading.scan(table, low, high, reverse=reverse, limit=limit)) for reverse in (False, True)),
            *(list(reading.keys(table, low, high, reverse=reverse, limit=limit)) for reverse in (False, True)),
            reading.page(table, low, high, limit + 1),
        )
    ]


@given(changes, changes, changes, bound, st.none() | key, st.integers(0, 4))
@settings(max_examples=150, deadline=None)
def test_reading_through_a_batch_is_reading_after_its_commit(
    first: list[Change], second: list[Change], third: list[Change], low: bytes, high: bytes | None, limit: int
) -> None:
    with a_store() as store:
        batch = store.new_batch()
        for change in first:
            change.into(batch)
        store.commit(batch)

        batch = store.new_batch()
        for change in second:
            change.into(batch)
        with store.view() as view:
            looks(batch.over(view), low, high, limit)  # what was looked at before more is written is no matter
        following = store.new_batch(after=batch)
        for change in third[: len(third) // 2]:
            change.into(following)
        with store.view() as view:
            looks(following.over(batch.over(view)), low, high, limit)
        for change in third[len(third) // 2 :]:
            change.into(following)

        with store.view() as view:
            through_one = looks(batch.over(view), low, high, limit)
            through_two = looks(following.over(batch.over(view)), low, high, limit)
            all_of_it = everything(following.over(batch.over(view)))
        store.commit(batch)
        with store.view() as view:
            assert looks(view, low, high, limit) == through_one
            assert looks(following.over(view), low, high, limit) == through_two
        store.commit(following)
        with store.view() as view:
            assert looks(view, low, high, limit) == through_two
            assert everything(view) == all_of_it


def test_a_scan_shows_the_batch_as_it_was_when_the_scan_began(store: Store) -> None:
    batch = store.new_batch()
    for n in range(3):
        batch.put(KEYS, b"%d" % n, b"old")
    with store.view() as view:
        scan = batch.over(view).scan(KEYS)
        first = next(scan)
        batch.put(KEYS, b"1", b"new")
        batch.delete(KEYS, b"2")
        assert [first, *scan] == [(b"0", b"old"), (b"1", b"old"), (b"2", b"old")]


def test_a_run_that_is_not_committed_yet_is_found_through_the_batch(store: Store) -> None:
    from looms.snapshots import heads, log

    batch = store.new_batch()
    head = start(batch, "r1", [b"a", b"b"])
    with store.view() as view:
        reading = batch.over(view)
        assert heads.find(reading, "r1") == head
        assert heads.find(view, "r1") is None
        assert list(log.records(reading, head)) == [(1, b"a"), (2, b"b")]
        assert heads.list_runs(reading, definition="order") == [head]
