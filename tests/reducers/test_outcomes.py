"""What timers and effects bring to a turn."""

import pytest

from looms.reducers.items import (
    Delivery,
    EffectGaveUp,
    TimerFired,
)
from looms.reducers.plan import Accepted, Deferred, Ignored, Limits
from tests.properties.scripted import (
    Ask,
    Drop,
    Finish,
    Hummed,
    Said,
    Sleep,
    WaitFor,
)
from tests.reducers.tales import child, tale

# Timers


def test_an_event_in_time_retires_the_deadline_and_a_late_timer_changes_nothing() -> None:
    story = tale(WaitFor(("said",), {}, timeout=5, id="w"))
    story.now += 5_000
    heard = Delivery((story.letter(Said("a", 1)),), to_caller=True)
    assert story.give(heard, TimerFired((1, 0))) == Ignored()
    assert story.types == ["looms.started", "talk.said"]


def test_a_deadline_retires_the_wait_and_a_late_event_goes_to_the_mailbox_of_who_waits_for_another() -> None:
    story = tale(WaitFor(("said",), {"about": "a"}, timeout=5, id="w"), WaitFor(("said",), {"about": "b"}))
    story.fire("root", "w")
    story.tell(Said("a", 1))
    timed_out = story.records[1]
    assert (timed_out.payload, timed_out.cause, timed_out.thread, timed_out.origin) == (
        {"wait": "w"},
        1,
        "root",
        "timer",
    )
    assert [mail.event for mail in story.state.mailbox] == [Said("a", 1)]


def test_a_timer_that_comes_early_changes_nothing() -> None:
    story = tale(Sleep(5))
    story.now += 4_999
    assert story.give(TimerFired((1, 0))) == Ignored()
    story.now += 1
    assert story.give(TimerFired((1, 0))) == Accepted(2)
    assert story.give(TimerFired((1, 0))) == Ignored()


@pytest.mark.parametrize("seconds", [0, -1, -0.5, -1e300])
def test_a_delay_that_is_zero_or_negative_is_due_at_once(seconds: float) -> None:
    story = tale(Sleep(seconds))
    assert [wait.due for wait in story.state.waits] == [story.now]


# Effects


def test_an_effect_that_answers_with_nothing_is_done_all_the_same() -> None:
    story = tale(Ask("fetch", 1))
    assert story.state.status == "running"
    story.answer((1, 0))
    done = story.records[-1]
    assert (done.type, done.payload, done.decisions, done.final) == (
        "looms.effect_completed",
        {"effect_id": "r1:1:0"},
        {},
        True,
    )
    assert (story.state.status, story.state.effects) == ("waiting", ())
    assert story.answer((1, 0), Said("a", 1)) == Ignored()


def test_only_the_last_event_that_a_handler_returns_ends_the_effect() -> None:
    story = tale(Ask("fetch", 1))
    story.answer((1, 0), Said("a", 1), Said("a", 2))
    assert [(r.effect_id, r.final) for r in story.records[1:]] == [("r1:1:0", False), ("r1:1:0", True)]


def test_what_a_handler_emits_again_at_a_later_attempt_is_dropped() -> None:
    story = tale(Ask("fetch", 1))
    assert story.answer((1, 0), Said("a", 1), final=False, position=0) == Accepted(2)
    assert story.answer((1, 0), Said("a", 2), final=False, position=1) == Accepted(3)
    assert story.answer((1, 0), Said("a", "other"), final=False, position=0) == Ignored()
    assert story.answer((1, 0), Said("a", 2), final=False, position=1) == Ignored()
    assert story.answer((1, 0), Said("a", 3), final=False, position=2) == Accepted(4)
    assert len(story.state.effects) == 1


def test_what_follows_an_emission_that_waits_for_room_waits_behind_it() -> None:
    story = tale(Ask("fetch", 1), limits=Limits(mailbox=0))
    assert story.answer((1, 0), Hummed("a", 1), final=False, position=0) == Deferred()
    assert story.answer((1, 0), Said("a", 2), final=False, position=1) == Deferred()
    assert story.answer((1, 0), Said("a", 3), position=1) == Deferred()
    assert story.give(EffectGaveUp((1, 0), "Flood", "too much water", 3, position=1)) == Deferred()
    story.limits = Limits(mailbox=1)
    assert story.answer((1, 0), Hummed("a", 1), final=False, position=0) == Accepted(2)
    assert story.answer((1, 0), Said("a", 3), position=1) == Accepted(3)


def test_an_effect_ends_with_its_thread_and_what_it_answers_then_changes_nothing() -> None:
    story = tale(child("c", Ask("fetch", 1)))
    story.tell(Said("a", None, (Drop("c"),)))
    assert story.state.effects == ()
    assert story.answer((2, 0), Said("a", 1)) == Ignored()
    assert story.give_up((2, 0)) == Ignored()


def test_events_after_the_one_that_ended_the_thread_are_dropped() -> None:
    story = tale(child("c", Ask("fetch", 1)))
    story.answer((2, 0), Said("a", 1, (Finish(1),)), Said("a", 2))
    assert story.types[2:] == ["talk.said", "looms.child_completed"]
