"""How threads and runs end."""

import pytest

from looms.reducers.errors import InvalidInput, RunFinished
from looms.reducers.items import (
    CancelAsked,
    Delivery,
    EffectAnswer,
    GraceOver,
    Item,
    SignalReturned,
    TimerFired,
)
from looms.reducers.plan import Accepted, Ignored, Refused, Undelivered
from tests.properties.scripted import (
    Ask,
    Drop,
    Finish,
    GiveUp,
    Noted,
    Order,
    Raise,
    Said,
    Say,
    Sleep,
    SpawnOne,
    WaitFor,
    Withdraw,
    listener,
    talk,
)
from tests.reducers.story import Story
from tests.reducers.tales import child, script, tale

# Ends


def test_a_root_that_completes_adds_no_record_and_all_that_is_left_ends_with_it() -> None:
    story = tale(WaitFor(("said",), {}, timeout=5), Ask("fetch", 1), child("c", Sleep(9), Ask("weigh", 2)))
    story.tell(Noted("a", None, (Finish({"paid": 1}),)))
    assert story.types == ["looms.started", "looms.started", "talk.noted"]
    assert (story.state.status, story.state.output, story.state.error) == ("completed", {"paid": 1}, None)
    assert (story.state.waits, story.state.effects, list(story.state.threads)) == ((), (), ["root"])


@pytest.mark.parametrize(
    ("order", "status", "error"), [(GiveUp("tired"), "failed", "tired"), (Withdraw("no more"), "cancelled", "no more")]
)
def test_a_root_may_fail_or_be_cancelled_by_its_own_decision(order: Order, status: str, error: str) -> None:
    story = tale(order)
    assert (story.state.status, story.state.error) == (status, error)


def test_beside_an_end_what_is_emitted_is_recorded_and_a_child_is_not_started() -> None:
    story = tale(Say("said", "a", 1), child("b"), Finish(1), Say("said", "a", 2), child("c"), Ask("fetch", 1))
    assert [(r.type, r.decisions) for r in story.records[1:]] == [("talk.said", {}), ("talk.said", {})]
    assert len(story.records[0].instructions) == 6
    assert (list(story.state.threads), story.state.effects) == (["root"], ())


def test_beside_the_end_of_a_child_what_it_emits_is_recorded_and_its_own_child_is_not_started() -> None:
    story = tale(child("c", child("d"), Finish(1), Say("said", "a", 2), child("e")))
    assert [(r.type, r.thread) for r in story.records] == [
        ("looms.started", "root"),
        ("looms.started", "root/c"),
        ("looms.child_completed", "root"),
        ("talk.said", None),
    ]
    assert list(story.state.threads) == ["root"]


def test_a_run_that_is_over_takes_nothing_more_and_says_so() -> None:
    story = tale(Ask("fetch", 1), Sleep(5), Finish(1))
    before = len(story.log)
    outcome = story.tell(Said("a", 1))
    assert isinstance(outcome, Refused)
    assert isinstance(outcome.error, RunFinished)
    assert "run r1 is completed" in str(outcome.error)
    late: list[Item] = [
        EffectAnswer((1, 0), ()),
        TimerFired((1, 1)),
        SignalReturned(1, "root", "r2", "talk.said", "over"),
    ]
    assert [story.give(item) for item in late] == [Ignored()] * 3
    sent = Delivery((story.letter(Said("a", 1)),), "run", sender=("r2", 4), sender_thread="root")
    assert story.give(sent) == Undelivered("run r1 is completed and takes no more events")
    assert len(story.log) == before


def test_a_delivery_that_ends_the_run_before_its_last_event_is_refused_whole() -> None:
    error = tale().refusal(Said("a", 1, (Finish(1),)), Said("a", 2))
    assert isinstance(error, RunFinished)


# Failures


def test_a_failure_that_is_not_handled_fails_the_thread_and_then_its_parent() -> None:
    inner = SpawnOne("listener", script(Ask("fetch", 1)), "inner")
    story = Story(listener, [talk], script(SpawnOne("listener", script(inner), "outer")))
    story.give_up((3, 0))
    assert [(r.type, r.thread) for r in story.records[3:]] == [
        ("looms.effect_failed", "root/outer/inner"),
        ("looms.child_failed", "root/outer"),
        ("looms.child_failed", "root"),
    ]
    assert story.state.status == "failed"
    assert "talk.fetch: Flood: too much water" in (story.state.error or "")


def test_a_failure_that_is_handled_fails_nobody() -> None:
    story = tale(child("c", Ask("fetch", 1)), child("d", GiveUp("shy")))
    story.give_up((2, 0))
    assert story.state.status == "waiting"
    failed = next(record for record in story.records if record.type == "looms.effect_failed")
    assert failed.payload == {
        "effect": "talk.fetch",
        "effect_id": "r1:2:0",
        "error": "Flood",
        "message": "too much water",
        "attempts": 3,
    }
    assert (failed.final, failed.thread, failed.effect_id) == (True, "root/c", "r1:2:0")


def test_a_child_that_is_cancelled_fails_nobody() -> None:
    story = Story(listener, [talk], script(SpawnOne("teller", script(), "c"), Drop("c", "why not")))
    assert (story.types[-1], story.state.status) == ("looms.child_cancelled", "waiting")


# Ending a run from outside


def test_a_root_that_does_not_handle_it_is_cancelled_in_that_record() -> None:
    story = Story(listener, [talk], script(Sleep(5), SpawnOne("teller", script(Ask("fetch", 1)), "c")))
    assert story.give(CancelAsked("closing", 30)) == Accepted(3)
    assert (story.types[-1], story.records[-1].payload, story.records[-1].decisions) == (
        "looms.cancelled",
        {"reason": "closing"},
        {},
    )
    assert (story.state.status, story.state.error) == ("cancelled", "closing")
    assert (story.state.waits, story.state.effects, list(story.state.threads)) == ((), (), ["root"])


def test_a_root_that_handles_it_may_still_act_until_the_grace_is_over() -> None:
    story = tale(CancelRequested=(Say("said", "a", "packing"),))
    story.give(CancelAsked("closing", 30))
    assert story.types[1:] == ["looms.cancel_requested", "talk.said"]
    assert (story.run.cancelling.due if story.run.cancelling else None) == story.now + 30_000
    assert story.give(CancelAsked("again", 0)) == Ignored()
    assert story.give(GraceOver(99)) == Ignored()
    story.tell(Noted("n", 1))
    story.give(GraceOver(2))
    assert (story.types[-1], story.state.status, story.state.error) == ("looms.cancelled", "cancelled", "closing")
    assert story.give(GraceOver(2)) == Ignored()


def test_a_root_that_ends_within_the_grace_ends_as_it_says() -> None:
    story = tale(CancelRequested=(Finish("in time"),))
    story.give(CancelAsked("closing", 30))
    assert (story.state.status, story.state.output, story.run.cancelling) == ("completed", "in time", None)
    assert story.give(GraceOver(2)) == Ignored()


def test_a_run_may_be_ended_at_once_whatever_its_code_says() -> None:
    story = tale(CancelRequested=(Raise("no"),))
    assert isinstance(story.give(CancelAsked("closing", 30)), Refused)
    story.give(CancelAsked("closing", 30, at_once=True))
    assert story.state.status == "cancelled"


def test_a_run_that_is_over_is_not_cancelled_again() -> None:
    outcome = tale(Finish(1)).give(CancelAsked("closing", 0))
    assert isinstance(outcome, Refused)
    assert isinstance(outcome.error, RunFinished)


@pytest.mark.parametrize("grace", [float("inf"), float("nan"), 1e300])
def test_a_grace_that_is_no_time_is_refused_and_spoils_nothing_for_the_others(grace: float) -> None:
    story = tale()
    said = Delivery((story.letter(Said("a", 1)),), to_caller=True)
    outcome = story.give(said, CancelAsked("closing", grace))
    assert isinstance(outcome, Refused)
    assert isinstance(outcome.error, InvalidInput)
    assert str(grace) in str(outcome.error)
    assert story.types == ["looms.started", "talk.said"]
