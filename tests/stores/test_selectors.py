"""Selectors: they look, and everything that can be read works on what they are given."""

import copy
import functools
import operator
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
import pytest

import looms
from looms import State
from looms.stores.errors import NotPure
from looms.stores.replacing import replace
from looms.stores.selecting import select
from tests.stores.chatroom import TWO, Conversation, Message, Profile


class Point(NamedTuple):
    x: int
    count: list[int]  # type: ignore[assignment] # tuples have that name for something else

    def double(self) -> int:
        return self.x * 2


@dataclass
class Card:
    title: str

    @property
    def shout(self) -> str:
        return self.title.upper()


class Bag(msgspec.Struct, frozen=True):
    things: list[str]
    LIMIT = 3

    def __len__(self) -> int:
        return len(self.things)

    def __contains__(self, thing: object) -> bool:
        return thing in self.things

    @property
    def first(self) -> str:
        return self.things[0]

    def joined(self, by: str = ",") -> str:
        return by.join(self.things)

    @classmethod
    def empty(cls) -> "Bag":
        return cls([])


class Cell(msgspec.Struct, frozen=True, array_like=True, tag=True, rename="camel"):
    a_name: str = "n"
    its_values: tuple[int, ...] = (1, 2)


class Lazy(msgspec.Struct, frozen=True, dict=True):
    n: int = 2

    @functools.cached_property
    def square(self) -> int:
        return self.n * self.n

    def __getattr__(self, name: str) -> str:
        return f"no {name}"


class Odd(State):
    cell: Cell = Cell()
    lazy: Lazy = Lazy()
    bag: Bag = Bag(["a", "b"])
    point: Point = Point(3, [1, 2])
    card: Card = msgspec.field(default_factory=lambda: Card("hi"))
    pair: tuple[int, list[int]] = (1, [2])
    frozen: frozenset[str] = frozenset({"f"})
    raw: bytearray = msgspec.field(default_factory=lambda: bytearray(b"raw"))
    grid: list[list[int]] = msgspec.field(default_factory=lambda: [[1, 2], [3]])
    table: dict[str, list[int]] = msgspec.field(default_factory=lambda: {"a": [1]})


def matched(state: Any) -> Any:
    match state:
        case Conversation(messages=[Message(id=first), Message() as second], labels={"a": label, **rest}, tag=None):
            return first, second.id, label, rest
    return None


READS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "match": (matched, ("m1", "m2", "a", {"b": "b"})),
    "sorted": (lambda s: [m.id for m in sorted(s.messages, key=lambda m: m.id, reverse=True)], ["m2", "m1"]),
    "slices": (lambda s: s.messages[:1], [Message("m1")]),
    "sums of lists": (
        lambda s: [Message("m0")] + s.messages + [Message("m3")],  # noqa: RUF005 - the sum is what is tried
        [Message(f"m{n}") for n in range(4)],
    ),
    "a dict of it": (lambda s: dict(enumerate(s.messages)), {0: Message("m1"), 1: Message("m2")}),
    "two stars": (lambda s: {**s.labels, "c": "c"}, {"a": "a", "b": "b", "c": "c"}),
    "joined": (lambda s: ",".join(s.labels), "a,b"),
    "in": (lambda s: (Message("m1") in s.messages, s.messages[0] in s.messages, "z" in s.labels), (True, True, False)),
    "views": (lambda s: (list(s.labels.items()), s.labels.keys() & {"a"}), ([("a", "a"), ("b", "b")], {"a"})),
    "format": (lambda s: f"{s.counter:03} {s.profile} {s.messages[:0]!r}", f"000 {Profile()} []"),
    "classes": (
        lambda s: (isinstance(s, Conversation), isinstance(s.tags, set), s.profile.__class__),
        (True, True, Profile),
    ),
    "a hash": (lambda s: {s.profile: 1}, {Profile(): 1}),
    "index": (lambda s: (s.messages.index(Message("m2")), s.messages.count(Message("m2"))), (1, 1)),
    "sets": (
        lambda s: (s.tags | {"x"}, {"x"} - s.tags, s.tags.union(["y"]), s.tags <= {"a"}),
        ({"t", "x"}, {"x"}, {"t", "y"}, False),
    ),
    "reversed": (lambda s: [m.id for m in reversed(s.messages)], ["m2", "m1"]),
    "copies": (
        lambda s: (copy.copy(s.messages), copy.deepcopy(s.profile), s.labels.copy()),
        ([*TWO.messages], Profile(), TWO.labels),
    ),
    "replace": (lambda s: replace(s.messages[0], processed=True), Message("m1", processed=True)),
    "a new struct around it": (
        lambda s: Conversation(profile=s.profile, messages=s.messages),
        Conversation(messages=TWO.messages),
    ),
    "pickled": (lambda s: pickle.loads(pickle.dumps(s.messages)), TWO.messages),
    "in order": (lambda s: max(s.messages, key=lambda m: m.id) != s.messages[0], True),
    "unpacked": (lambda s: (lambda first, *rest: first)(*s.messages), Message("m1")),
    "get": (lambda s: (s.labels.get("a"), s.labels.get("z", 1), s.labels.get("z")), ("a", 1, None)),
}


@pytest.mark.parametrize("name", READS)
def test_everything_that_can_be_read_works(name: str) -> None:
    selector, answer = READS[name]
    selected = select(selector, TWO).value
    assert selected == answer == selector(TWO)
    assert type(selected) is type(answer)


ODD: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "methods": (
        lambda s: (s.bag.joined("-"), s.bag.first, len(s.bag), "a" in s.bag, s.bag.LIMIT),
        ("a-b", "a", 2, True, 3),
    ),
    "arrays": (lambda s: (s.cell.a_name, s.cell.its_values[1], s.cell), ("n", 2, Cell())),
    "what a class makes up": (lambda s: (s.lazy.square, s.lazy.other, s.lazy), (4, "no other", Lazy())),
    "classmethods": (lambda s: s.bag.empty(), Bag([])),
    "named tuples": (
        lambda s: (s.point.x, s.point[1][0], s.point.count, s.point.double(), s.point == Point(3, [1, 2])),
        (3, 1, [1, 2], 6, True),
    ),
    "dataclasses": (lambda s: (s.card.shout, s.card == Card("hi"), s.card), ("HI", True, Card("hi"))),
    "tuples": (
        lambda s: (s.pair[0], s.pair[1][0], (*s.pair, 3), operator.add(s.pair, (3,)), isinstance(s.pair, tuple)),
        (1, 2, (1, [2], 3), (1, [2], 3), True),
    ),
    "nested lists": (lambda s: [n for row in s.grid for n in row], [1, 2, 3]),
    "frozen sets and bytes": (lambda s: (s.frozen, s.raw), (frozenset({"f"}), bytearray(b"raw"))),
}


@pytest.mark.parametrize("name", ODD)
def test_classes_of_the_users_own_are_what_they_are(name: str) -> None:
    selector, answer = ODD[name]
    assert select(selector, Odd()).value == answer


def test_what_is_selected_is_the_callers_own() -> None:
    state = Odd()
    everything = select(lambda s: s, state).value
    assert everything == state
    assert type(everything) is Odd
    assert type(everything.point) is Point
    assert everything.frozen is state.frozen
    everything.bag.things.clear()
    everything.point.count.clear()
    everything.pair[1].clear()
    everything.raw.clear()
    everything.grid[0].clear()
    everything.table["a"].clear()
    everything.card.title = "gone"
    assert state == Odd()


CHANGES: list[Callable[[Any], Any]] = [
    lambda s: setattr(s, "status", "working"),
    lambda s: delattr(s, "status"),
    lambda s: setattr(s.messages[0], "processed", True),
    lambda s: s.messages.append(Message(id="m3")),
    lambda s: s.messages.sort(key=lambda m: m.id),
    lambda s: s.messages.__delitem__(0),
    lambda s: s.messages.__setitem__(0, Message("x")),
    lambda s: s.messages.__iadd__([]),
    lambda s: s.messages[0].takers.append("me"),
    lambda s: s.labels.update(a="b"),
    lambda s: s.labels.__setitem__("a", "b"),
    lambda s: s.labels.setdefault("a", "b"),
    lambda s: s.labels.pop("a"),
    lambda s: s.tags.add("a"),
    lambda s: s.tags.discard("a"),
    lambda s: [m for m in s.messages][0].takers.clear(),  # noqa: C416, RUF015
]


@pytest.mark.parametrize("selector", CHANGES)
def test_a_selector_changes_nothing(selector: Callable[[Any], Any]) -> None:
    state = msgspec.convert(msgspec.to_builtins(TWO), Conversation)
    with pytest.raises(NotPure, match=r"selector .*<lambda> changed `\$") as refused:
        select(selector, state)
    assert refused.value.what.startswith("selector ")
    assert isinstance(refused.value, looms.LoomsError)
    assert state == TWO


def test_a_selector_that_hides_its_change_is_refused_too() -> None:
    def hides(state: Any) -> bool:
        try:
            state.counter = 1
        except NotPure:
            return False
        return True

    with pytest.raises(NotPure, match=r"hides changed `\$\.counter`"):
        select(hides, TWO)


async def no_selector(state: Any) -> Any:
    return state.counter


def yields(state: Any) -> Any:
    yield state.counter


@pytest.mark.parametrize("selector", [no_selector, lambda state: no_selector(state)])
def test_an_async_selector_is_refused(selector: Any) -> None:
    with pytest.raises(NotPure, match=r"async|await"):
        select(selector, TWO)


def test_a_generator_function_is_no_selector() -> None:
    with pytest.raises(NotPure, match=r"yields is a generator"):
        select(yields, TWO)


def test_what_is_read_after_the_selector_has_returned_says_so() -> None:
    kept: list[Any] = []
    select(lambda s: kept.append(s.messages), TWO)
    with pytest.raises(NotPure, match=r"over, and a part of the state was read afterwards"):
        next(iter(kept[0]))


LATER: list[Callable[[Any], Any]] = [
    lambda s: (m.id for m in s.messages),
    lambda s: map(len, s.messages),
    lambda s: reversed(s.messages),
    lambda s: s.labels.keys(),
    lambda s: s.labels.values(),
    lambda s: s.labels.items(),
    lambda s: {"a": [s.labels.keys()]},
    lambda s: (1, iter(s.tags)),
]


@pytest.mark.parametrize("selector", LATER)
def test_what_would_be_read_afterwards_is_refused_at_once(selector: Any) -> None:
    with pytest.raises(NotPure, match=r"selector .*<lambda> selected a \w+, which would be .* a list rather than"):
        select(selector, TWO)


def test_what_a_selector_raises_is_its_callers() -> None:
    with pytest.raises(KeyError, match="nowhere"):
        select(lambda s: s.labels["nowhere"], TWO)
    with pytest.raises(IndexError):
        select(lambda s: s.messages[7], TWO)
    with pytest.raises(AttributeError, match="'Conversation' object has no attribute 'colour'"):
        select(lambda s: s.colour, TWO)
