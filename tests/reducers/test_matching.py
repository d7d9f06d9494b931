"""When does a payload contain a match? The examples; `tests/properties/test_matching.py` holds the rule."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest

from looms.reducers.codec import encode, plain
from looms.reducers.matching import contains, digest, leaves, scalar, shape_of, values_at


@pytest.mark.parametrize(
    ("payload", "match"),
    [
        (1, 1),
        (1, 1.0),
        (1.0, 1),
        (0, -0.0),
        (True, True),
        (None, None),
        ("", ""),
        (b"a", b"a"),
        (2**64 - 1, 2**64 - 1),
        (2.0**53, 2**53),
        ({"a": 1, "b": 2}, {"a": 1}),
        ({"a": 1}, {}),
        ({}, {}),
        ({"a": {"b": 1, "c": 2}, "d": 3}, {"a": {"c": 2}}),
        ({"a": None}, {"a": None}),
        ([1, 2], [1.0, 2]),
        ([], []),
        ([{"a": 1, "b": 2}], [{"a": 1}]),
        ([{"a": 1}], [{}]),
        ({"a": [1, {"b": [None]}]}, {"a": [1, {"b": [None]}]}),
        ({1: "a"}, {1: "a"}),
    ],
)
def test_a_payload_contains_a_part_of_it(payload: Any, match: Any) -> None:
    assert contains(payload, match)
    assert contains({"deep": [payload]}, {"deep": [match]})


@pytest.mark.parametrize(
    ("payload", "match"),
    [
        (1, True),
        (True, 1),
        (1.0, True),
        (0, False),
        (False, 0),
        (0, None),
        (None, False),
        ("", None),
        (None, ""),
        ("1", 1),
        (b"a", "a"),
        ("a", "A"),
        ("n1", 1),
        ("null", None),
        ("true", True),
        (2**53 + 1, 2.0**53),
        (0.1, 0.10000000000000002),
        ({"b": 1}, {"a": 1}),
        ({}, {"a": None}),
        ({"a": {"b": 1}}, {"a": {"b": True}}),
        ([1, 2], [1]),
        ([1], [1, 2]),
        ([1, 2], [2, 1]),
        ([1, True], [1, 1]),
        ([], {}),
        ({}, []),
        ([1], 1),
        (1, [1]),
        ({"a": 1}, [1]),
        ({}, None),
        (None, {}),
        ([], None),
        (0, []),
    ],
)
def test_what_differs_in_value_or_kind_is_not_contained(payload: Any, match: Any) -> None:
    assert not contains(payload, match)
    assert not contains({"deep": [payload]}, {"deep": [match]})


def test_a_moment_is_the_same_in_every_zone() -> None:
    utc = datetime(2024, 1, 1, 12, tzinfo=UTC)
    there = utc.astimezone(timezone(timedelta(hours=5)))
    assert scalar(utc) == scalar(there)
    assert contains({"at": plain(encode(there))}, {"at": plain(encode(utc))})
    assert not contains({"at": utc}, {"at": "2024-01-01T12:00:00Z"})


def test_values_that_look_alike_have_texts_of_their_own() -> None:
    alike = [None, True, False, 1, 0, "1", "null", "true", "n1", "", b"", b"1", "b31", 1.5, "n1.5", float("inf"), "inf"]
    assert len({scalar(value) for value in alike}) == len(alike)
    assert scalar(1) == scalar(1.0) == scalar(plain(encode(1.0)))
    assert scalar(msgspec.msgpack.Ext(1, b"a")) != scalar(msgspec.msgpack.Ext(2, b"a"))


def test_a_match_is_taken_apart_into_its_leaves() -> None:
    match = {"b": {"c": [1, {"d": None}]}, "a": "x", "e": {}, "f": []}
    assert leaves(match) == {("b", "c", 0): "n1", ("b", "c", 1, "d"): "null", ("a",): "sx"}
    shape, values = shape_of(match)
    assert set(shape) == set(leaves(match))
    assert dict(zip(shape, values, strict=True)) == leaves(match)


@pytest.mark.parametrize(
    "payload",
    [
        {"a": [], "b": 2},
        {"a": 1, "b": 2},
        {"a": [[1]], "b": 2},
        {"a": [1]},
        {"a": [1], "b": {}},
        [],
        1,
        {"a": {1: 1}, "b": 2},
    ],
)
def test_nothing_is_found_where_a_payload_has_something_else(payload: Any) -> None:
    shape = (("a", 0), ("b",))
    assert values_at({"a": [1], "b": 2}, shape) == ("n1", "n2")
    assert values_at(payload, shape) is None


def test_text_is_no_list() -> None:
    assert values_at({"a": "xyz"}, (("a", 0),)) is None


def test_a_match_may_have_keys_of_several_kinds() -> None:
    match = {"a": {1: "x", "1": "y", None: "z", b"1": "w", (1, "a"): "v", ("a", 1): "u"}}
    shape, values = shape_of(match)
    assert values_at(match, shape) == values
    assert shape_of({"a": dict(reversed(match["a"].items()))}) == (shape, values)


def test_a_digest_stands_for_a_type_a_shape_and_its_values() -> None:
    one = digest("shop.paid", *shape_of({"a": 1}))
    assert len(one) == 16
    assert one == digest("shop.paid", *shape_of({"a": 1.0}))
    others = [
        digest("shop.settled", *shape_of({"a": 1})),
        digest("shop.paid", *shape_of({"a": True})),
        digest("shop.paid", *shape_of({"a": "1"})),
        digest("shop.paid", *shape_of({"b": 1})),
        digest("shop.paid", *shape_of({"a": {"b": 1}})),
        digest("shop.paid", *shape_of({})),
    ]
    assert len({one, *others}) == 7


def test_a_digest_is_what_stores_hold_already() -> None:
    assert digest("shop.paid", *shape_of({"order": "o1", "amount": 5})).hex() == "d076e4f50dd7821a8e2a2e3dc1831b20"
