"""Updates: an updater on a draft, checked before anything comes of it, and put as a patch."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
import pytest

from looms import State
from looms.reducers.codec import encode, plain
from looms.stores.errors import InvalidState, NotPure
from looms.stores.fitting import checked
from looms.stores.overlap import Write
from looms.stores.updating import patched, update, updater_of
from tests.stores.chatroom import TWO, Conversation, Message, Profile, append, first_unprocessed, mark_processed, put

ONE = Conversation(messages=[Message("m1")])


def setting(**values: Any) -> Callable[[Any], Any]:
    return updater_of("update", (), values)


def test_an_update_gives_the_new_state_its_patch_and_where_it_differs() -> None:
    made = update(append("m3"), TWO)
    assert made.state.messages == [*TWO.messages, Message("m3")]
    assert made.writes == (Write(("messages",), 2),)
    assert made.written == (("messages", 2),)
    stored = plain(encode(made.patch))
    assert patched(TWO, stored) == made.state
    assert patched(TWO, stored).profile is TWO.profile
    assert len(encode(made.patch)) < 100


def test_an_update_that_changes_nothing_has_no_patch() -> None:
    for nothing in (lambda draft: None, put(status="idle"), lambda draft: draft.messages.sort(key=lambda m: m.id)):
        made = update(nothing, TWO)
        assert (made.state is TWO, made.patch, made.writes) == (True, None, ())
    assert patched(TWO, None) is TWO


INVALID: dict[str, tuple[Callable[[Any], Any], str, str]] = {
    "a literal": (put(status="asleep"), "$.status", "Invalid enum value 'asleep'"),
    "a type": (put(counter="many"), "$.counter", "Expected `int`, got `str`"),
    "a new item": (lambda draft: draft.messages.append(Message(id=7)), "$.messages[1].id", "Expected `str`, got `int`"),  # type: ignore[arg-type]
    "a part": (
        lambda draft: setattr(draft.messages[0], "processed", "yes"),
        "$.messages[0].processed",
        "Expected `bool`",
    ),
    "a value of a dict": (lambda draft: draft.labels.update(topic=None), "$.labels[...]", "Expected `str`, got `None`"),
    "a key of a dict": (lambda draft: draft.labels.update({1: "a"}), "$.labels", "Expected `str`, got `int` in a key"),
    "a member": (lambda draft: draft.tags.add(1), "$.tags[0]", "Expected `str`, got `int`"),
    "another struct": (put(profile=Message("m")), "$.profile", "would come back as Profile"),
    "a dict that says more": (
        lambda draft: draft.messages.append({"id": "m3", "contnet": "x"}),
        "$.messages[1]",
        "Message has no field 'contnet'",
    ),
    "a dict for something else": (put(labels={"topic": {"id": "m3"}}), "$.labels", "Expected `str`, got `object`"),
    "no value at all": (put(anything=object()), "$.anything", "unsupported"),
    "what would come back as something else": (put(anything=(1, 2)), "$.anything", "tuple would come back as list"),
    "a field that may not be left out": (put(counter=msgspec.UNSET), "$", "counter"),
}


@pytest.mark.parametrize("name", INVALID)
def test_a_state_that_does_not_fit_is_refused_with_its_path(name: str) -> None:
    updater, path, message = INVALID[name]
    with pytest.raises(InvalidState) as invalid:
        update(updater, ONE)
    assert invalid.value.path.startswith(path)
    assert message in str(invalid.value)
    assert Conversation(messages=[Message("m1")]) == ONE


class Bounded(State):
    few: Annotated[list[int], msgspec.Meta(max_length=2)] = msgspec.field(default_factory=list)
    price: float = 0.0
    names: tuple[str, ...] = ()
    at: datetime | None = None
    odd: int | msgspec.UnsetType = msgspec.UNSET
    deep: Any = None


def test_limits_of_a_list_are_checked_when_it_grows() -> None:
    made = update(lambda draft: draft.few.extend([1, 2]), Bounded()).state
    with pytest.raises(InvalidState, match="length <= 2") as invalid:
        update(lambda draft: draft.few.append(3), made)
    assert invalid.value.path == "$.few"


def test_what_a_declared_type_asks_for_is_done() -> None:
    made = update(setting(price=1, names=["a", "b"], odd=3), Bounded())
    assert (made.state.price, type(made.state.price)) == (1.0, float)
    assert made.state.names == ("a", "b")
    assert update(setting(odd=msgspec.UNSET), made.state).state.odd is msgspec.UNSET
    told: dict[str, Any] = {"messages": [{"id": "m3"}, Message("m4")], "profile": {"name": "ann"}}
    told_all = update(updater_of("update", (), told), ONE).state
    assert told_all.messages == [Message("m3"), Message("m4")]
    assert told_all.profile == Profile("ann")
    moment = datetime(2030, 1, 1, tzinfo=UTC)
    assert update(setting(at=moment), Bounded()).state.at == moment


def test_what_the_updater_has_put_in_is_not_the_updaters_any_more() -> None:
    mine = ["a"]
    made = update(put(anything=mine), TWO)
    mine.append("b")
    assert made.state.anything == ["a"]


def test_a_state_does_not_grow_deeper_than_what_is_stored() -> None:
    def deeper(draft: Any) -> None:
        inner = draft.deep
        while inner[0]:
            inner = inner[0]
        inner[0] = [[[]]]

    state = Bounded(deep=[[]])
    for _ in range(98):
        state = update(deeper, state).state
    with pytest.raises(InvalidState, match="nested deeper than 200 levels"):
        update(deeper, update(deeper, state).state)
    checked(state, Bounded)


async def no_updater(draft: Any) -> None:
    draft.counter += 1


def yields(draft: Any) -> Any:
    yield draft.counter


IMPURE: dict[str, tuple[Any, str]] = {
    "async": (no_updater, "updater no_updater is async"),
    "awaitable": (lambda draft: no_updater(draft), "<lambda> returned something to be awaited"),
    "generator function": (yields, "updater yields is a generator"),
    "generator": (lambda draft: yields(draft), "<lambda> returned a generator"),
    "new state": (lambda draft: Conversation(counter=1), "returned a new Conversation.*draft"),
}


@pytest.mark.parametrize("name", IMPURE)
def test_an_updater_that_waits_or_answers_with_a_state_is_refused(name: str) -> None:
    updater, message = IMPURE[name]
    with pytest.raises(NotPure, match=message):
        update(updater, TWO)


def test_what_an_updater_returns_is_dropped() -> None:
    assert update(lambda draft: draft.labels.setdefault("c", "c"), TWO).state.labels["c"] == "c"
    assert update(lambda draft: draft, TWO).state is TWO
    assert update(lambda draft: draft.messages, TWO).state is TWO


def test_what_an_updater_raises_is_its_callers() -> None:
    def halfway(draft: Any) -> None:
        draft.messages.clear()
        raise LookupError("no such message")

    with pytest.raises(LookupError, match="no such message"):
        update(halfway, TWO)
    with pytest.raises(AttributeError, match="'Conversation' object has no attribute 'colour'"):
        update(put(colour="red"), TWO)
    assert len(TWO.messages) == 2


def test_a_claim_gets_the_item_and_follows_the_rules_of_updaters() -> None:
    item = first_unprocessed(TWO)
    made = update(mark_processed, TWO, item, role="claim")
    assert [m.processed for m in made.state.messages] == [True, False]

    def spoils(draft: Any, item: Any) -> None:
        item.takers.append("spoilt")
        draft.messages[0].takers = item.takers

    assert update(spoils, TWO, item, role="claim").state.messages[0].takers == ["spoilt"]
    assert item == Message("m1")

    async def no_claim(draft: Any, item: Any) -> None: ...

    with pytest.raises(NotPure, match=r"claim .*no_claim is async"):
        update(no_claim, TWO, item, role="claim")
    with pytest.raises(InvalidState):
        update(lambda draft, item: setattr(draft, "status", "taken"), TWO, item, role="claim")


def test_a_patch_keeps_the_order_of_a_dict() -> None:
    made = update(lambda draft: draft.labels.update(a=draft.labels.pop("a")), TWO)
    assert list(patched(TWO, made.patch).labels) == ["b", "a"]
    assert made.writes == (Write(("labels", "a")),)


def test_an_initial_state_is_checked_whole() -> None:
    with pytest.raises(InvalidState) as invalid:
        checked(Conversation(messages=[Message(id=7)]), Conversation)  # type: ignore[arg-type]
    assert invalid.value.path == "$.messages[0].id"
    with pytest.raises(InvalidState, match="Expected `Conversation`, got `Bounded`"):
        checked(Bounded(), Conversation)
    mine = [Message("m1")]
    state = checked(Conversation(messages=mine, profile=Profile("ann")), Conversation)
    mine.clear()
    assert state == Conversation(messages=[Message("m1")], profile=Profile("ann"))


def test_a_large_state_is_not_copied_for_a_small_change() -> None:
    state = Conversation(messages=[Message(str(n), "x" * 100) for n in range(10_000)])
    made = update(lambda draft: setattr(draft.messages[5_000], "processed", True), state)
    assert sum(a is not b for a, b in zip(state.messages, made.state.messages, strict=True)) == 1
    assert made.state.messages[5_000].takers is state.messages[5_000].takers
    assert len(encode(made.patch)) < 100
    counted = update(lambda draft: setattr(draft, "counter", 1), state)
    assert counted.state.messages is state.messages
