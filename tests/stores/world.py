"""A state with everything in it, and generated programs that change it and that look at it."""

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

import msgspec
from hypothesis import strategies as st

from looms import State
from looms.stores.kinds import fields_of


class Leaf(msgspec.Struct, frozen=True):
    name: str = ""
    n: int = 0
    flag: bool = False


@dataclass(frozen=True)
class Card:
    title: str = ""
    notes: tuple[str, ...] = ()


class Box(msgspec.Struct, frozen=True, rename="camel"):
    leaf: Leaf = Leaf()
    my_leaves: list[Leaf] = msgspec.field(default_factory=list)
    by_name: dict[str, Leaf] = msgspec.field(default_factory=dict)
    tag: Leaf | None = None
    marks: set[int] = msgspec.field(default_factory=set)
    pair: tuple[int, list[Leaf]] = msgspec.field(default_factory=lambda: (0, []))
    card: Card = Card()


class World(State):
    boxes: list[Box] = msgspec.field(default_factory=list)
    table: dict[int, list[Leaf]] = msgspec.field(default_factory=dict)
    numbers: list[int] = msgspec.field(default_factory=list)
    box: Box = Box()
    status: str = "new"
    anything: Any = None


SHAPE: dict[str, dict[str, str]] = {
    "World": {"boxes": "list Box", "table": "dict leaves", "numbers": "list int", "box": "Box", "anything": "any"},
    "Box": {
        "leaf": "Leaf",
        "my_leaves": "list Leaf",
        "by_name": "dict Leaf",
        "marks": "set int",
        "tag": "Leaf",
        "pair": "pair",
        "card": "Card",
    },
}
"""Where programs go: into which fields, and of which type these are."""

texts = st.sampled_from(["", "a", "b", "ä", "a.b", "x" * 60])
names = st.sampled_from(["a", "b", "c", "\0", "k" * 50])
numbers = st.integers(0, 4)
leaves = st.builds(Leaf, texts, numbers, st.booleans())
cards = st.builds(Card, texts, st.lists(texts, max_size=2).map(tuple))
boxes = st.builds(
    Box,
    leaves,
    st.lists(leaves, max_size=4),
    st.dictionaries(names, leaves, max_size=3),
    st.one_of(st.none(), leaves),
    st.sets(numbers, max_size=3),
    st.tuples(numbers, st.lists(leaves, max_size=2)),
    cards,
)
plain = st.recursive(
    st.one_of(st.none(), numbers, texts, st.booleans()),
    lambda inside: st.one_of(st.lists(inside, max_size=3), st.dictionaries(names, inside, max_size=3)),
    max_leaves=5,
)
worlds = st.builds(
    World,
    st.lists(boxes, max_size=3),
    st.dictionaries(numbers, st.lists(leaves, max_size=3), max_size=3),
    st.lists(numbers, max_size=5),
    boxes,
    texts,
    plain,
)


# Changing: the same program runs on a draft, and on ordinary objects that stand for the state.


class Deed(NamedTuple):
    """A change: the way to what is changed, which change it is, and what with."""

    way: list[int]
    choice: int
    at: int
    leaf: Leaf
    name: str
    other: list[int]
    moves: bool


deeds = st.builds(
    Deed,
    st.lists(st.integers(0, 20), max_size=4),
    st.integers(0, 30),
    st.integers(0, 5),
    leaves,
    names,
    st.lists(st.integers(0, 20), max_size=4),
    st.booleans(),
)
programs = st.lists(deeds, min_size=1, max_size=6)

Make = Callable[[Leaf], Any]


def run(program: list[Deed], state: Any, make: Make) -> None:
    """Run a program on a state that can be changed; ``make`` makes such a leaf."""
    for deed in program:
        part, kind = reached(state, deed.way)
        new = make(deed.leaf)
        other, its_kind = reached(state, deed.other)
        if deed.moves and its_kind == "Leaf":  # an object is put in a second place
            new = other
        CHANGES[kind](part, deed, new)


def reached(state: Any, way: list[int]) -> tuple[Any, str]:
    """A part of a state, and its type, as a row of numbers leads there."""
    part, kind = state, "World"
    for number in way:
        inside: list[tuple[Any, str]] = []
        if kind in SHAPE:
            fields = SHAPE[kind]
            inside = [(getattr(part, name), its) for name, its in fields.items() if getattr(part, name) is not None]
        elif kind == "leaves" or kind.startswith("list "):
            inside = [(item, kind[5:] if kind != "leaves" else "Leaf") for item in part]
        elif kind.startswith("dict "):
            inside = [(value, kind[5:]) for value in part.values()]
        elif kind == "pair":
            inside = [(part[1], "list Leaf")]
        elif kind == "any":
            parts = list(part.values()) if isinstance(part, dict) else list(part) if isinstance(part, list) else []
            inside = [(value, "any") for value in parts if isinstance(value, dict | list)]
        inside = [(value, its) for value, its in inside if its != "int"]
        if not inside:
            break
        part, kind = inside[number % len(inside)]
    return part, kind


def change_leaf(leaf: Any, deed: Deed, new: Any) -> None:
    match deed.choice % 3:
        case 0:
            leaf.name = deed.name
        case 1:
            leaf.n += deed.at
        case 2:
            leaf.flag = not leaf.flag


def change_list(items: Any, deed: Deed, new: Any) -> None:
    at = deed.at % len(items) if items else 0
    match deed.choice % 11:
        case 0 | 1:
            items.append(new)
        case 2:
            items.insert(deed.at, new)
        case 3 if items:
            items.pop()
        case 4 if items:
            del items[at]
        case 5 if items:
            items[at] = new
        case 6:
            items.reverse()
        case 7:
            items.sort(key=lambda leaf: (leaf.n, leaf.name))
        case 8:
            items[deed.at : deed.at + 1] = [new, new]
        case 9:
            items += [new]
        case 10:
            items.clear()


def change_dict(table: Any, deed: Deed, new: Any, key: Any) -> None:
    match deed.choice % 6:
        case 0 | 1:
            table[key] = new
        case 2:
            table.pop(key, None)
        case 3 if table:
            first = next(iter(table))
            table[first] = table.pop(first)
        case 4:
            table.setdefault(key, new)
        case 5 if table:
            table.popitem()


def change_set(members: Any, deed: Deed, new: Any) -> None:
    match deed.choice % 3:
        case 0:
            members.add(deed.at)
        case 1:
            members.discard(deed.at)
        case 2:
            members ^= {deed.at, deed.at + 1}


def change_box(box: Any, deed: Deed, new: Any) -> None:
    match deed.choice % 5:
        case 0:
            box.tag = None
        case 1:
            box.tag = new
        case 2:
            box.leaf = new
        case 3:
            box.my_leaves = [*box.my_leaves, new]
        case 4:
            box.by_name = {deed.name: new, **box.by_name}


def change_any(part: Any, deed: Deed, new: Any) -> None:
    value = [deed.at, {deed.name: [deed.at]}, [[]]][deed.choice % 3]
    match part:
        case list() if deed.choice % 2 or not part:
            part.append(value)
        case list():
            part[deed.at % len(part)] = value
        case dict() if deed.choice % 2 or deed.name not in part:
            part[deed.name] = value
        case dict():
            part[deed.name] = part.pop(deed.name)


def change_world(world: Any, deed: Deed, new: Any) -> None:
    match deed.choice % 7:
        case 5:
            world.anything = {deed.name: [deed.at], "b": {"a": world.anything}}
        case 6:
            world.anything = [world.anything, [deed.at]]
        case 0:
            world.status = deed.name
        case 1:
            world.numbers.append(deed.at)
        case 2 if world.boxes:
            world.boxes.append(world.boxes.pop(0))
        case 3:
            world.numbers[:] = [*world.numbers[1:], deed.at]
        case 4:
            world.table = {deed.at: [new, new], **world.table}


CHANGES: dict[str, Callable[[Any, Deed, Any], None]] = {
    "World": change_world,
    "Box": change_box,
    "Leaf": change_leaf,
    "leaves": change_list,
    "list Leaf": change_list,
    "list Box": lambda boxes, deed, new: boxes.reverse() if deed.choice % 2 else None,
    "list int": lambda numbers, deed, new: numbers.append(deed.at),
    "dict Leaf": lambda table, deed, new: change_dict(table, deed, new, deed.name),
    "dict leaves": lambda table, deed, new: change_dict(table, deed, [new], deed.at),
    "set int": change_set,
    "pair": lambda pair, deed, new: pair[1].append(new),
    "Card": lambda card, deed, new: setattr(card, "title", deed.name),
    "any": change_any,
}


def opened(value: Any) -> Any:
    """A state as ordinary objects that can be changed."""
    if isinstance(value, msgspec.Struct | Card):
        kind: Any = type(value)
        return SimpleNamespace(is_a=kind, **{name: opened(getattr(value, name)) for name in fields_of(kind)})
    if isinstance(value, dict):
        return {key: opened(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(opened, value))
    return set(value) if isinstance(value, set) else value


def closed(value: Any) -> Any:
    """What ordinary objects have become, as a state."""
    if isinstance(value, SimpleNamespace):
        return value.is_a(**{name: closed(part) for name, part in vars(value).items() if name != "is_a"})
    if isinstance(value, dict):
        return {key: closed(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(closed, value))
    return set(value) if isinstance(value, set) else value


# Looking: a program of keys and questions, which answers the same on a state and on what stands for it.

STEPS: dict[str, list[Any]] = {
    "World": ["boxes", "table", "numbers", "box", "status", "anything"],
    "Box": ["leaf", "my_leaves", "by_name", "tag", "marks", "pair", "card"],
    "Leaf": ["name", "n", "flag"],
    "Card": ["title", "notes"],
}
keys: st.SearchStrategy[Any] = st.one_of(numbers, names, st.sampled_from([-1, True, 1.0, 7]))
QUESTIONS: list[Callable[[Any], Any]] = [
    lambda part: part is None,
    lambda part: part,
    bool,
    len,
    list,
    repr,
    lambda part: [one for one in part if one],
    lambda part: part[-1],
    lambda part: part[1:3],
    lambda part: part == Leaf("a", 1),
    lambda part: hash(part) % 7,
    lambda part: isinstance(part, list | tuple | dict | Leaf),
    lambda part: 1 in part,
    lambda part: "a" in part,
    lambda part: Leaf("a", 1) in part,
    lambda part: part.get(1),
    lambda part: part.get("a", "nothing"),
    lambda part: next((one for one in part if one.flag), None),
    lambda part: sorted(part, key=str),
    lambda part: list(part.items()),
    lambda part: dict.fromkeys(part.keys(), 1),
    lambda part: part + part,
    lambda part: part < [3],
    lambda part: f"{part}",
    lambda part: part | {1},
    lambda part: [*part, part],
    lambda part: list(reversed(part)),
]


class Look(NamedTuple):
    way: list[Any]
    fields: list[int]
    question: int


looks = st.lists(
    st.builds(Look, st.lists(keys, max_size=5), st.lists(st.integers(0, 20), max_size=5), st.integers(0, 99)),
    min_size=1,
    max_size=3,
)


def selector(program: list[Look]) -> Callable[[Any], Any]:
    """A selector that asks some questions; later ones only as earlier ones were answered."""

    def select(state: Any) -> Any:
        answers = []
        for look in program:
            answers.append(answer := asked(state, look))
            if answer and not isinstance(answer, str):
                break
        return answers

    return select


def asked(state: Any, look: Look) -> Any:
    part = state
    try:
        for key, number in zip(look.way, look.fields, strict=False):
            steps = STEPS.get(part.__class__.__name__)
            part = getattr(part, steps[number % len(steps)]) if steps else part[key]
        return QUESTIONS[look.question % len(QUESTIONS)](part)
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        return type(error).__name__
