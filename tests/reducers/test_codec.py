"""Values come back as exactly what they were, or they are refused with the place: nothing in between."""

import dataclasses
import enum
import math
import uuid
from collections import Counter, OrderedDict, defaultdict
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any, Literal, NamedTuple, TypedDict
from zoneinfo import ZoneInfo

import msgspec
import pytest

from looms.reducers.codec import Codec, Unfit, plain
from looms.reducers.errors import ModuleError
from tests.properties.exact import exact


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Text(enum.StrEnum):
    RED = "red"


class Number(enum.IntEnum):
    ONE = 1


class Flags(enum.IntFlag):
    A = 1
    B = 2


class Base(msgspec.Struct, frozen=True):
    name: str


class Sub(Base, frozen=True):
    more: int = 0


class Line(msgspec.Struct, frozen=True, rename="camel"):
    unit_price: Any
    base: Base | None = None


class Cart(msgspec.Struct, frozen=True):
    lines: tuple[Line, ...] = ()
    by_name: dict[str, Line] = {}


class Tree(msgspec.Struct, frozen=True):
    left: "Tree | None" = None


class Point(NamedTuple):
    x: int
    y: Any = 0


class Options(TypedDict, total=False):
    a: int
    b: Any


@dataclasses.dataclass(frozen=True)
class Plain:
    name: str
    body: Any = None


@dataclasses.dataclass(frozen=True)
class MorePlain(Plain):
    extra: int = 0


class Words(list[str]):
    pass


class Shade(str):
    pass


BERLIN = ZoneInfo("Europe/Berlin")


def back(type: Any, value: Any) -> Any:
    """The value as it comes back, both at once and from its bytes later."""
    codec: Codec[Any] = Codec(type, "the test")
    data, decoded = codec.pack(value)
    assert exact(codec.unpack(data)) == exact(decoded)
    return decoded


def problem(type: Any, value: Any) -> str:
    """Why a value is refused."""
    with pytest.raises(Unfit) as caught:
        Codec(type, "the test").pack(value)
    return str(caught.value)


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


# What would change without a word


@pytest.mark.parametrize(
    "value",
    [
        (1, 2),
        [(1, 2)],
        {"a": (1,)},
        {1, 2},
        frozenset(),
        Colour.RED,
        Text.RED,
        Number.ONE,
        Flags.A | Flags.B,
        {Text.RED: 1},
        {"a": Number.ONE},
        datetime(2024, 1, 1),  # noqa: DTZ001
        date(2024, 1, 1),
        time(1),
        timedelta(1),
        Decimal(1),
        uuid.UUID(int=1),
        Base("x"),
        Plain("x"),
        Point(1, 2),
        bytearray(b"x"),
        memoryview(b"x"),
        OrderedDict(a=1),
        Counter("a"),
        defaultdict(int),
        Words(["x"]),
        msgspec.msgpack.Ext(-1, b"\x00\x00\x00\x01"),
    ],
)
def test_what_any_would_bring_back_as_something_else_is_refused(value: Any) -> None:
    for type, given in ((Any, value), (dict[str, Any], {"k": value}), (Line, Line(value)), (Plain, Plain("x", value))):
        assert "would come back" in problem(type, given)
    assert "would come back" in problem(Point, Point(1, value))
    assert "would come back" in problem(Options, {"b": value})


@pytest.mark.parametrize(
    ("type", "value"),
    [
        (Base, Sub("x", 5)),
        (Line, Line(1, Sub("x", 5))),
        (list[Base], [Base("x"), Sub("x")]),
        (set[Base], {Sub("x")}),
        (dict[str, Base], {"a": Sub("x")}),
        (Plain, MorePlain("x")),
        (list[Plain], [MorePlain("x")]),
        (str, Text.RED),
        (list[str], [Text.RED]),
        (int, Number.ONE),
        (set[str], {Text.RED}),
        (set[Any], {Colour.RED}),
        (set[Any], {Text.RED}),
        (set[Any], {Number.ONE, "a"}),
        (dict[str, int], {Text.RED: 1}),
        (dict[str, int], OrderedDict(a=1)),
        (dict[str, int], Counter("a")),
        (list[str], Words(["x"])),
        (tuple[int, ...], Point(1, 2)),
        (list[int], (1, 2)),
        (list[int], {1, 2}),
        (bytes, bytearray(b"x")),
        (Literal["red"], Text.RED),
        (Options, {"a": 1, "zzz": 2}),
        (float, 2**53 + 1),
        (frozenset[int], [1, 2]),
        (frozenset[frozenset[int]], [[]]),
        (Base, {"name": "x"}),
        (Plain, {"name": "x"}),
        (Any, msgspec.Raw(b"\x01")),
    ],
)
def test_what_a_declared_type_would_bring_back_as_something_else_is_refused(type: Any, value: Any) -> None:
    assert "would come back" in problem(type, value)


@pytest.mark.parametrize(
    ("type", "value"),
    [
        (int, True),
        (bool, 1),
        (int, 1.0),
        (int, "1"),
        (str, 1),
        (str, b"x"),
        (bytes, "eA=="),
        (float, True),
        (float, "1"),
        (None, 0),
        (Base, Line("x")),
        (Base, None),
        (Colour, "green"),
        (date, 5),
        (tuple[int, str], (1,)),
        (Literal["a"], "b"),
        (Any, object()),
        (Any, Shade("x")),
        (Any, 2**64),
        (Any, 1j),
        (Any, "\ud800"),
        (Any, msgspec.UNSET),
        (str, Shade("x")),
    ],
)
def test_what_does_not_fit_is_refused(type: Any, value: Any) -> None:
    assert problem(type, value)


# The place


@pytest.mark.parametrize(
    ("type", "value", "place"),
    [
        (Any, (1,), "`$`"),
        (Any, {"a": [1, {"b": (1,)}]}, "`$['a'][1]['b']`"),
        (Any, {"a": 1, Text.RED: 2}, "`$[...]`"),
        (Any, {"a": [1, object()]}, "`$['a'][1]`"),
        (Any, {"a": {1: 2**70}}, "`$['a'][1]`"),
        (Any, {"a": ["\ud800"]}, "`$['a'][0]`"),
        (Any, {object(): 1}, "`$[...]`"),
        (Cart, Cart((Line(1), Line((1,)))), "`$.lines[1].unit_price`"),
        (Cart, Cart((Line(1), Line(1, Sub("x")))), "`$.lines[1].base`"),
        (Cart, Cart((), {"x": Line(object())}), "`$.by_name['x'].unit_price`"),
        (Cart, Cart((Line(1, Base(5)),)), "`$.lines[0].base.name`"),  # type: ignore[arg-type]
        (list[Plain], [Plain("x"), Plain("y", (1,))], "`$[1].body`"),
        (list[Plain], [Plain("x"), Plain("y", object())], "`$[1].body`"),
        (set[Any], {Colour.RED}, "`$[...]`"),
        (Point, Point(1, {2}), "`$[1]`"),
    ],
)
def test_the_place_of_what_does_not_fit_is_told(type: Any, value: Any, place: str) -> None:
    assert problem(type, value).endswith(f" - at {place}")


def test_what_is_there_and_what_would_come_back_is_told() -> None:
    assert problem(Any, {"a": (1,)}) == ("tuple would come back as list; declare the type that it has - at `$['a']`")


# Nested and endless things


def nest(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def test_a_value_that_contains_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert "nested" in problem(Any, {"a": loop})
    assert "nested" in problem(list[Any], loop)


@pytest.mark.parametrize("levels", [201, 400, 700, 950, 5_000, 100_000])
def test_a_value_that_is_nested_too_deeply_is_refused_at_any_depth(levels: int) -> None:
    assert "nested" in problem(Any, nest(levels))


def test_a_type_that_contains_itself_is_held_to_the_same_depth() -> None:
    tree = Tree()
    for _ in range(150):
        tree = Tree(tree)
    assert back(Tree, tree) == tree
    for _ in range(150):
        tree = Tree(tree)
    assert "nested" in problem(Tree, tree)


def test_two_hundred_levels_are_not_too_deep() -> None:
    assert back(Any, nest(200)) == nest(200)


def test_the_place_is_told_however_deep() -> None:
    value: Any = object()
    for _ in range(150):
        value = [value]
    assert problem(Any, value).endswith("[0]`")


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


# Types that cannot be declared


class Handle:
    pass


@pytest.mark.parametrize(
    ("type", "place"),
    [
        (Handle, "`$`"),
        (list[Handle], "`$[...]`"),
        (dict[str, tuple[int, Handle]], "`$[...][1]`"),
        (complex, "`$`"),
        (msgspec.defstruct("Holder", [("handle", Handle)]), "`$.handle`"),
        (Any | Handle, "`$`"),
    ],
)
def test_a_type_that_cannot_be_checked_is_refused_where_it_is_declared(type: Any, place: str) -> None:
    with pytest.raises(ModuleError) as caught:
        Codec(type, "the input of reducer shop.order")
    assert "the input of reducer shop.order" in str(caught.value)
    assert place in str(caught.value)


@pytest.mark.parametrize("type", [Base | Sub, int | Number, list[int] | tuple[int, ...], "NoSuchType"])
def test_a_type_that_cannot_be_told_apart_is_refused_where_it_is_declared(type: Any) -> None:
    with pytest.raises(ModuleError, match=r"the input of reducer shop\.order: "):
        Codec(type, "the input of reducer shop.order")
