"""Laws: what holds for all inputs, tried on many."""

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import SearchStrategy


def effort(quick: int, long: int) -> pytest.MarkDecorator:
    """Try a law on so many inputs; and, with `-m long`, on so many more."""
    return pytest.mark.parametrize(
        "examples", [pytest.param(quick, id="quick"), pytest.param(long, id="long", marks=pytest.mark.long)]
    )


def holds(examples: int, *inputs: SearchStrategy[object]) -> Callable[[Callable[..., None]], None]:
    """Try the decorated law on so many inputs, now."""

    def decorate(law: Callable[..., None]) -> None:
        tried = settings(
            max_examples=examples,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
        )(given(*inputs)(law))
        tried()

    return decorate
