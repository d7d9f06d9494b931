"""What a difference costs, where a law over small values cannot tell."""

import time
from typing import Any

import pytest

from looms.reducers.differences import difference
from looms.reducers.patches import apply
from looms.reducers.places import ANYTHING

DEEP = 150
SECONDS = 5  # it takes some milliseconds; at three times as much a level it would take for ever


def nested(inside: Any, beside: list[Any]) -> Any:
    for _ in range(DEEP):
        inside = [inside, *beside]
    return inside


@pytest.mark.parametrize("beside", [[], [1], [1, 2]])
def test_a_change_in_lists_within_lists_is_found_once_at_each_level(beside: list[Any]) -> None:
    before, after = nested("a", beside), nested("b", beside)
    began = time.perf_counter()
    patch = difference(before, after, ANYTHING)
    assert time.perf_counter() - began < SECONDS
    assert patch is not None
    assert apply(before, patch, ANYTHING) == after
