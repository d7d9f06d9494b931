"""What a selector selects is recorded without a declared type, and comes back with its types."""

import enum
import threading
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, Generic, NamedTuple, TypeVar
from uuid import UUID

import msgspec
import pytest

from looms import State
from looms.reducers.codec import Unfit, encode, plain
from looms.stores.selecting import select
from looms.stores.values import Recorded, Values
from tests.properties.exact import exact
from tests.properties.laws import effort, holds
from tests.stores.chatroom import Message, Profile
from tests.stores.world import Look, World, looks, selector, worlds


class Colour(enum.Enum):
    RED = "red"


class Point(NamedTuple):
    x: int
    y: int


@dataclass(frozen=True)
class Card:
    title: str


T = TypeVar("T")


class Box(msgspec.Struct, Generic[T], frozen=True):
    inside: T


@dataclass(frozen=True)
class Pair(Generic[T]):
    left: T
    right: T


class Elsewhere(msgspec.Struct, frozen=True):
    name: str


class Everything(State):
    message: Message = Message("")
    profile: Profile = Profile()
    colour: Colour = Colour.RED
    point: Point = Point(0, 0)
    card: Card = Card("")
    messages: Box[Message] = Box(Message(""))
    cards: Box[list[Card]] = Box([])
    colours: Pair[Colour] = Pair(Colour.RED, Colour.RED)


VALUES = Values(Everything)
MOMENT = datetime(2030, 1, 1, tzinfo=UTC)
KEEP: list[Any] = [
    *(None, True, 0, 1.5, "text", b"bytes", MOMENT, MOMENT.replace(tzinfo=None), date(2030, 1, 1), timedelta(1)),
    *(Decimal("1.00"), UUID(int=7), Colour.RED, Point(1, 2), Card("t"), Message("m", takers=["a"]), bytearray(b"raw")),
    *([], (), set(), frozenset(), {}, [[]], [()], ([],), [1, "a", None], [1, (2,)], [(1,), (2,)], (Message("m"),)),
    *({1: "a"}, {"a": 1}, {"a": (1,)}, {Colour.RED: [Point(1, 2)]}, {(1, "a"): None}, {None: 1}, {1: 1, "1": True}),
    *({"a", 1}, frozenset({Point(1, 2), Profile("a")}), [Message("m"), Profile("p"), [Message("n")]]),
    (Profile("ann"), {"m1", "m2"}, MOMENT),
    Everything(message=Message("m")),
    *(Box(Message("m")), Box([Card("t")]), [Box(Message("m")), Box([])], Pair(Colour.RED, Colour.RED)),
    {"a": Box(Message("m"))},
]


@pytest.mark.parametrize("at", range(len(KEEP)))
def test_a_value_comes_back_with_its_types(at: int) -> None:
    value = KEEP[at]
    recorded = VALUES.pack(value)
    stored = Recorded(*plain(encode(recorded)))
    assert exact(VALUES.unpack(stored)) == exact(value)


def test_what_is_plain_is_recorded_as_it_is() -> None:
    for value in (None, "m1", [1, 2], {"a": [None]}, MOMENT):
        assert VALUES.pack(value) == (value, None)
    assert VALUES.pack([Message("m1")] * 3).form == ["list", "Message"]


REFUSED: dict[str, tuple[Any, str]] = {
    "a lock": ([1, threading.Lock()], r"lock cannot be recorded.* - at `\$\[1\]`"),
    "a generator": ((one for one in "ab"), r"generator cannot be recorded.* - at `\$`"),
    "a generic one of something else": (Box(7), r"at `\$.*`"),
    "a class that the state does not have": ({"a": Elsewhere("x")}, r"Elsewhere cannot be recorded.* - at `\$\['a'\]`"),
    "a part of another type": ([Message(7)], r"Expected `str`, got `int` - at `\$\[0\]\.id`"),  # type: ignore[arg-type]
    "a number that is too large": ((2**70,), r"`\$\[0\]`"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_not_come_back_is_refused_with_its_path(name: str) -> None:
    value, message = REFUSED[name]
    with pytest.raises(Unfit, match=message):
        VALUES.pack(value)


def test_what_contains_itself_is_refused() -> None:
    round_and_round: list[Any] = []
    round_and_round.append(round_and_round)
    with pytest.raises(Unfit, match="contains itself"):
        VALUES.pack(round_and_round)


def test_a_class_that_is_gone_is_told() -> None:
    with pytest.raises(Unfit, match="the state's schema has no Gone"):
        VALUES.unpack(Recorded({"id": "m"}, "Gone"))
    with pytest.raises(Unfit, match="no recorded value"):
        VALUES.unpack(Recorded(7, ["list", "Message"]))


@effort(quick=40, long=500)
def test_whatever_is_selected_can_be_recorded(examples: int) -> None:
    values = Values(World)

    @holds(examples, worlds, looks)
    def law(state: World, program: list[Look]) -> None:
        value = select(selector(program), state).value
        assert exact(values.unpack(Recorded(*plain(encode(values.pack(value)))))) == exact(value)
