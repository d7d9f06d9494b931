"""Where something is in a state, and how that is stored."""

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from typing import Any
from uuid import UUID

import pytest

from looms.reducers.changes import path_of
from looms.stores.paths import stored, token


class Number(IntEnum):
    ONE = 1


class Text(StrEnum):
    A = "a"


class Colour(Enum):
    RED = "red"


NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)

EQUAL: list[tuple[Any, Any]] = [
    (1, True),
    (1, 1.0),
    (1, Decimal("1.00")),
    (1, Number.ONE),
    (0.0, -0.0),
    (0.5, Decimal("0.5")),
    (2**70, float(2**70)),
    ("a", Text.A),
    (NOON, NOON.astimezone(timezone(timedelta(hours=5)))),
    ((1, "a"), (True, Text.A)),
    (
        datetime.max.replace(tzinfo=timezone(-timedelta(hours=5))),
        datetime.max.replace(tzinfo=timezone(-timedelta(hours=5))),
    ),
]


@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_equal_keys_have_one_token(one: Any, other: Any) -> None:
    assert {one: 0} == {other: 0}
    assert token(one) == token(other)


def test_other_keys_have_others() -> None:
    keys: list[Any] = [
        *("", "a", "b", "ab", "a\0", "a\0b", "x" * 99, "x" * 98 + "y", b"a", None),
        *(0, 1, -1, 255, 256, 2**63, -(2**63), 2**64, 0.5, 1e300, float("inf")),
        *(NOON, NOON.replace(tzinfo=None), NOON.date(), timedelta(1), UUID(int=1), Colour.RED, (1, 2), (1,), ((1,), 2)),
    ]
    tokens = list(map(token, keys))
    assert len(set(tokens)) == len(keys)
    assert not [(a, b) for a in tokens for b in tokens if a != b and b.startswith(a)]


def test_indexes_stand_in_their_order() -> None:
    numbers = [-(2**64) + 1, -70_000, -256, -255, -1, 0, 1, 255, 256, 70_000, 2**64 - 1]
    assert sorted(map(token, numbers)) == list(map(token, numbers))


def test_what_no_dict_could_tell_apart_is_no_error() -> None:
    assert token(float("nan")) == token(Decimal("nan"))
    assert token(object()) == token(frozenset())


def test_a_path_is_its_tokens_and_is_shown_as_msgspec_shows_it() -> None:
    path = ("items", 0, "id")
    assert stored(path) == b"\x02items\0" + b"\x14" + b"\x02id\0"
    assert path_of(path) == "$.items[0].id"
