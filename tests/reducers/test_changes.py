"""A difference says what was added, removed and changed, and leads from the one value to the other."""

from copy import deepcopy
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from looms.reducers.changes import MEMBER, Difference, differences, path_of
from looms.reducers.sameness import same

scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=True) | st.text(max_size=2)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=2), inner, max_size=4),
    max_leaves=20,
)


def applied(value: Any, found: list[Difference]) -> Any:
    """The value with each difference made to it, in order."""
    holder = {"value": deepcopy(value)}
    for difference in found:
        *way, last = ("value", *difference.path)
        place: Any = holder  # a mapping or a list
        for key in way:
            place = place[key]
        match difference.kind:
            case "changed":
                assert same(place[last], difference.before)
                place[last] = difference.after
            case "removed":
                assert same(place.pop(last), difference.before)
            case "added" if isinstance(place, list) and isinstance(last, int):
                place.insert(last, difference.after)
            case "added":
                place[last] = difference.after
    return holder["value"]


@given(values, values)
def test_the_differences_lead_from_one_value_to_the_other(before: Any, after: Any) -> None:
    assert same(applied(before, differences(before, after)), after)


@given(values)
def test_a_value_does_not_differ_from_itself(value: Any) -> None:
    assert differences(value, deepcopy(value)) == []


@given(values, values)
def test_there_is_a_difference_exactly_where_two_values_are_not_the_same(a: Any, b: Any) -> None:
    assert (differences(a, b) == []) == same(a, b)


@pytest.mark.parametrize(("a", "b"), [(True, 1), (1, 1.0), (0.0, -0.0), (None, False), ("1", 1), ([], {})])
def test_values_of_two_kinds_are_not_the_same(a: Any, b: Any) -> None:
    assert differences({"x": a}, {"x": b}) == [Difference(("x",), "changed", a, b)]


def test_nan_is_nan() -> None:
    assert differences([float("nan")], [float("nan")]) == []


def test_an_item_put_first_is_one_addition() -> None:
    assert differences({"items": [2, 3]}, {"items": [1, 2, 3]}) == [Difference(("items", 0), "added", after=1)]


def test_a_field_deep_inside_a_list_is_named_by_its_path() -> None:
    before = {"lines": [{"sku": "a", "n": 1}, {"sku": "b", "n": 1}]}
    after = {"lines": [{"sku": "a", "n": 1}, {"sku": "b", "n": 2}]}
    assert differences(before, after) == [Difference(("lines", 1, "n"), "changed", 1, 2)]


def test_several_removals_are_told_from_the_last_to_the_first() -> None:
    assert [(d.path, d.before) for d in differences([1, 2, 3, 4], [1, 4])] == [((2,), 3), ((1,), 2)]


def test_deep_nesting_takes_no_time_and_no_stack() -> None:
    def nested(inside: Any, depth: int) -> Any:
        for _ in range(depth):
            inside = [inside]
        return inside

    assert len(differences(nested(1, 60), nested(2, 60))) == 1
    assert len(differences(nested(1, 100_000), nested(2, 100_000))) == 1


def told(before: Any, after: Any) -> list[tuple[str, str, Any, Any]]:
    return [(d.kind, path_of(d.path), d.before, d.after) for d in differences(before, after)]


def test_of_a_set_what_was_added_and_what_was_taken_away_is_told() -> None:
    assert differences({"tags": {"a", "b", "c"}}, {"tags": {"c", "b", "d"}}) == [
        Difference(("tags", MEMBER), "removed", "a"),
        Difference(("tags", MEMBER), "added", after="d"),
    ]
    assert told(frozenset({1}), frozenset({True, 1.5})) == [
        ("removed", "$[*]", 1, None),
        ("added", "$[*]", None, True),
        ("added", "$[*]", None, 1.5),
    ]


def test_keys_that_look_alike_are_told_apart() -> None:
    assert told({1: "a", "1": "b"}, {1: "x", "1": "y"}) == [
        ("changed", "$[1]", "a", "x"),
        ("changed", '$["1"]', "b", "y"),
    ]
    assert [one[0] for one in told({1: "a"}, {True: "a"})] == ["removed", "added"]


class Leaf(msgspec.Struct, frozen=True, tag="leaf", rename="camel"):
    the_name: str
    other: int | msgspec.UnsetType = msgspec.UNSET


def test_a_struct_is_told_by_its_fields_as_they_are_stored() -> None:
    assert told({"it": Leaf("a")}, {"it": Leaf("b", 1)}) == [
        ("changed", "$.it.theName", "a", "b"),
        ("added", "$.it.other", None, 1),
    ]


@pytest.mark.parametrize("wrap", [lambda x: [x, 1], lambda x: (x,), lambda x: {"a": x}], ids=["list", "tuple", "dict"])
def test_what_lies_very_deep_is_compared_as_a_whole(wrap: Any) -> None:
    one: Any = 1
    other: Any = 2
    for _ in range(5_000):
        one, other = wrap(one), wrap(other)
    (found,) = differences(one, other)
    assert (found.kind, len(found.path)) == ("changed", 200)
    assert differences(one, one) == []
