"""Two lists are laid side by side: what was put in and what was taken out is told, not that all behind it has moved."""

from copy import deepcopy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from looms.reducers.alignment import MOST, hunks
from looms.reducers.changes import differences
from looms.reducers.sameness import same
from tests.reducers.test_changes import applied

items = st.lists(st.integers(0, 4), max_size=30)


def told(before: Any, after: Any) -> list[tuple[Any, ...]]:
    return [(found.kind, *found.path, found.before, found.after) for found in differences(before, after)]


def fewest(old: list[int], new: list[int]) -> int:
    """How many items must be added and removed, by the book."""
    row = list(range(len(new) + 1))
    for at, item in enumerate(old, 1):
        above, row = row, [at]
        for other, there in enumerate(new, 1):
            row.append(above[other - 1] if item == there else 1 + min(above[other], row[other - 1]))
    return row[-1]


@given(items, items)
def test_as_few_items_as_can_be_are_added_and_removed(old: list[int], new: list[int]) -> None:
    found = hunks(old, new)
    assert found is not None
    assert sum(hunk.old_end - hunk.old + hunk.new_end - hunk.new for hunk in found) == fewest(old, new)
    made = list(old)
    for hunk in reversed(found):
        made[hunk.old : hunk.old_end] = new[hunk.new : hunk.new_end]
    assert made == new


parts = st.sampled_from([0, 0.0, -0.0, False, [], [0], [[0]], {"a": [1]}, {"a": [1.0]}]).map(deepcopy)


@given(st.lists(parts), st.data())
def test_the_differences_of_long_lists_lead_from_one_to_the_other(before: list[Any], data: st.DataObject) -> None:
    after = [item for item in before if data.draw(st.booleans())]
    for _ in range(data.draw(st.integers(0, 4))):
        after.insert(data.draw(st.integers(0, len(after))), data.draw(parts))
    assert same(applied(before, differences(before, after)), after)


def test_a_few_items_put_in_and_taken_out_of_very_many_are_told_by_themselves() -> None:
    before = tuple(range(300_000))
    gone = {7, 50_000, 50_001, 200_000, 299_990}
    after = [item for item in before if item not in gone]
    after.insert(100, -1)
    after.insert(150_000, -2)
    found = told(before, tuple(after))
    assert [(kind, was) for kind, _, was, _ in found if kind == "removed"] == [
        ("removed", item) for item in sorted(gone, reverse=True)
    ]
    assert [one for one in found if one[0] == "added"] == [("added", 100, None, -1), ("added", 150_000, None, -2)]
    assert len(found) == 7


def test_an_item_that_became_another_one_is_told_by_what_changed_in_it() -> None:
    before = [{"id": n, "sum": 0} for n in range(6)]
    after = [{"id": 9, "sum": 0}, *({**one, "sum": 5 if one["id"] == 3 else 0} for one in before if one["id"] != 5)]
    assert told(before, after) == [
        ("removed", 5, {"id": 5, "sum": 0}, None),
        ("added", 0, None, {"id": 9, "sum": 0}),
        ("changed", 4, "sum", 0, 5),
    ]


def test_lists_that_differ_in_very_many_items_are_compared_place_by_place() -> None:
    many = MOST + 1
    found = told(["a", *range(many)], ["a", *range(many, 2 * many), "z"])
    assert found[0] == ("added", many + 1, None, "z")
    assert [kind for kind, *_ in found[1:]] == ["changed"] * many
