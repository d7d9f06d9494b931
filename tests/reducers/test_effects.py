"""How often an effect is tried, and how long it waits in between."""

import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looms.reducers.codec import encode
from looms.reducers.effects import Retry
from looms.reducers.errors import InvalidInput
from looms.reducers.modules import Module


def test_delays_grow_to_the_longest() -> None:
    retry = Retry(attempts=9, backoff=0.5, factor=3, max_backoff=10)
    assert [retry.delay(after, 0) for after in range(1, 6)] == [0.5, 1.5, 4.5, 10, 10]


def test_jitter_makes_a_delay_longer_and_never_shorter() -> None:
    retry = Retry(backoff=2, jitter=0.5)
    assert (retry.delay(1, 0), retry.delay(1, 0.5), retry.delay(1, 1)) == (2, 2.5, 3)


def test_a_delay_that_would_overflow_is_the_longest() -> None:
    assert Retry(backoff=1, factor=10, max_backoff=60).delay(100_000, 0) == 60
    assert Retry(backoff=1e300, factor=1e300, max_backoff=60).delay(3, 0) == 1e300


def test_a_longer_backoff_than_the_longest_is_kept() -> None:
    assert [Retry(backoff=3_600, factor=2).delay(after, 0) for after in (1, 2, 3)] == [3_600] * 3


def test_no_backoff_is_no_delay_at_any_attempt() -> None:
    retry = Retry(backoff=0)
    assert [retry.delay(after, 1) for after in (1, 2, 100_000)] == [0, 0, 0]


@given(
    st.builds(
        Retry,
        backoff=st.floats(0, 1e6),
        factor=st.floats(0, 100),
        max_backoff=st.floats(0, 1e6),
        jitter=st.floats(0, 10),
    ),
    st.integers(1, 10_000),
    st.floats(0, 1),
)
def test_a_delay_lies_between_the_backoff_that_was_declared_and_its_jitter(
    retry: Retry, after: int, chance: float
) -> None:
    shortest = retry.delay(after, 0)
    assert 0 <= shortest <= max(retry.max_backoff, retry.backoff)
    assert shortest <= retry.delay(after, chance) <= shortest * (1 + retry.jitter)


@pytest.mark.parametrize("attempts", [0, -1, 1.0, "3", True, None])
def test_attempts_are_a_whole_number_from_1(attempts: Any) -> None:
    with pytest.raises(ValueError, match=r"Retry: attempts=.*; give a whole number from 1") as caught:
        Retry(attempts=attempts)
    assert repr(attempts) in str(caught.value)


@pytest.mark.parametrize("option", ["backoff", "factor", "max_backoff", "jitter", "give_up"])
@pytest.mark.parametrize("value", [-1, -0.001, math.inf, math.nan, "1", True, Decimal(1)])
def test_the_other_options_are_finite_numbers_from_0(option: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"Retry: {option}=.*; give a finite number from 0") as caught:
        Retry(**{option: value})
    assert repr(value) in str(caught.value)


def test_without_a_retry_there_are_three_attempts() -> None:
    made = Module("desk").effect("ship")(lambda request: None)
    assert made.retry == Retry() == Retry(3, 1.0, 2.0, 300, 0.1, None)


def test_a_request_is_what_the_handler_is_annotated_with() -> None:
    module = Module("desk")

    @module.effect("ship")
    async def ship(request: tuple[str, float]) -> None: ...

    assert ship.pack_request(["x", 1]) == (encode(["x", 1]), ("x", 1.0))
    with pytest.raises(InvalidInput, match=r"the request of effect desk\.ship: .*\$\[1\]"):
        ship.pack_request(("x", "one"))


def test_a_handler_without_an_annotation_takes_plain_data() -> None:
    made = Module("desk").effect("ship")(lambda request: None)
    assert made.pack_request({"a": [1]})[1] == {"a": [1]}
    with pytest.raises(InvalidInput, match="tuple would come back as list"):
        made.pack_request((1,))
