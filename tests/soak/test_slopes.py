"""What the soak takes for flat, and what for growth."""

import random

import pytest

from tests.soak.drawing import line
from tests.soak.slopes import slope, verdict

HOURS = [n / 240 for n in range(240)]


def noisy(values: list[float], seed: int) -> list[float]:
    """The same, with noise, and every tenth sample far off."""
    chance = random.Random(seed)
    return [value + chance.gauss(0, 2) + (200 if chance.random() < 0.1 else 0) for value in values]


@pytest.mark.parametrize("seed", range(5))
def test_noise_and_odd_samples_are_no_growth(seed: int) -> None:
    assert verdict("memory", HOURS, noisy([100.0] * 240, seed), 10, 6).flat


@pytest.mark.parametrize("seed", range(5))
def test_what_grows_steadily_is_seen_through_them(seed: int) -> None:
    found = verdict("memory", HOURS, noisy([100 + 40 * hour for hour in HOURS], seed), 10, 6)
    assert not found.flat
    assert 30 < found.growth < 50


def test_the_beginning_says_nothing() -> None:
    warming = [min(100.0, 300 * hour) for hour in HOURS]
    assert verdict("memory", HOURS, warming, 10, 0).growth == 0


def test_what_shrinks_is_flat() -> None:
    assert verdict("threads", HOURS, [100 - 50 * hour for hour in HOURS], 1, 0).flat


def test_a_growth_that_is_none_is_told_in_absolute_numbers() -> None:
    few = [2.0 + hour for hour in HOURS]
    assert verdict("readers", HOURS, few, 10, 3).flat
    assert not verdict("readers", HOURS, few, 10, 0.5).flat


def test_there_is_no_slope_of_one_point() -> None:
    assert slope([1.0], [5.0]) == 0
    assert slope([1.0, 1.0], [5.0, 6.0]) == 0


def test_samples_are_drawn_from_the_least_to_the_most() -> None:
    assert line([0, 1, 2, 3, 4, 5, 6, 7], 8) == "▁▂▃▄▅▆▇█"
    assert line([3.0] * 20, 10) == "▁" * 10
    assert line([]) == ""
