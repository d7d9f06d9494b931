"""Drafts: a frozen state that takes ordinary changes, and shares with the new one what did not change."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
import pytest

from looms import State
from looms.stores.drafts import draft_of, finish
from looms.stores.errors import InvalidState, NotPure
from looms.stores.replacing import replace
from tests.stores.chatroom import TWO, Conversation, Message, Profile


def after(change: Callable[[Any], Any], state: Any = TWO) -> Any:
    draft = draft_of(state)
    change(draft)
    return finish(draft).state


def test_a_draft_takes_changes_at_any_depth_and_shares_the_rest() -> None:
    def finish_all(draft: Any) -> None:
        message = next(m for m in draft.messages if m.id == "m1")
        message.processed = True
        message.takers.append("ann")
        draft.messages.append(Message(id="m3"))
        draft.status = "working"
        draft.profile.name = "ann"
        draft.labels["topic"] = "looms"
        draft.tags.add("new")
        draft.counter += 1

    made = after(finish_all)
    assert made == Conversation(
        messages=[Message("m1", processed=True, takers=["ann"]), Message("m2"), Message("m3")],
        status="working",
        profile=Profile(name="ann"),
        labels={"a": "a", "b": "b", "topic": "looms"},
        tags={"t", "new"},
        counter=1,
    )
    assert type(made.messages) is list
    assert type(made.messages[0]) is Message
    assert made.messages[1] is TWO.messages[1]
    assert made.tag is TWO.tag
    assert Conversation(messages=[Message("m1"), Message("m2")], labels={"a": "a", "b": "b"}, tags={"t"}) == TWO


def test_where_nothing_changed_it_is_the_same_object() -> None:
    assert after(lambda draft: None) is TWO
    assert after(lambda draft: [m.takers for m in draft.messages]) is TWO
    assert after(lambda draft: setattr(draft, "status", "idle")) is TWO
    assert after(lambda draft: draft.labels.update(a="a")) is TWO
    assert after(lambda draft: setattr(draft, "messages", draft.messages)) is TWO
    assert after(lambda draft: setattr(draft, "tag", Profile())).messages is TWO.messages


def test_a_draft_says_where_it_was_written() -> None:
    draft = draft_of(TWO)
    draft.messages[1].processed = True
    draft.status = "idle"
    draft.labels.pop("a")
    draft.tags.add("x")
    assert set(finish(draft).written) == {("messages", 1, "processed"), ("status",), ("labels", "a"), ("tags",)}


LISTS: list[Callable[[Any], Any]] = [
    lambda items: items.append(9),
    lambda items: items.extend([7, 8]),
    lambda items: items.extend(items),
    lambda items: items.insert(1, 9),
    lambda items: items.insert(-1, 9),
    lambda items: items.remove(1),
    lambda items: items.pop(),
    lambda items: items.pop(0),
    lambda items: items.pop(-2),
    lambda items: items.clear(),
    lambda items: items.reverse(),
    lambda items: items.sort(),
    lambda items: items.sort(key=lambda item: -item, reverse=True),
    lambda items: items.__setitem__(0, 5),
    lambda items: items.__setitem__(-1, 5),
    lambda items: items.__setitem__(slice(0, 2), [6, 6, 6]),
    lambda items: items.__setitem__(slice(None, None, 2), [0, 0]),
    lambda items: items.__delitem__(-1),
    lambda items: items.__delitem__(slice(1, None)),
    lambda items: items.__iadd__((4, 5)),
    lambda items: items.__imul__(2),
    lambda items: items.__imul__(0),
]


@pytest.mark.parametrize("change", LISTS)
def test_a_list_does_all_that_lists_do(change: Callable[[Any], Any]) -> None:
    expected = [3, 1, 2]
    answer = change(expected)
    made: list[Any] = []
    state = after(lambda draft: made.append(_settled(change(draft.anything))), Conversation(anything=[3, 1, 2]))
    assert state.anything == expected
    assert made == [answer]


DICTS: list[Callable[[Any], Any]] = [
    lambda table: table.update({"z": 1}, y=2),
    lambda table: table.update([("z", 1)]),
    lambda table: table.pop("a"),
    lambda table: table.pop("nowhere", 7),
    lambda table: table.popitem(),
    lambda table: table.clear(),
    lambda table: table.setdefault("a", 9),
    lambda table: table.setdefault("z", 9),
    lambda table: table.__setitem__("b", table.pop("b")),
    lambda table: table.__setitem__("a", table.pop("a")),
    lambda table: table.__delitem__("a"),
    lambda table: table.__ior__({"z": 1}),
]


@pytest.mark.parametrize("change", DICTS)
def test_a_dict_does_all_that_dicts_do(change: Callable[[Any], Any]) -> None:
    expected = {"a": 1, "b": 2}
    answer = change(expected)
    made: list[Any] = []
    state = after(lambda draft: made.append(_settled(change(draft.anything))), Conversation(anything={"a": 1, "b": 2}))
    assert list(state.anything.items()) == list(expected.items())
    assert made == [answer]


SETS: list[Callable[[Any], Any]] = [
    lambda members: members.add("c"),
    lambda members: members.discard("a"),
    lambda members: members.discard("z"),
    lambda members: members.remove("a"),
    lambda members: members.clear(),
    lambda members: members.update(["c"], {"d"}),
    lambda members: members.intersection_update(["a"]),
    lambda members: members.difference_update(["a"]),
    lambda members: members.symmetric_difference_update(["a", "z"]),
    lambda members: members.__ior__({"z"}),
    lambda members: members.__iand__({"a"}),
    lambda members: members.__isub__({"a"}),
    lambda members: members.__ixor__({"a", "z"}),
]


@pytest.mark.parametrize("change", SETS)
def test_a_set_does_all_that_sets_do(change: Callable[[Any], Any]) -> None:
    expected = {"a", "b"}
    answer = change(expected)
    made: list[Any] = []
    state = after(lambda draft: made.append(_settled(change(draft.tags))), Conversation(tags={"a", "b"}))
    assert state.tags == expected
    assert type(state.tags) is set
    assert made == [answer]


def _settled(answer: Any) -> Any:
    """A draft that is a change's answer, as it is then."""
    return copy.deepcopy(answer)


ERRORS: dict[str, tuple[Callable[[Any], Any], type[Exception]]] = {
    "an index": (lambda draft: draft.messages[7], IndexError),
    "an index from the end": (lambda draft: draft.messages[-3], IndexError),
    "an assignment": (lambda draft: draft.messages.__setitem__(7, Message("x")), IndexError),
    "a pop": (lambda draft: draft.tags.remove("z"), KeyError),
    "a key": (lambda draft: draft.labels["z"], KeyError),
    "a field": (lambda draft: setattr(draft, "colour", "red"), AttributeError),
    "a field of a message": (lambda draft: draft.messages[0].colour, AttributeError),
    "a kind of index": (lambda draft: draft.messages["a"], TypeError),
    "a hash of a list": (lambda draft: hash(draft.messages), TypeError),
    "a missing item": (lambda draft: draft.messages.remove(Message("z")), ValueError),
    "a sum": (lambda draft: draft.messages + 1, TypeError),
    "a set that grows while it is walked": (
        lambda draft: [draft.anything or draft.tags.add(f"{n}{m}") for n, m in enumerate(draft.tags)],
        RuntimeError,
    ),
    "a dict that grows while it is walked": (
        lambda draft: [draft.labels.update({key * 2: key}) for key in draft.labels],
        RuntimeError,
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_what_python_refuses_is_refused(name: str) -> None:
    change, error = ERRORS[name]
    with pytest.raises(error):
        after(change)


def test_a_draft_reads_as_what_it_stands_for() -> None:
    draft = draft_of(TWO)
    draft.messages[0].processed = True
    assert isinstance(draft, Conversation)
    assert isinstance(draft.messages, list)
    assert draft.messages[0] == Message("m1", processed=True)
    assert Message("m1", processed=True) == draft.messages[0]
    assert draft.messages == [Message("m1", processed=True), Message("m2")]
    assert Message("m1") not in draft.messages
    assert draft.messages[0] in draft.messages
    assert [m.id for m in sorted(draft.messages, key=lambda m: m.id, reverse=True)] == ["m2", "m1"]
    assert draft.messages[-1].id == "m2"
    assert draft.messages[1:] == [Message("m2")]
    assert len(draft.messages) == 2
    assert hash(draft.profile) == hash(Profile())
    assert f"{draft.profile}" == f"{Profile()}"
    match draft:
        case Conversation(messages=[Message(processed=True), *_], labels={"a": "a"}):
            pass
        case _:
            pytest.fail("it does not match")
    assert draft.messages[0] is draft.messages[0]


def test_an_object_put_in_two_places_is_one_until_the_updater_returns() -> None:
    def twice(draft: Any) -> None:
        new = Message("m3")
        draft.messages.append(new)
        draft.messages.append(new)
        draft.messages[-1].processed = True
        assert draft.messages[-2].processed
        draft.messages.append(draft.messages[0])
        draft.messages[0].content = "seen"
        mine: list[Any] = []
        draft.anything = [mine, mine]
        mine.append(1)
        draft.anything[0].append(2)
        assert mine == [1, 2]

    made = after(twice)
    assert [(m.id, m.content, m.processed) for m in made.messages] == [
        ("m1", "seen", False),
        ("m2", "", False),
        ("m3", "", True),
        ("m3", "", True),
        ("m1", "seen", False),
    ]
    assert made.anything == [[1, 2], [1, 2]]


def test_two_places_of_the_state_are_two_also_if_they_hold_one_object() -> None:
    one = Message("m1")
    made = after(lambda draft: setattr(draft.messages[0], "content", "x"), Conversation(messages=[one, one]))
    assert made.messages == [Message("m1", "x"), Message("m1")]


def test_what_moves_inside_of_a_state_stays_what_it_is() -> None:
    def archive(draft: Any) -> None:
        draft.anything = {"old": [draft.messages.pop(0)], "all": draft.messages}

    made = after(archive)
    assert made.anything == {"old": [Message("m1")], "all": [Message("m2")]}
    assert made.anything["old"][0] is TWO.messages[0]


def test_replace_takes_a_drafts_parts() -> None:
    def change(draft: Any) -> None:
        draft.messages[0].content = "before"
        draft.messages[0] = replace(draft.messages[0], processed=True)
        draft.messages[0].takers.append("ann")
        draft.profile = replace(draft.profile, name="ann")

    made = after(change)
    assert made.messages[0] == Message("m1", "before", True, ["ann"])
    assert made.profile == Profile("ann")
    assert TWO.messages[0].takers == []
    assert replace(Profile("x"), city="y") == Profile("x", "y")
    with pytest.raises(TypeError):
        replace(Profile("x"), colour="y")


def test_copies_of_a_drafts_parts() -> None:
    def change(draft: Any) -> None:
        apart = copy.deepcopy(draft.messages[0])
        apart.takers.append("apart")
        assert type(apart) is Message
        draft.anything = [copy.copy(draft.messages), draft.labels.copy()]

    made = after(change)
    assert made.anything == [[Message("m1"), Message("m2")], {"a": "a", "b": "b"}]
    assert made.messages is TWO.messages


def test_a_draft_that_is_used_afterwards_says_so() -> None:
    draft = draft_of(TWO, "updater keeps_it")
    messages, message, labels, tags = draft.messages, draft.messages[0], draft.labels, draft.tags
    finish(draft)
    uses: list[Callable[[], Any]] = [
        lambda: draft.status,
        lambda: setattr(message, "processed", True),
        lambda: messages.append(1),
        lambda: len(messages),
        lambda: labels["a"],
        lambda: tags.add("x"),
        lambda: message == Message("m1"),
        lambda: finish(draft),
    ]
    for use in uses:
        with pytest.raises(NotPure, match="updater keeps_it is over, and its draft was used afterwards"):
            use()
    assert repr(draft) == "<a draft that is over>"


def test_a_state_that_contains_itself_is_refused() -> None:
    def in_itself(draft: Any) -> None:
        draft.anything = {"a": []}
        draft.anything["a"].append(draft.anything)

    with pytest.raises(InvalidState, match="would contain itself") as invalid:
        after(in_itself)
    assert invalid.value.path == "$.anything.a[0]"
    with pytest.raises(InvalidState, match="would contain itself"):
        after(lambda draft: setattr(draft, "anything", draft))


class Range(msgspec.Struct, frozen=True):
    low: int = 0
    high: int = 1

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ValueError("low is above high")


@dataclass(frozen=True)
class Card:
    title: str = ""
    lines: list[str] | None = None


class Point(NamedTuple):
    x: int
    more: list[int]


class Loose(msgspec.Struct):
    name: str = ""
    inner: Profile = Profile()


class Hashed(msgspec.Struct, frozen=True, cache_hash=True):
    n: int = 0


class Odd(State):
    hashed: Hashed = Hashed()
    range: Range = Range()
    card: Card = Card()
    point: Point = Point(1, [])
    loose: Loose = msgspec.field(default_factory=Loose)
    pairs: list[tuple[int, Message]] = msgspec.field(default_factory=list)
    raw: bytearray = msgspec.field(default_factory=bytearray)


def test_all_of_a_structs_changes_are_made_at_once() -> None:
    def up(draft: Any) -> None:
        draft.range.low = 10
        draft.range.high = 20

    assert after(up, Odd()).range == Range(10, 20)
    with pytest.raises(InvalidState, match="low is above high") as invalid:
        after(lambda draft: setattr(draft.range, "low", 10), Odd())
    assert invalid.value.path == "$.range"


def test_a_hash_is_that_of_what_it_has_become() -> None:
    def change(draft: Any) -> None:
        assert hash(draft.hashed) == hash(Hashed(0))
        draft.hashed.n = 1
        assert hash(draft.hashed) == hash(Hashed(1))

    assert hash(after(change, Odd()).hashed) == hash(Hashed(1))


def test_dataclasses_tuples_and_what_is_not_frozen() -> None:
    def change(draft: Any) -> None:
        draft.card.title = "t"
        draft.card.lines = []
        draft.card.lines.append("line")
        draft.point.more.append(draft.point.x)
        draft.loose.name = "loose"
        draft.loose.inner.city = "york"
        draft.pairs.append((1, Message("m1")))
        draft.pairs[0][1].processed = True
        draft.raw += b"raw"
        with pytest.raises(TypeError):
            draft.pairs[0][0] = 2

    before = Odd(loose=Loose("before"))
    made = after(change, before)
    assert made.card == Card("t", ["line"])
    assert made.point == Point(1, [1])
    assert type(made.point) is Point
    assert made.loose == Loose("loose", Profile(city="york"))
    assert made.pairs == [(1, Message("m1", processed=True))]
    assert made.raw == b"raw"
    assert type(made.raw) is bytearray
    assert before == Odd(loose=Loose("before"))
