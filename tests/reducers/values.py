"""Types that tests of the codec have values of."""

import dataclasses
import enum
from typing import Any, NamedTuple, TypedDict

import msgspec

from looms.reducers.codec import Codec
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


def back(type: Any, value: Any) -> Any:
    """The value as it comes back, both at once and from its bytes later."""
    codec: Codec[Any] = Codec(type, "the test")
    data, decoded = codec.pack(value)
    assert exact(codec.unpack(data)) == exact(decoded)
    return decoded
