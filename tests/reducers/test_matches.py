"""What a wait may match, checked when it is made."""

import math
from typing import Any

import pytest

from looms.reducers.errors import InvalidMatch
from looms.reducers.instructions import (
    wait,
)
from tests.reducers.asking import Ordered, Shut


@pytest.mark.parametrize(
    "match",
    [
        {"orderId": "o1"},
        {"lines": [{"sku": "a"}, {}]},
        {"bySku": {"any key": {"count": 1}}},
        {"first": {"sku": "a"}},
        {"first": None},
        {"paidWith": {"type": "cash", "coins": 3}},
        {"paidWith": {"number": "4"}},
        {"note": {"what": {"ever": 1}}},
        {"loose": {"sku": "a"}},
        {"pair": [{"sku": "a"}, 1]},
        {},
        None,
    ],
)
def test_a_match_may_name_whatever_the_event_may_have(match: Any) -> None:
    assert wait(Ordered, match=match).match == (match or {})


@pytest.mark.parametrize(
    ("match", "message"),
    [
        (
            {"order_id": "o1"},
            "shop.ordered has no field 'order_id', so a wait for it could never be met; did you mean 'orderId'?",
        ),
        ({"zzz": 1}, "no field 'zzz', so a wait for it could never be met. It has: orderId, lines,"),
        ({"first": {"skew": 1}}, "no field 'first.skew'"),
        ({"paidWith": {"cheque": 1}}, "no field 'paidWith.cheque'"),
        ({"lines": [{"sku": "a"}, {"skus": 1}]}, "no field 'lines.1.skus'"),
        ({"bySku": {"a": {"skus": 1}}}, "no field 'bySku.a.skus'"),
        ({"pair": [{"skus": 1}, 2]}, "no field 'pair.0.skus'"),
        ({"loose": {"skus": 1}}, "no field 'loose.skus'"),
        ({5: 1}, "no field '5'"),
        ({"orderId": math.nan}, "nan at orderId equals nothing"),
        ({"note": [{"x": math.nan}]}, "nan at note.0.x equals nothing"),
        ({"orderId": object()}, "cannot be encoded"),
        ({"orderId": 2**70}, "cannot be encoded"),
        ({"orderId": "\ud800"}, "cannot be encoded"),
        ("o1", "match='o1' is no mapping"),
        ([], "match=[] is no mapping"),
    ],
)
def test_a_match_that_could_never_be_met_is_refused_with_its_path(match: Any, message: str) -> None:
    with pytest.raises(InvalidMatch) as caught:
        wait(Ordered, match=match)
    assert message in str(caught.value)
    assert "shop.ordered" in str(caught.value)


def test_a_match_must_fit_each_of_the_types() -> None:
    with pytest.raises(InvalidMatch, match=r"shop\.shut has no field 'orderId'.*It has: no fields"):
        wait(Ordered, Shut, match={"orderId": "o1"})


def test_a_match_that_is_nested_too_deeply_is_refused() -> None:
    deep: Any = 1
    for _ in range(5_000):
        deep = [deep]
    for depth_in in ({"note": deep}, {"note": _nest(300)}):
        with pytest.raises(InvalidMatch, match="nested"):
            wait(Ordered, match=depth_in)
    assert wait(Ordered, match={"note": _nest(90)}).match == {"note": _nest(90)}


def _nest(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"in": value}
    return value
