"""What would not come back as it went in is refused, with its place."""

import dataclasses
import uuid
from collections import Counter, OrderedDict, defaultdict
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Literal

import msgspec
import pytest

from looms.reducers.codec import Codec, Unfit, declared
from looms.reducers.errors import ModuleError
from tests.reducers.values import Base, Cart, Colour, Flags, Line, Number, Options, Plain, Point, Text, Tree, back


class Sub(Base, frozen=True):
    more: int = 0


@dataclasses.dataclass(frozen=True)
class MorePlain(Plain):
    extra: int = 0


class Words(list[str]):
    pass


class Shade(str):
    pass


def problem(type: Any, value: Any) -> str:
    """Why a value is refused."""
    with pytest.raises(Unfit) as caught:
        Codec(type, "the test").pack(value)
    return str(caught.value)


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


def test_a_type_that_does_not_store_its_defaults_is_refused_where_it_is_declared() -> None:
    """With another default, what was recorded would be another thing."""
    sparing = msgspec.defstruct("Sparing", [("cents", int, 100)], omit_defaults=True)
    for type, place in ((sparing, "`$`"), (dict[str, tuple[sparing, ...]], "`$[...][...]`")):  # type: ignore[valid-type]
        with pytest.raises(ModuleError, match="omit_defaults") as caught:
            declared(type, "the request of effect shop.charge")
        assert "the request of effect shop.charge" in str(caught.value)
        assert place in str(caught.value)
