"""Types and values, generated: whatever a state or an event may be declared as."""

import dataclasses
import enum
import uuid
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any, NamedTuple, TypedDict

import msgspec
from hypothesis import strategies as st


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Text(enum.StrEnum):
    RED = "red"


class Number(enum.IntEnum):
    ONE = 1


class Base(msgspec.Struct, frozen=True):
    name: str = ""


class Sub(Base, frozen=True):
    more: int = 0


class Point(NamedTuple):
    x: int
    y: int


class Circle(msgspec.Struct, frozen=True, tag=True):
    radius: float
    label: str | msgspec.UnsetType = msgspec.UNSET


class Square(msgspec.Struct, frozen=True, tag=True):
    side: int
    labels: tuple[str, ...] = ()


class Cell(msgspec.Struct, frozen=True, array_like=True, tag=True, rename="camel"):
    a_name: str
    its_values: tuple[int, ...] = ()


class Node(msgspec.Struct, frozen=True, rename={"name": "n"}):
    name: str = ""
    children: tuple["Node", ...] = ()


class Typed(msgspec.Struct):
    """A type, and values of it."""

    type: Any
    values: st.SearchStrategy[Any]
    hashable: bool = True


zones = st.builds(lambda minutes: timezone(timedelta(minutes=minutes)), st.integers(-720, 720))
ints = st.integers(-(2**63), 2**64 - 1)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
moments = st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31), timezones=st.just(UTC))  # noqa: DTZ001

leaves = st.sampled_from(
    [
        Typed(int, ints),
        Typed(float, st.floats(allow_nan=True)),
        Typed(str, texts),
        Typed(bool, st.booleans()),
        Typed(bytes, st.binary(max_size=6)),
        Typed(None, st.none()),
        Typed(datetime, st.one_of(moments, st.datetimes())),
        Typed(date, st.dates()),
        Typed(time, st.times(timezones=st.one_of(st.none(), zones))),
        Typed(timedelta, st.timedeltas(timedelta(days=-10_000), timedelta(days=10_000))),
        Typed(Decimal, st.decimals(allow_nan=False)),
        Typed(uuid.UUID, st.uuids()),
        Typed(Colour, st.sampled_from(Colour)),
        Typed(Text, st.sampled_from(Text)),
        Typed(Number, st.sampled_from(Number)),
        Typed(Base, st.builds(Base, texts)),
        Typed(Point, st.builds(Point, ints, ints)),
    ]
)

plain_scalars = st.one_of(st.none(), st.booleans(), ints, st.floats(), texts, st.binary(max_size=6), moments)
plain_values = st.recursive(
    plain_scalars,
    lambda inside: st.one_of(st.lists(inside, max_size=3), st.dictionaries(texts, inside, max_size=3)),
    max_leaves=6,
)
labels = st.one_of(st.just(msgspec.UNSET), texts)
circles = st.builds(Circle, st.floats(), labels)
squares = st.builds(Square, ints, st.lists(texts, max_size=2).map(tuple))
nodes = st.recursive(
    st.builds(Node, texts), lambda inside: st.builds(Node, texts, st.lists(inside, max_size=3).map(tuple)), max_leaves=5
)

structs = st.sampled_from(
    [
        Typed(Circle | Square, st.one_of(circles, squares)),
        Typed(Circle | Square | None, st.one_of(circles, squares, st.none())),
        Typed(Cell, st.builds(Cell, texts, st.lists(ints, max_size=3).map(tuple))),
        Typed(Node, nodes),
        Typed(dict[int, str], st.dictionaries(ints, texts, max_size=4), hashable=False),
        Typed(dict[Colour, int], st.dictionaries(st.sampled_from(Colour), ints), hashable=False),
        Typed(dict[tuple[int, str], Node], st.dictionaries(st.tuples(ints, texts), nodes, max_size=3), hashable=False),
        Typed(set[int | str], st.sets(st.one_of(ints, texts), max_size=4), hashable=False),
        Typed(int | float | str | list[int], st.one_of(ints, st.floats(), texts, st.lists(ints)), hashable=False),
    ]
)
anything = Typed(Any, plain_values, hashable=False)


def bigger(inside: st.SearchStrategy[Typed]) -> st.SearchStrategy[Typed]:
    """Types made of others."""
    return st.one_of(
        inside.map(lambda of: Typed(list[of.type], st.lists(of.values, max_size=3), hashable=False)),  # type: ignore[name-defined]
        inside.map(lambda of: Typed(tuple[of.type, ...], st.lists(of.values, max_size=3).map(tuple), of.hashable)),  # type: ignore[name-defined]
        st.tuples(inside, inside).map(
            lambda two: Typed(
                tuple[two[0].type, two[1].type],  # type: ignore[misc]
                st.tuples(two[0].values, two[1].values),
                two[0].hashable and two[1].hashable,
            )
        ),
        inside.map(lambda of: Typed(of.type | None, st.one_of(st.none(), of.values), of.hashable) if of.type else of),
        inside.map(lambda of: Typed(dict[str, of.type], st.dictionaries(texts, of.values, max_size=3), hashable=False)),  # type: ignore[name-defined]
        inside.filter(lambda of: of.hashable).map(
            lambda of: Typed(frozenset[of.type], st.frozensets(of.values, max_size=3))  # type: ignore[name-defined]
        ),
        st.tuples(inside, inside).map(struct),
        st.tuples(inside, inside).map(typed_dict),
        st.tuples(inside, inside).map(dataclass),
    )


def struct(two: tuple[Typed, Typed]) -> Typed:
    made = msgspec.defstruct("Made", [("one", two[0].type), ("two", two[1].type)], frozen=True)
    return Typed(made, st.builds(made, two[0].values, two[1].values), two[0].hashable and two[1].hashable)


def dataclass(two: tuple[Typed, Typed]) -> Typed:
    made = dataclasses.make_dataclass("Made", [("one", two[0].type), ("two", two[1].type)], frozen=True)
    return Typed(made, st.builds(made, two[0].values, two[1].values), two[0].hashable and two[1].hashable)


def typed_dict(two: tuple[Typed, Typed]) -> Typed:
    made: Any = TypedDict("made", {"one": two[0].type, "two": two[1].type})  # type: ignore[misc]
    return Typed(made, st.fixed_dictionaries({"one": two[0].values, "two": two[1].values}), hashable=False)


types = st.recursive(st.one_of(leaves, structs, st.just(anything)), bigger, max_leaves=4)
