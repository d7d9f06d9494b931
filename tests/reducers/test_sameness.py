"""Two values are the same by value and kind, in whatever order a set or a mapping has them."""

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from looms.reducers.sameness import same


class Point(msgspec.Struct, frozen=True):
    x: Any
    y: Any = 0


class Spot(msgspec.Struct, frozen=True):
    x: Any
    y: Any = 0


@dataclass(frozen=True)
class Place:
    at: Any


NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)

ALIKE: list[tuple[Any, Any]] = [
    (None, None),
    (math.nan, float("nan")),
    ({"a": 1, "b": [2]}, {"b": [2], "a": 1}),
    ({"x", "y", "z"}, {"z", "y", "x"}),
    (Point((1, {"a": frozenset({Point(1)})})), Point((1, {"a": frozenset({Point(1)})}))),
    (Place([1]), Place([1])),
    (NOON, datetime(2024, 5, 1, 12, tzinfo=UTC)),
    ({1: {2: 3}}, {1: {2: 3}}),
    ({float("nan"): 1, 2.0: 3}, {2.0: 3, float("nan"): 1}),
    ({float("nan"), 1.0}, {1.0, float("nan")}),
    (frozenset({(float("nan"), 1)}), frozenset({(float("nan"), 1)})),
]

APART: list[tuple[Any, Any]] = [
    (True, 1),
    (1, 1.0),
    (0, False),
    (0.0, -0.0),
    ({float("nan"): 1}, {float("nan"): 2}),
    ({float("nan")}, {1.0}),
    (None, 0),
    ("1", 1),
    (b"a", "a"),
    ([1], (1,)),
    ([1], [1, 1]),
    ([True], [1]),
    ({1}, {True}),
    ({1}, frozenset({1})),
    ({1, 2}, {1, 3}),
    ({1: 2}, {True: 2}),
    ({"a": 1}, {"a": True}),
    ({"a": None}, {"b": None}),
    ({"a": None}, {}),
    (Point(1), Spot(1)),
    (Point(1), Point(1.0)),
    (Point([{"k": {1}}]), Point([{"k": {True}}])),
    (Place(1), Place(True)),
    (frozenset({Point(1)}), frozenset({Point(True)})),
    (Decimal("1.0"), Decimal("1.00")),
    (NOON, NOON + timedelta(microseconds=1)),
]


@pytest.mark.parametrize(("one", "other"), ALIKE, ids=map(str, range(len(ALIKE))))
def test_what_is_the_same(one: Any, other: Any) -> None:
    assert same(one, other)
    assert same([{"in": one}], [{"in": other}])


@pytest.mark.parametrize(("one", "other"), APART, ids=map(str, range(len(APART))))
def test_what_only_looks_the_same(one: Any, other: Any) -> None:
    assert not same(one, other)
    assert not same(other, one)
    assert not same([{"in": one}], [{"in": other}])
