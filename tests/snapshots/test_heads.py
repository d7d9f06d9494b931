"""Runs are found by id and by number, and listed in pages as a look at all of them would."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from looms.snapshots import heads
from looms.snapshots.heads import STATUSES, UNFINISHED
from looms.snapshots.rows import Head
from looms.snapshots.store import Store
from looms.snapshots.tables import LISTING
from tests.snapshots.stories import AT, a_store, start, turn

# Names of which some begin like others, and that sort around the separators.
definitions = st.sampled_from(["order", "order.line", "orders", "o", "ö", "\x01", "order\x01"])
statuses = st.sampled_from(STATUSES)
populations = st.lists(st.tuples(definitions, st.lists(statuses, min_size=1, max_size=3)), max_size=30)


def populate(store: Store, population: list[tuple[str, list[str]]]) -> list[Head]:
    """Put runs into a store, each with the statuses that it goes through. Returns their heads at the end."""
    found = []
    batch = store.new_batch()
    for n, (definition, path) in enumerate(population):
        head = start(batch, f"r{n}", definition=definition)
        if n % 3 == 0:
            store.commit(batch)
            batch = store.new_batch()
        for status in path:
            head = turn(batch, head, [b"x"], status)
        found.append(head)
    store.commit(batch)
    return found


@given(populations, st.none() | definitions, st.none() | statuses, st.integers(1, 5))
@settings(max_examples=80, deadline=None)
def test_pages_of_a_list_are_what_a_look_at_all_runs_finds(
    population: list[tuple[str, list[str]]], definition: str | None, status: str | None, limit: int
) -> None:
    with a_store() as store:
        everyone = populate(store, population)
        expected = [
            head for head in everyone if definition in (None, head.definition) and status in (None, head.status)
        ]
        listed: list[Head] = []
        while True:
            with store.view() as view:
                page = heads.list_runs(
                    view, definition, status, after=listed[-1].number if listed else None, limit=limit
                )
            listed += page
            if len(page) < limit:
                break
        assert listed == expected
        with store.view() as view:
            names = {head.definition for head in everyone}
            assert heads.definition_names(view) == sorted(names, key=str.encode)
            assert heads.definitions(view) == {
                name: sum(head.definition == name and head.status in UNFINISHED for head in everyone) for name in names
            }
            assert len(list(view.keys(LISTING))) == len(everyone)


def test_a_run_is_found_by_id_and_number(store: Store) -> None:
    ids = ["r1", " ", "a:b/c", "../x", "\0", "ö" * 127, "x" * 255]
    batch = store.new_batch()
    started = [start(batch, run_id) for run_id in ids]
    store.commit(batch)
    with store.view() as view:
        for run_id, head in zip(ids, started, strict=True):
            assert heads.find(view, run_id) == head
            assert heads.number_of(view, run_id) == head.number
            assert heads.head(view, head.number) == head
        for unknown in ("", "r", "r11", "x" * 256, "x" * 10_000, "\ud800"):
            assert heads.find(view, unknown) is None
        assert heads.head(view, 99) is None


def test_numbers_are_never_given_out_again(store: Store) -> None:
    numbers = []
    for n in range(3):
        batch = store.new_batch()
        numbers += [start(batch, f"{n}:{m}").number for m in range(2)]
        store.commit(batch)
    assert numbers == [1, 2, 3, 4, 5, 6]


def test_the_listing_is_written_only_when_the_status_changes(store: Store) -> None:
    batch = store.new_batch()
    head = start(batch, "r1")
    store.commit(batch)
    batch = store.new_batch()
    turn(batch, head, [b"x"])
    assert LISTING not in [table for table, _, _ in batch.changes()]


def test_a_status_that_is_none_and_a_name_with_nul_are_refused(store: Store) -> None:
    batch = store.new_batch()
    with store.view() as view:
        head = heads.new(view, batch, "r1", "order", AT)
    with pytest.raises(ValueError, match="'paused' is no status; one of running, "):
        heads.put(batch, None, msgspec.structs.replace(head, status="paused"))
    with pytest.raises(ValueError, match="NUL"):
        heads.put(batch, None, msgspec.structs.replace(head, definition="a\0b"))
