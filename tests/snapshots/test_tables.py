"""What each table keeps, and how it is found again."""

import pytest

from looms.snapshots import effect_rows, inbox, keys, requests, retained, shapes, snapshot_rows, timers, wait_rows
from looms.snapshots.environment import Environment
from looms.snapshots.errors import StoreFormatError
from looms.snapshots.rows import EffectRow, ShapeRow, SnapshotInfo
from looms.snapshots.store import Store
from looms.snapshots.tables import BODIES
from looms.snapshots.timers import TimerKey

HASH, OTHER = b"h" * 16, b"i" * 16


def info(at: int, kind: str = "full", base: int | None = None) -> SnapshotInfo:
    return SnapshotInfo(at, kind, base, {"order": "f1"}, 0)


def test_the_newest_snapshot_at_or_before_a_seq_is_found(store: Store) -> None:
    batch = store.new_batch()
    for run in (6, 7, 8):
        for seq in (256, 512, 768):
            snapshot_rows.put(batch, run, seq, info(seq), b"%d:%d" % (run, seq))
    store.commit(batch)
    with store.view() as view:
        assert snapshot_rows.newest(view, 7, 255) is None
        for seq, expected in ((256, 256), (511, 256), (512, 512), (9_999, 768)):
            found = snapshot_rows.newest(view, 7, seq)
            assert found is not None
            assert (found[0], found[1].bytes) == (expected, 5)
            assert snapshot_rows.body(view, 7, expected) == b"7:%d" % expected
        assert [seq for seq, _ in snapshot_rows.down(view, 7, 600)] == [512, 256]
        assert [seq for seq, _ in snapshot_rows.page(view, 7)] == [256, 512, 768]
        assert [seq for seq, _ in snapshot_rows.page(view, 7, after=256, limit=1)] == [512]
        assert snapshot_rows.count(view, 7) == 3
        assert snapshot_rows.get(view, 7, 512) == SnapshotInfo(512, "full", None, {"order": "f1"}, 5)
        assert snapshot_rows.get(view, 7, 513) is None
        assert snapshot_rows.page(view, 9) == []


def test_a_list_of_snapshots_does_not_look_at_their_bodies(store: Store) -> None:
    batch = store.new_batch()
    snapshot_rows.put(batch, 7, 1, info(5), b"state")
    batch.delete(BODIES, next(iter(batch.changed(BODIES))))
    store.commit(batch)
    with store.view() as view:
        assert [seq for seq, _ in snapshot_rows.page(view, 7)] == [1]
        with pytest.raises(StoreFormatError, match="'run': 7, 'seq': 1"):
            snapshot_rows.body(view, 7, 1)


def test_a_snapshot_can_be_deleted(store: Store) -> None:
    batch = store.new_batch()
    snapshot_rows.put(batch, 7, 1, info(5), b"state")
    snapshot_rows.put(batch, 7, 2, info(6, "delta", 1), b"difference")
    snapshot_rows.delete(batch, 7, 1)
    store.commit(batch)
    with store.view() as view:
        assert snapshot_rows.page(view, 7) == [(2, SnapshotInfo(6, "delta", 1, {"order": "f1"}, 10))]


def test_an_inbox_is_read_oldest_first_and_apart_from_others(store: Store) -> None:
    batch = store.new_batch()
    first = inbox.put(batch, 7, b"a")
    store.commit(batch)
    batch = store.new_batch()
    inbox.put(batch, 8, b"other")
    second, third = inbox.put(batch, 7, b""), inbox.put(batch, 7, b"c")
    with store.view() as view:
        assert inbox.page(batch.over(view), 7) == [(first, b"a"), (second, b""), (third, b"c")]
    store.commit(batch)
    with store.view() as view:
        assert first < second < third
        assert inbox.page(view, 7, after=first, limit=1) == [(second, b"")]
        assert inbox.runs(view) == [7, 8]
        assert inbox.runs(view, after=7) == [8]
        assert inbox.runs(view, limit=1) == [7]
    batch = store.new_batch()
    for n in (first, second, third):
        inbox.delete(batch, 7, n)
    store.commit(batch)
    with store.view() as view:
        assert inbox.page(view, 7) == []
        assert inbox.runs(view) == [8]


def test_waits_are_found_by_hash_alone(store: Store) -> None:
    batch = store.new_batch()
    wait_rows.put(batch, HASH, 8, 1, 0)
    wait_rows.put(batch, HASH, 7, 2, 1)
    wait_rows.put(batch, OTHER, 7, 2, 0)
    store.commit(batch)
    batch = store.new_batch()
    wait_rows.put(batch, HASH, 7, 2, 0)
    wait_rows.delete(batch, HASH, 8, 1, 0)
    with store.view() as view:
        assert wait_rows.find(view, HASH) == [(7, 2, 1), (8, 1, 0)]
        assert wait_rows.find(batch.over(view), HASH) == [(7, 2, 0), (7, 2, 1)]
        assert wait_rows.find(view, b"\xff" * 16) == []
    with pytest.raises(ValueError, match="16 bytes"):
        wait_rows.put(batch, b"short", 1, 1, 1)


def test_shapes_are_counted_and_go_with_the_last_wait(store: Store) -> None:
    plain: shapes.Paths = ()
    by_id: shapes.Paths = (("order_id",),)
    by_place: shapes.Paths = (("lines", 0, "sku"), ("order_id",))
    batch = store.new_batch()
    with store.view() as view:
        reading = batch.over(view)
        assert shapes.change(reading, batch, "shop.paid", by_id, 1) == 1
        assert shapes.change(reading, batch, "shop.paid", by_id, 2) == 3
        assert shapes.change(reading, batch, "shop.paid", by_place, 1) == 1
        assert shapes.change(reading, batch, "shop.paid.late", plain, 1) == 1
    store.commit(batch)
    batch = store.new_batch()
    with store.view() as view:
        assert set(shapes.load(view)) == {
            ShapeRow("shop.paid", by_id, 3),
            ShapeRow("shop.paid", by_place, 1),
            ShapeRow("shop.paid.late", plain, 1),
        }
        assert {shape.paths for shape in shapes.of_type(view, "shop.paid")} == {by_id, by_place}
        assert shapes.of_type(view, "shop") == []
        reading = batch.over(view)
        assert shapes.change(reading, batch, "shop.paid", by_id, -3) == 0
        with pytest.raises(ValueError, match="more were closed than opened"):
            shapes.change(reading, batch, "shop.paid", by_id, -1)
        assert shapes.change(reading, batch, "shop.paid", (("1",),), 1) == 1
        assert shapes.change(reading, batch, "shop.paid", ((1,),), 1) == 1
        assert [shape.paths for shape in shapes.of_type(reading, "shop.paid")] != [by_id]
        shapes.change(reading, batch, "shop.new", plain, 1)
        shapes.change(reading, batch, "shop.new", plain, -1)
    store.commit(batch)
    with store.view() as view:
        assert {shape.paths for shape in shapes.of_type(view, "shop.paid")} == {by_place, (("1",),), ((1,),)}
        assert shapes.of_type(view, "shop.new") == []


def test_timers_come_in_due_order_up_to_the_year_9999(store: Store) -> None:
    last = 253_402_300_799_999
    batch = store.new_batch()
    due = [
        TimerKey(last, 7, 1, 0),
        TimerKey(5, 9, 1, 0),
        TimerKey(5, 8, 3, 1),
        TimerKey(0, 0, 4, 0),
        TimerKey(6, 7, 1, 1),
    ]
    for timer in due:
        timers.put(batch, timer)
    timers.put(batch, TimerKey(-3, 7, 9, 0))  # due long ago
    store.commit(batch)
    with store.view() as view:
        assert timers.first_due(view) == 0
        assert timers.due(view, 5) == [due[3], TimerKey(0, 7, 9, 0), due[2], due[1]]
        assert timers.due(view, 5, limit=1) == [due[3]]
        assert timers.due(view, last - 1)[-1] == due[4]
        assert timers.due(view, last)[-1] == due[0]
        assert timers.due(view, -1) == []
    batch = store.new_batch()
    for timer in (*due, TimerKey(-3, 7, 9, 0)):
        timers.delete(batch, timer)
    store.commit(batch)
    with store.view() as view:
        assert timers.first_due(view) is None


def test_effects_are_paged_over_all_runs(store: Store) -> None:
    rows = {
        (run, seq, index): EffectRow("charge", attempts=seq, error="E" if index else None)
        for run in (7, 8)
        for seq in (1, 2)
        for index in (0, 1)
    }
    batch = store.new_batch()
    for key, row in rows.items():
        effect_rows.put(batch, key, row)
    store.commit(batch)
    with store.view() as view:
        found: list[tuple[effect_rows.EffectKey, object]] = []
        while page := effect_rows.listed(view, after=found[-1][0] if found else None, limit=3):
            found += page
        assert found == list(rows.items())
        assert dict(effect_rows.of_run(view, 7)) == {key: row for key, row in rows.items() if key[0] == 7}
        assert effect_rows.get(view, (7, 2, 1)) == rows[7, 2, 1]
        assert effect_rows.get(view, (7, 2, 2)) is None
    batch = store.new_batch()
    effect_rows.delete(batch, (7, 2, 1))
    store.commit(batch)
    with store.view() as view:
        assert effect_rows.get(view, (7, 2, 1)) is None


def test_idempotency_keys_belong_to_their_run(store: Store) -> None:
    batch = store.new_batch()
    odd = ["\0", "a", "a\0", "ö" * 127, "x" * 255]
    for at, key in enumerate(odd):
        keys.put(batch, 7, key, b"%d" % at)
    keys.put(batch, keys.PUBLICATIONS, "a", b"")
    store.commit(batch)
    with store.view() as view:
        assert [keys.get(view, 7, key) for key in odd] == [b"%d" % at for at in range(len(odd))]
        assert keys.get(view, 8, "a") is None
        assert keys.get(view, keys.PUBLICATIONS, "a") == b""


def test_retained_events_are_found_oldest_first(store: Store) -> None:
    batch = store.new_batch()
    first, second = retained.put(batch, b"a"), retained.put(batch, b"b")
    for n in (second, first):
        retained.index(batch, HASH, n)
    retained.index(batch, OTHER, second)
    store.commit(batch)
    with store.view() as view:
        assert retained.find(view, HASH) == [first, second]
        assert retained.find(view, HASH, limit=1) == [first]
        assert retained.find(view, b"\xff" * 16) == []
        assert [retained.get(view, n) for n in (first, second, 99)] == [b"a", b"b", None]
        assert retained.page(view, after=first) == [(second, b"b")]
    batch = store.new_batch()
    retained.delete(batch, first)
    retained.unindex(batch, HASH, first)
    store.commit(batch)
    with store.view() as view:
        assert retained.find(view, HASH) == [second]
        assert retained.get(view, first) is None


def test_a_request_is_answered_in_the_commit_of_what_it_led_to(store: Store) -> None:
    asking = Environment(store.path)  # a process that is not the host
    one, two = b"1" * 16, b"2" * 16
    requests.ask(asking, two, b"cancel r1")
    requests.ask(asking, one, b"start")
    with store.view() as view:
        assert requests.page(view) == [(one, b"start"), (two, b"cancel r1")]
        assert requests.page(view, after=one) == [(two, b"cancel r1")]
        assert requests.answered(view, one) is None
    batch = store.new_batch()
    requests.answer(batch, one, b"done")
    store.commit(batch)
    with asking.view() as view:
        assert requests.page(view) == [(two, b"cancel r1")]
        assert requests.answered(view, one) == b"done"
        assert requests.answers(view) == [one]
    requests.take_back(asking, one)
    requests.take_back(asking, two)
    with store.view() as view:
        assert requests.page(view) == []
        assert requests.answers(view) == []
    with pytest.raises(ValueError, match="16 bytes"):
        requests.ask(asking, b"short", b"x")
    asking.close()
