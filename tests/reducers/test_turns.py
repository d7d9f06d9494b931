"""A turn: what follows from an event, in which order, and what the durable inbox gives back."""

import pytest

from looms.reducers.errors import InvalidMatch, ReducerError
from looms.reducers.instructions import Reduced, sleep, spawn, step
from looms.reducers.items import (
    CancelAsked,
    Delivery,
    EffectAnswer,
    GraceOver,
    Item,
    Letter,
    SignalReturned,
    TimerFired,
    pack_item,
    unpack_item,
)
from looms.reducers.lifecycle import Started, TimedOut
from looms.reducers.modules import Module
from looms.reducers.plan import Accepted, Stuck
from looms.reducers.state import State
from looms.reducers.views import view
from tests.properties.scripted import (
    Ask,
    Finish,
    Hummed,
    Said,
    Say,
    Script,
    Sleep,
    SpawnOne,
    WaitFor,
    talk,
    teller,
)
from tests.reducers.story import BEGIN, Story
from tests.reducers.tales import child, script, tale

# What follows, and in which order


def test_what_follows_is_recorded_breadth_first_with_its_cause() -> None:
    story = tale()
    leaf = ()
    branch = (Say("said", "a", "left", leaf), Say("said", "a", "right", leaf))
    story.tell(Said("a", "top", (Say("said", "a", "one", branch), Say("said", "a", "two", branch))))
    assert [(r.payload["body"], r.cause, r.origin) for r in story.records[1:]] == [
        ("top", None, "signal"),
        ("one", 2, "thread"),
        ("two", 2, "thread"),
        ("left", 3, "thread"),
        ("right", 3, "thread"),
        ("left", 4, "thread"),
        ("right", 4, "thread"),
    ]


def test_a_child_is_started_after_what_was_asked_before_it_and_told_of_when_it_ends() -> None:
    story = tale(Say("said", "a", 1), child("c", Finish("done")), Say("said", "a", 2))
    assert [(r.type, r.thread, r.cause) for r in story.records] == [
        ("looms.started", "root", None),
        ("talk.said", None, 1),
        ("looms.started", "root/c", 1),
        ("talk.said", None, 1),
        ("looms.child_completed", "root", 3),
    ]
    assert story.records[-1].payload == {"thread": "root/c", "output": "done"}
    assert list(story.state.threads) == ["root"]


def test_a_child_without_an_id_is_called_by_its_place() -> None:
    story = tale(Say("said", "a", 1), child(None), child(None, child(None)))
    assert list(story.state.threads) == ["root", "root/1.1", "root/1.2", "root/1.2/4.0"]
    assert [thread.parent for thread in story.state.threads.values()] == [None, "root", "root", "root/1.2"]


def test_the_events_of_one_delivery_are_recorded_in_order_each_with_what_follows_from_it() -> None:
    story = tale()
    outcome = story.tell(Said("a", 1, (Say("noted", "a", 2),)), Said("a", 3))
    assert [record.payload["body"] for record in story.records[1:]] == [1, 2, 3]
    assert outcome == Accepted(4)


def test_records_are_timed_by_the_clock_and_never_go_back() -> None:
    story = tale()
    for now in (BEGIN + 10, BEGIN - 500, BEGIN + 5, BEGIN + 11):
        story.now = now
        story.tell(Said("a", 1))
    assert [record.at - BEGIN for record in story.records] == [0, 10, 10, 10, 11]


def test_an_effect_has_an_id_of_its_own_among_all_that_was_decided() -> None:
    story = tale(child("c", Ask("fetch", 1), Sleep(1), Ask("fetch", 2)), Ask("fetch", 3))
    assert [(effect.id, effect.thread, effect.request) for effect in story.state.effects] == [
        ("r1:1:1", "root", 3),
        ("r1:2:0", "root/c", 1),
        ("r1:2:2", "root/c", 2),
    ]


def test_an_index_counts_the_instructions_of_all_who_took_the_event() -> None:
    waits = WaitFor(("said",), {})
    story = tale(SpawnOne("listener", script(waits), "b"), SpawnOne("listener", script(waits), "c"))
    story.tell(Said("a", 1, (Ask("fetch", 1), Sleep(5))))
    assert [effect.id for effect in story.state.effects] == ["r1:4:0", "r1:4:2", "r1:4:4"]
    assert [(wait.thread, wait.id) for wait in story.state.waits] == [
        ("root", "4:1"),
        ("root/b", "4:3"),
        ("root/c", "4:5"),
    ]
    assert len(story.records[3].instructions) == 6


# Items are what they were when they come back from the durable inbox


@pytest.mark.parametrize(
    "item",
    [
        Delivery((Letter("talk.said", 2, b"\x80"),), "run", key="k", sender=("r2", 3), sender_thread="root/c"),
        Delivery((), to_caller=True),
        EffectAnswer((3, 1), (Letter("talk.said", 1, b"\x80"),), False, 4),
        TimerFired((1, 2)),
        GraceOver(4),
        SignalReturned(4, "root", "r2", "talk.said", "it is over"),
        CancelAsked("why", 1.5),
    ],
)
def test_an_item_comes_back_from_the_durable_inbox_as_it_was(item: Item) -> None:
    assert unpack_item(pack_item(item)) == item


def test_a_match_that_is_no_match_for_the_event_refuses_the_turn() -> None:
    error = tale().refusal(Said("a", None, (WaitFor(("said",), {"abuot": "b"}),)))
    assert isinstance(error.__cause__, InvalidMatch)
    assert "about" in str(error)


def test_an_untaken_event_is_in_the_record_with_no_decisions() -> None:
    story = tale()
    story.tell(Hummed("a", 1))
    assert (story.records[-1].decisions, story.records[-1].instructions) == ({}, ())


def test_a_root_that_does_not_handle_its_start_has_started_and_its_children_are_told_of_theirs() -> None:
    module = Module("quiet", requires=[talk])

    @module.reducer("quiet", state=State)
    def quiet(state: State, event: Said) -> Reduced[State]:
        return step(state, spawn(teller, Script((Say("noted", "child", 1),)), id="c"))

    story = Story(quiet, [talk, module])
    assert (story.types, story.records[0].decisions) == (["looms.started"], {})
    story.tell(Said("a", 1))
    assert [(r.type, list(r.decisions)) for r in story.records[1:]] == [
        ("talk.said", ["root"]),
        ("looms.started", ["root/c"]),
        ("talk.noted", []),
    ]


class Unspeakable(Exception):
    """One whose message cannot be had."""

    def __str__(self) -> str:
        raise RuntimeError("no")


class Beside(BaseException):
    """One that is no `Exception`."""


def raising(error: BaseException) -> tuple[Story, Said]:
    """A run whose reducer raises this on the event."""
    module = Module("raising", requires=[talk])

    @module.reducer("raiser", state=State)
    def raiser(state: State, event: Started[None] | Said | TimedOut) -> Reduced[State]:
        if isinstance(event, Started):
            return step(state, sleep(5))
        raise error

    return Story(raiser, [talk, module]), Said("a", 1)


@pytest.mark.parametrize(
    "error",
    [
        Unspeakable(),
        Beside("odd"),
        SystemExit(1),
        GeneratorExit(),
        RecursionError("deep"),
        ValueError("\ud800" * 5_000),
    ],
)
def test_whatever_a_reducer_raises_is_its_error_and_nothing_is_kept(error: BaseException) -> None:
    story, said = raising(error)
    refused = story.refusal(said)
    assert isinstance(refused, ReducerError)
    assert refused.__cause__ is error
    assert type(error).__name__ in str(refused)
    assert len(str(refused).encode()) < 3_000
    story.now += 5_000
    stuck = story.give(TimerFired((1, 0)))
    assert isinstance(stuck, Stuck)
    assert stuck.error.__cause__ is error


def test_who_stops_the_program_stops_it_and_nothing_is_kept() -> None:
    story, said = raising(KeyboardInterrupt())
    before = view(story.run)
    with pytest.raises(KeyboardInterrupt):
        story.tell(said)
    assert view(story.run) == before
