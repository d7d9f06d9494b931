"""A removed run leaves nothing, in steps that may stop anywhere."""

from pathlib import Path

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from looms.snapshots import effect_rows, heads, inbox, keys, log, removal, snapshot_rows
from looms.snapshots.rows import EffectRow, Head, SnapshotInfo
from looms.snapshots.store import Store
from tests.snapshots.stories import a_store, contents, everything, start, turn

KEPT = {"meta", "commits", "former"}


def a_life(store: Store, names: list[str], turns: int) -> list[Head]:
    """Give runs a life side by side, with a row in every table that a finished run has rows in."""
    batch = store.new_batch()
    lives = [start(batch, name, [b"a", b"b"]) for name in names]
    store.commit(batch)
    for n in range(turns):
        batch = store.new_batch()
        for at, head in enumerate(lives):
            lives[at] = head = turn(batch, head, [f"{head.run_id}:{n}".encode()] * (n % 3 + 1))
            keys.put(batch, head.number, f"key{n}", b"1")
            if n % 4 == 0:
                snapshot_rows.put(batch, head.number, head.seq, SnapshotInfo(1, "full", None, {"x": "y"}, 0), b"state")
                inbox.put(batch, head.number, b"message")
        store.commit(batch)
    batch = store.new_batch()
    for at, head in enumerate(lives):
        lives[at] = msgspec.structs.replace(head, status="completed")
        heads.put(batch, head, lives[at])
    store.commit(batch)
    return lives


def begin(store: Store, head: Head) -> None:
    batch = store.new_batch()
    removal.begin(batch, head)
    store.commit(batch)


def step(store: Store, number: int, limit: int) -> bool:
    batch = store.new_batch()
    with store.view() as view:
        more = removal.step(view, batch, number, limit)
    store.commit(batch)
    return more


@given(st.integers(0, 40), st.integers(1, 60), st.integers(0, 2), st.integers(0, 30))
@settings(max_examples=25, deadline=None)
def test_all_of_one_run_goes_and_nothing_of_the_others(turns: int, limit: int, which: int, reopened_after: int) -> None:
    with a_store() as store:
        names = ["r0", "r1", "r2"]
        gone = a_life(store, names, turns)[which]
        before = contents(store)
        begin(store, gone)
        steps = 0
        while step(store, gone.number, limit):
            steps += 1
            if steps == reopened_after:
                store.close()
                store = Store(store.path)
            batch = store.new_batch()  # other runs go on meanwhile, also at the end of the log
            start(batch, f"new{steps}", [b"n"] * 5)
            store.commit(batch)
        with store.view() as view:
            for name in names:
                found = heads.find(view, name)
                if name == gone.run_id:
                    assert found is None
                else:
                    assert found is not None
                    rows = list(log.records(view, found))
                    assert len(rows) == found.seq
            for n in range(1, steps + 1):
                new = heads.find(view, f"new{n}")
                assert new is not None
                assert [body for _, body in log.records(view, new)] == [b"n"] * 5
            assert removal.pending(view) == []
            after = everything(view)
        own = gone.number.to_bytes(8)
        for name in ("runs", "extents", "snapshots", "bodies", "inbox", "keys", "effects"):
            assert not [key for key in after[name] if key[:8] == own], name
            assert {key: row for key, row in before[name].items() if key[:8] != own}.items() <= after[name].items()
        lost = {key for key in before["log"] if key not in after["log"]}
        assert len(lost) == gone.seq
        store.close()


def test_a_run_is_out_of_sight_and_its_id_free_as_soon_as_its_removal_begins(store: Store) -> None:
    gone, other = a_life(store, ["r1", "r2"], 5)
    begin(store, gone)
    with store.view() as view:
        assert heads.find(view, "r1") is None
        assert heads.head(view, gone.number) is None
        assert heads.list_runs(view) == [other]
        assert heads.list_runs(view, definition="order", status="completed") == [other]
        assert removal.pending(view) == [gone.number]
    batch = store.new_batch()
    new = start(batch, "r1", [b"reborn"])
    store.commit(batch)
    while step(store, gone.number, 3):
        pass
    with store.view() as view:
        assert heads.find(view, "r1") == new
        assert list(log.records(view, new)) == [(1, b"reborn")]


def test_places_in_the_log_are_not_given_out_again_after_a_removal(folder: Path) -> None:
    with Store(folder) as store:
        (gone,) = a_life(store, ["r1"], 3)
        begin(store, gone)
        while step(store, gone.number, 1):
            pass
        end = store.new_batch().start.position
        assert end == gone.seq + 1
    with Store(folder) as store:
        assert store.new_batch().start.position == end


def test_rows_of_effects_go_too(store: Store) -> None:
    (gone,) = a_life(store, ["r1"], 1)
    batch = store.new_batch()
    effect_rows.put(batch, (gone.number, 1, 0), EffectRow("charge"))
    store.commit(batch)
    begin(store, gone)
    assert not step(store, gone.number, 1_000)
    left = contents(store)
    assert {name for name, rows in left.items() if rows} == KEPT


def test_a_step_for_a_run_that_is_gone_changes_nothing(store: Store) -> None:
    (gone,) = a_life(store, ["r1"], 1)
    begin(store, gone)
    assert not step(store, gone.number, 1_000)
    before = contents(store)
    assert not step(store, gone.number, 1_000)
    assert contents(store) == before
