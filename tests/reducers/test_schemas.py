"""What tells a stored state of one shape from one of another: names and types of fields, not names of classes."""

import enum
from typing import Any, Literal

import msgspec
import pytest

from looms.reducers.schemas import fingerprint, first_unknown, schema, walk
from looms.reducers.state import State


def state(**fields: Any) -> Any:
    """A class of states with these fields, each with a default."""
    return msgspec.defstruct(
        "Order", [(name, type, None) for name, type in fields.items()], bases=(State,), frozen=True
    )


def line(**fields: Any) -> Any:
    return msgspec.defstruct("Line", list(fields.items()), frozen=True)


class Colour(enum.Enum):
    RED = "red"


class Shade(enum.Enum):
    RED = "red"


class More(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Tree(State):
    left: "Tree | None" = None
    count: int = 0


def test_the_name_and_the_place_of_a_class_mean_nothing() -> None:
    one = msgspec.defstruct("One", [("count", int, 0)], bases=(State,), module="here", frozen=True)
    two = msgspec.defstruct("Two", [("count", int, 7)], bases=(State,), module="there", frozen=True)
    assert fingerprint(one, 1) == fingerprint(two, 1)
    assert fingerprint(state(colour=Colour), 1) == fingerprint(state(colour=Shade), 1)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"count": int}, {"counted": int}),
        ({"count": int}, {"count": float}),
        ({"count": int}, {"count": int | None}),
        ({"count": int}, {"count": int, "name": str}),
        ({"count": int, "name": str}, {"count": int}),
        ({"count": int}, {"count": Any}),
        ({"lines": list[int]}, {"lines": tuple[int, ...]}),
        ({"lines": list[int]}, {"lines": list[str]}),
        ({"lines": tuple[int, str]}, {"lines": tuple[int, str, str]}),
        ({"lines": tuple[tuple[int, str], int]}, {"lines": tuple[int, tuple[str, int]]}),
        ({"by": dict[str, int]}, {"by": dict[int, str]}),
        ({"colour": Colour}, {"colour": More}),
        ({"kind": Literal["a"]}, {"kind": Literal["a", "b"]}),
        ({"line": line(sku=str)}, {"line": line(sku=int)}),
        ({"lines": list[line(sku=str)]}, {"lines": list[line(sku=str, count=int)]}),  # type: ignore[misc]
        ({"line": int | line(sku=str)}, {"line": int | line(sku=bytes)}),
    ],
)
def test_another_shape_has_another_fingerprint(before: dict[str, Any], after: dict[str, Any]) -> None:
    assert fingerprint(state(**before), 1) != fingerprint(state(**after), 1)
    assert fingerprint(state(**before), 1) == fingerprint(state(**before), 1)


def test_another_tag_or_another_version_has_another_fingerprint() -> None:
    one, two = (msgspec.defstruct("Line", [], tag=tag, frozen=True) for tag in ("one", "two"))
    assert fingerprint(state(line=one), 1) != fingerprint(state(line=two), 1)
    assert fingerprint(state(count=int), 1) != fingerprint(state(count=int), 2)


def test_a_fingerprint_is_what_snapshots_hold_already() -> None:
    assert fingerprint(Tree, 1) == "b48310735b240650"


def test_a_type_that_contains_itself_is_walked_once() -> None:
    places = [place for place, _ in walk(schema(Tree))]
    assert places == ["$", "$.left", "$.count", "$.left", "$.left"]
    assert first_unknown(schema(Tree)) is None
