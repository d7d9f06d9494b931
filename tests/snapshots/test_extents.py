"""Where a run's records are: found again wherever its turns put them."""

from functools import partial
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from looms.snapshots import extents, heads, log
from looms.snapshots.extents import TAIL
from looms.snapshots.rows import Extent, Head
from looms.snapshots.store import Store
from looms.snapshots.tables import EXTENTS
from tests.snapshots.stories import a_store, start, turn

RUNS = 4
# A history: commits, each with the turns of some runs, each turn with so many records.
turns = st.tuples(st.integers(0, RUNS - 1), st.integers(1, 5))
histories = st.lists(st.lists(turns, min_size=1, max_size=6), max_size=60)


def name(run: int, seq: int) -> bytes:
    return f"{run}:{seq}".encode()


@given(histories)
@settings(max_examples=40, deadline=None)
def test_every_record_is_found_where_its_turn_put_it(history: list[list[tuple[int, int]]]) -> None:
    with a_store() as store:
        batch = store.new_batch()
        runs = [start(batch, f"r{number}", [name(number, 1)]) for number in range(RUNS)]
        store.commit(batch)
        for commit in history:
            batch = store.new_batch()
            for run, count in commit:
                seq = runs[run].seq
                runs[run] = turn(batch, runs[run], [name(run, seq + n + 1) for n in range(count)])
            store.commit(batch)
        with store.view() as view:
            for run, head in enumerate(runs):
                assert heads.head(view, head.number) == head
                expected = [(seq, name(run, seq)) for seq in range(1, head.seq + 1)]
                assert list(log.records(view, head)) == expected
                for seq, record in expected:
                    assert log.record(view, head, seq) == record
                    assert log.page(view, head, seq, limit=3) == expected[seq - 1 : seq + 2]


@given(histories, st.data())
@settings(max_examples=200, deadline=None)
def test_extents_cover_each_seq_once_in_order_and_side_by_side_ones_are_merged(
    history: list[list[tuple[int, int]]], data: st.DataObject
) -> None:
    position, seq = 1, 1
    tail: extents.Extents = ()
    spilled: list[Extent] = []
    places: dict[int, int] = {}
    for run, count in [one for commit in history for one in commit]:
        if run == 0:
            tail, over = extents.grown(tail, seq, position, count)
            assert len(tail) <= TAIL
            spilled.extend(over)
            places |= {seq + n: position + n for n in range(count)}
            seq += count
        position += count
    found = (*spilled, *tail)
    assert {e.seq + n: p for e in found for n, p in enumerate(e.positions)} == places
    for before, after in pairwise(tail):
        assert before.position + before.count < after.position
    first = data.draw(st.integers(1, seq))
    rest = [(e.seq + n, p) for e in extents.from_seq(found, first) for n, p in enumerate(e.positions)]
    assert rest == [(n, places[n]) for n in range(first, seq)]
    for size in (1, 3, 1_000):
        chunks = list(extents.chunks(found, partial(int, size)))
        assert [(e.seq + n, p) for c in chunks for e in c for n, p in enumerate(e.positions)] == list(places.items())
        assert [sum(e.count for e in chunk) for chunk in chunks[:-1]] == [size] * len(chunks[:-1])


def test_a_run_that_is_busy_alone_has_one_extent(store: Store) -> None:
    batch = store.new_batch()
    head = start(batch, "busy")
    store.commit(batch)
    for n in range(200):
        batch = store.new_batch()
        head = turn(batch, head, [b"%d" % n] * (n % 3 + 1))
        store.commit(batch)
    assert head.tail == (Extent(1, 1, head.seq),)


def test_a_run_among_others_keeps_a_short_tail_and_rows_that_never_change(store: Store) -> None:
    batch = store.new_batch()
    heads_now = [start(batch, f"r{n}") for n in range(2)]
    store.commit(batch)
    rows: dict[bytes, bytes] = {}
    old: list[Head] = []
    for n in range(10 * TAIL):
        batch = store.new_batch()
        heads_now = [turn(batch, head, [b"%d" % n]) for head in heads_now]
        store.commit(batch)
        old.append(heads_now[0])
        with store.view() as view:
            now = dict(view.scan(EXTENTS))
        assert rows.items() <= now.items()
        rows = now
    assert len(rows) == 2 * 10
    with store.view() as view:  # a head from before still leads to its records
        for head in old[::7]:
            assert len(list(log.records(view, head))) == head.seq
