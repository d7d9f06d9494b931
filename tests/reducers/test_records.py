"""A record as it is stored, and as users see it."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from looms.reducers.entries import unpack_entry
from looms.reducers.instructions import cancel, complete, emit, spawn, wait
from looms.reducers.items import Delivery
from looms.reducers.lifecycle import Started
from looms.reducers.records import effect_id, record
from looms.reducers.registry import Registry
from tests.properties.scripted import (
    Ask,
    Drop,
    Finish,
    Said,
    Say,
    Script,
    Shout,
    SpawnOne,
    Tell,
    WaitFor,
    listener,
    talk,
    teller,
)
from tests.reducers.story import BEGIN, Story


def test_a_record_says_what_came_and_what_was_decided_because_of_it() -> None:
    script = Script((WaitFor(("said",), {"about": "a"}, timeout=5, id="w"), SpawnOne("listener", Script(), "c")))
    story = Story(teller, [talk], script)
    story.tell(Said("a", 1, (Say("noted", "b", {"k": [1]}), Drop("c", "done"), Finish({"sum": 1}))), key="evt_1")
    started, child, said, noted = story.records
    assert (started.seq, started.type, started.version, started.origin, started.thread) == (
        1,
        "looms.started",
        1,
        "start",
        "root",
    )
    assert started.event == Started(script)
    assert started.decisions == {
        "root": (wait(Said, match={"about": "a"}, timeout=5, id="w"), spawn(listener, Script(), id="c"))
    }
    assert (child.type, child.thread, child.cause, child.event) == ("looms.started", "root/c", 1, Started(Script()))
    assert (said.at, said.cause, said.sender, said.thread, said.key) == (BEGIN, None, None, None, "evt_1")
    assert said.payload["about"] == "a"
    assert said.satisfied == {"root": "w"}
    assert said.instructions == said.decisions["root"]
    assert said.instructions[1:] == (cancel("c", "done"), complete({"sum": 1}))
    assert said.instructions[0] == emit(noted.event)  # type: ignore[arg-type]
    assert (said.effect_id, said.final) == (None, False)


def test_an_event_that_another_run_sent_says_who_sent_it() -> None:
    story = Story(teller, [talk], Script())
    story.give(Delivery((story.letter(Said("a", 1)),), "run", sender=("r2", 7), sender_thread="root"))
    assert [(r.origin, r.sender, r.cause) for r in story.records[1:]] == [("run", ("r2", 7), None)]


def test_a_log_can_be_read_without_the_code() -> None:
    story = Story(teller, [talk], Script((Ask("fetch", [1]), SpawnOne("listener", Script((Finish(1),)), "c"))))
    story.tell(Said("a", {"k": 1}))
    for code in (None, Registry([])):
        read = [record(unpack_entry(data, code), "r1") for data in story.log]
        assert [r.payload for r in read] == [r.payload for r in story.records]
        assert [r.type for r in read] == story.types
        assert read[-1].event is None
        invoked, spawned = read[0].instructions
        assert (invoked.effect, invoked.request) == ("talk.fetch", [1])  # type: ignore[union-attr]
        assert (spawned.definition, spawned.id) == ("talk.listener", "c")  # type: ignore[union-attr]


def test_an_event_in_a_decision_is_told_by_its_name_where_no_code_knows_it() -> None:
    story = Story(teller, [talk], Script((Say("noted", "a", 1), Tell("r2", 2), Shout(3))))
    (started, *_) = [record(unpack_entry(data, None), "r1") for data in story.log]
    told = [getattr(instruction, "event", None) for instruction in started.instructions]
    assert [(event["type"], event["version"], event["payload"]["body"]) for event in told if event] == [
        ("talk.noted", 1, 1),
        ("talk.said", 1, 2),
        ("talk.said", 1, 3),
    ]


@given(st.text(min_size=1), st.text(min_size=1), *[st.integers(0, 2**32)] * 4)
def test_no_two_effects_look_alike_whatever_the_runs_are_called(
    one: str, other: str, a: int, b: int, c: int, d: int
) -> None:
    assert (effect_id(one, a, b) == effect_id(other, c, d)) == ((one, a, b) == (other, c, d))
    assert effect_id(one, a, b, 7) != effect_id(other, c, d)
    assert effect_id(one, a, b, 7) != effect_id(other, c, d, 8)


@given(st.binary(max_size=60))
def test_bytes_that_are_no_record_are_refused(data: bytes) -> None:
    with pytest.raises(msgspec.MsgspecError):
        unpack_entry(data, None)


def damages(data: bytes) -> st.SearchStrategy[bytes]:
    """A record's bytes with one byte changed, or cut short."""
    changed = st.tuples(st.integers(0, len(data) - 1), st.integers(0, 255)).map(
        lambda at: data[: at[0]] + bytes([at[1]]) + data[at[0] + 1 :]
    )
    return st.one_of(changed, st.integers(0, len(data) - 1).map(lambda length: data[:length]))


_story = Story(teller, [talk], Script((WaitFor(("said",), {"about": "a"}), Ask("fetch", {"k": 1}))))


@given(damages(_story.log[0]))
def test_a_damaged_record_is_refused_or_read_as_data(data: bytes) -> None:
    try:
        entry = unpack_entry(data, _story.code)
        shown: Any = record(entry, "r1")
    except (msgspec.MsgspecError, ValueError):
        return
    assert isinstance(shown.type, str)
