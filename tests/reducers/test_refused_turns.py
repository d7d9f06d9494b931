"""What is refused leaves nothing, and a known key is no second delivery."""

from looms.reducers.errors import InvalidInput, ReducerError, TurnTooLong, UnknownEvent
from looms.reducers.items import (
    CancelAsked,
    Delivery,
    Letter,
    TimerFired,
)
from looms.reducers.plan import Accepted, Duplicate, Limits, Refused, Stuck, plan
from tests.properties.scripted import (
    Ask,
    Botch,
    Finish,
    Raise,
    Said,
    Say,
    Sleep,
)
from tests.reducers.tales import child, tale

# Refusals


def test_a_reducer_that_raises_late_in_a_turn_undoes_all_of_it() -> None:
    story = tale()
    chain = Say("said", "a", 2, (Say("said", "a", 3, (Raise("boom"),)),))
    error = story.refusal(Said("a", 1, (Ask("fetch", 1), child("c"), chain)))
    assert isinstance(error, ReducerError)
    assert (error.run_id, error.seq, error.type) == ("r1", 5, "talk.said")
    assert isinstance(error.__cause__, ZeroDivisionError)
    assert all(
        part in str(error) for part in ("r1", "talk.teller", "talk.said", "seq 5", "boom", "Nothing was appended")
    )


def test_one_bad_event_of_a_delivery_undoes_the_others_and_spoils_nothing_for_the_next() -> None:
    story = tale()
    story.refusal(Said("a", 1), Said("a", 2, (Raise("boom"),)), Said("a", 3))
    assert story.tell(Said("a", 4)) == Accepted(2)


def test_what_cannot_be_stored_is_refused_with_its_path() -> None:
    error = tale().refusal(Said("a", 1, (Botch(),)))
    assert isinstance(error.__cause__, InvalidInput)
    assert "talk.teller" in str(error)
    assert "$['told'][0]" in str(error)


def test_an_effect_gets_a_request_of_its_type_or_the_decision_is_refused() -> None:
    error = tale().refusal(Said("a", 1, (Ask("weigh", "heavy"),)))
    assert isinstance(error.__cause__, InvalidInput)
    assert "the request of effect talk.weigh" in str(error)


def test_a_turn_that_runs_away_is_refused() -> None:
    # each child that completes leads to the next
    story = tale(limits=Limits(records=50), ChildCompleted=(child(None, Finish(1)),))
    error = story.refusal(Said("a", 1, (child(None, Finish(1)),)))
    assert isinstance(error, ReducerError)
    assert isinstance(error.__cause__, TurnTooLong)
    assert all(part in str(error) for part in ("r1", "50", "max_turn_records"))


def test_a_turn_may_have_as_many_records_as_the_limit_says() -> None:
    story = tale(limits=Limits(records=3))
    story.tell(Said("a", 1, (Say("said", "a", 2), Say("said", "a", 3))))
    assert len(story.log) == 4
    story.refusal(Said("a", 1, (Say("said", "a", 2), Say("said", "a", 3), Say("said", "a", 4))))


def test_code_that_raises_on_what_the_runtime_brought_gets_the_run_stuck_there() -> None:
    story = tale(Sleep(5, "nap"), TimedOut=(Raise("boom"),))
    story.now += 5_000
    turn = plan(story.run, [TimerFired((1, 0)), CancelAsked("why", 0)], story.code, story.now)
    assert turn.entries == []
    (stuck,) = turn.outcomes
    assert isinstance(stuck, Stuck)
    assert turn.stuck is stuck.error
    assert (stuck.error.seq, stuck.error.type) == (2, "looms.timed_out")
    assert story.open == [("root", "nap")]


def test_an_event_that_todays_code_does_not_know_is_refused_or_gets_the_run_stuck() -> None:
    story = tale()
    unknown = Letter("talk.sayd", 1, b"\x80")
    outcome = story.give(Delivery((unknown,), to_caller=True))
    assert isinstance(outcome, Refused)
    assert isinstance(outcome.error, UnknownEvent)
    assert "did you mean 'talk.said'?" in str(outcome.error)
    stuck = story.give(Delivery((unknown,), "run", sender=("r2", 1)))
    assert isinstance(stuck, Stuck)
    assert stuck.error.type == "talk.sayd"


# Keys


def test_a_known_key_is_a_duplicate_whatever_the_payload_and_also_when_the_run_is_over() -> None:
    story = tale()
    assert story.tell(Said("a", 1), key="k") == Accepted(2)
    assert story.tell(Said("a", 2), key="k") == Duplicate(2)
    story.tell(Said("a", 1, (Finish(1),)))
    assert story.tell(Said("a", 3), key="k") == Duplicate(2)
    assert story.records[1].key == "k"
    assert len(story.log) == 3


def test_a_refused_delivery_does_not_use_up_its_key() -> None:
    story = tale()
    assert isinstance(story.tell(Said("a", 1, (Raise("boom"),)), key="k"), Refused)
    assert story.tell(Said("a", 2), key="k") == Accepted(2)


def test_of_two_deliveries_of_one_key_in_one_turn_the_first_counts() -> None:
    story = tale()
    one, two = (Delivery((story.letter(Said("a", body)),), key="k", to_caller=True) for body in (1, 2))
    assert story.give(one, two) == Duplicate(2)
    assert len(story.log) == 2
