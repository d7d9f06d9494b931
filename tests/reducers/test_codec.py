"""Values come back exactly as they went in; what people write is read as its type."""

import math
import uuid
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any, Literal
from zoneinfo import ZoneInfo

import msgspec
import pytest

from looms.reducers.codec import Codec, Unfit, plain
from tests.properties.exact import exact
from tests.reducers.values import Base, Cart, Colour, Flags, Line, Number, Options, Plain, Point, Text, Tree, back

BERLIN = ZoneInfo("Europe/Berlin")


# What comes back as it was


@pytest.mark.parametrize(
    ("type", "value"),
    [
        (Any, None),
        (Any, {"a": [1, 1.0, True, None, "x", b"x", -0.0]}),
        (Any, {1: "a", "1": "b", None: "c", b"1": "d", 1.5: "e"}),
        (Any, {(1, "a"): 1}),
        (Any, 2**64 - 1),
        (Any, -(2**63)),
        (Any, math.inf),
        (Any, math.nan),
        (float, math.nan),
        (dict[str, Any], {"z": 1, "a": 2}),
        (bytes, b"\x00\xff"),
        (Decimal, Decimal("1.10")),
        (Decimal, Decimal("NaN")),
        (Decimal, Decimal("sNaN")),
        (Decimal, Decimal("-0")),
        (uuid.UUID, uuid.UUID(int=5)),
        (date, date(2024, 2, 29)),
        (time, time(23, 59, 59, 999_999)),
        (time, time(12, tzinfo=timezone(timedelta(hours=2)))),
        (timedelta, timedelta(days=-3, microseconds=7)),
        (timedelta, timedelta(days=999_999)),
        (datetime, datetime(2024, 1, 1, 12, 0, 0, 1, tzinfo=UTC)),
        (datetime, datetime(2024, 1, 1, 12)),  # noqa: DTZ001
        (datetime, datetime.min.replace(tzinfo=UTC)),
        (datetime, datetime.max.replace(tzinfo=UTC)),
        (Any, datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)),
        (Colour, Colour.BLUE),
        (Text, Text.RED),
        (Number, Number.ONE),
        (Flags, Flags.A | Flags.B),
        (Literal["a", 1] | None, 1),
        (Base, Base("x")),
        (Cart, Cart((Line(1.5, Base("x")), Line([1, {"a": None}])), {"x": Line(None)})),
        (Tree, Tree(Tree(Tree()))),
        (Point, Point(1, [2])),
        (Options, {"a": 1}),
        (Plain, Plain("x", {"a": [1]})),
        (list[Plain], [Plain("x"), Plain("y", 1.0)]),
        (set[int], {1, 2}),
        (frozenset[Text], frozenset({Text.RED})),
        (set[Base], {Base("x"), Base("y")}),
        (set[tuple[int, str]], {(1, "a")}),
        (tuple[int, str], (1, "a")),
        (dict[Text, int], {Text.RED: 1}),
        (dict[date, int], {date(2024, 1, 1): 1}),
        (int | str | None, None),
        (msgspec.UnsetType | int, 5),
    ],
)
def test_a_value_of_its_type_comes_back_exactly(type: Any, value: Any) -> None:
    assert exact(back(type, value)) == exact(value)


def test_a_moment_comes_back_as_the_same_moment_whatever_its_zone() -> None:
    for moment in (
        datetime(2024, 7, 1, 12, tzinfo=BERLIN),
        datetime(2024, 10, 27, 2, 30, tzinfo=BERLIN),
        datetime(2024, 10, 27, 2, 30, fold=1, tzinfo=BERLIN),
        datetime(1, 1, 1, 5, tzinfo=timezone(timedelta(hours=5))),
    ):
        for type in (datetime, Any):
            assert back(type, moment).timestamp() == moment.timestamp()


@pytest.mark.parametrize(
    ("type", "given", "decoded"),
    [
        (tuple[int, ...], [1, 2], (1, 2)),
        (tuple[int, str], [1, "a"], (1, "a")),
        (Point, (1, 2), Point(1, 2)),
        (float, 3, 3.0),
        (list[float], [1, 2.5], [1.0, 2.5]),
        (Colour, "red", Colour.RED),
        (Number, 1, Number.ONE),
        (date, "2024-01-01", date(2024, 1, 1)),
        (datetime, "2024-01-01T00:00:00Z", datetime(2024, 1, 1, tzinfo=UTC)),
        (Decimal, "1.50", Decimal("1.50")),
        (uuid.UUID, str(uuid.UUID(int=5)), uuid.UUID(int=5)),
        (set[int], frozenset({1}), {1}),
        (frozenset[int], {1, 2}, frozenset({1, 2})),
    ],
)
def test_what_a_declared_type_asks_for_is_given_at_once(type: Any, given: Any, decoded: Any) -> None:
    assert exact(back(type, given)) == exact(decoded)


# Bytes that are no value


@pytest.mark.parametrize(
    "data", [b"", b"\xc1", b"\x81", b"\xa5abc", b"\xa2\xff\xff", b"\xd9", b"\x01\x02", b"\xc7\x0c\xff"]
)
def test_bytes_that_are_no_value_are_unfit(data: bytes) -> None:
    for type in (Any, Base, list[int], datetime):
        with pytest.raises(Unfit):
            Codec(type, "the test").unpack(data)


def test_plain_data_is_what_the_bytes_hold() -> None:
    data, _ = Codec(Cart, "the test").pack(Cart((Line(Decimal(1) and 1),)))
    assert plain(data) == {"lines": [{"unitPrice": 1, "base": None}], "by_name": {}}


# What people write


def test_json_is_read_as_the_type() -> None:
    codec: Codec[Any] = Codec(Cart, "the test")
    assert codec.from_json(b'{"lines": [{"unitPrice": 1.5, "base": {"name": "x"}}]}') == Cart((Line(1.5, Base("x")),))
    assert Codec(dict[Text, bytes], "the test").from_json(b'{"red": "eA=="}') == {Text.RED: b"x"}
    for data, place in (
        (b'{"lines": [{"base": 5}]}', "$.lines[0]"),
        (b'{"lines": {}}', "$.lines"),
        (b"{", ""),
        (b"\xff", ""),
    ):
        with pytest.raises(Unfit) as caught:
            codec.from_json(data)
        assert place in str(caught.value)
    with pytest.raises(Unfit):
        Codec(Any, "the test").from_json(b"[" * 100_000)


def test_plain_data_is_read_as_the_type() -> None:
    codec: Codec[Any] = Codec(Cart, "the test")
    assert codec.from_plain({"lines": [{"unitPrice": 1, "base": {"name": "x"}}]}) == Cart((Line(1, Base("x")),))
    for value in ({"lines": 5}, [], object(), {"by_name": {"a": 1}}):
        with pytest.raises(Unfit):
            codec.from_plain(value)
