"""A turn: an item and all that follows from it, or nothing."""

import pytest

from looms.reducers.errors import InvalidInput, InvalidMatch, ReducerError, RunFinished, TurnTooLong, UnknownEvent
from looms.reducers.instructions import Reduced, sleep, spawn, step
from looms.reducers.items import (
    CancelAsked,
    Delivery,
    EffectAnswer,
    EffectGaveUp,
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
from looms.reducers.plan import Accepted, Deferred, Duplicate, Ignored, Limits, Refused, Stuck, Undelivered, plan
from looms.reducers.state import State
from looms.reducers.views import view
from tests.properties.scripted import (
    Ask,
    Botch,
    Drop,
    Finish,
    GiveUp,
    Hummed,
    Noted,
    Order,
    Raise,
    Said,
    Say,
    Script,
    Sleep,
    SpawnOne,
    Tell,
    WaitFor,
    Withdraw,
    listener,
    talk,
    teller,
)
from tests.reducers.story import BEGIN, Story


def script(*orders: Order, **on: tuple[Order, ...]) -> Script:
    """What to do at the start, and what on events of the runtime."""
    return Script(orders, on)


def tale(*orders: Order, limits: Limits | None = None, **on: tuple[Order, ...]) -> Story:
    """A run whose root is a teller, which handles all but `Hummed`."""
    return Story(teller, [talk], Script(orders, on), limits)


def child(id: str | None, *orders: Order, **on: tuple[Order, ...]) -> SpawnOne:
    return SpawnOne("teller", Script(orders, on), id)


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


# Ids


def test_the_id_of_a_wait_that_is_open_is_not_used_twice() -> None:
    story = tale(WaitFor(("said",), {"about": "a"}, id="w"))
    error = story.refusal(Noted("n", None, (WaitFor(("said",), {"about": "b"}, id="w"),)))
    assert isinstance(error, ReducerError)
    assert isinstance(error.__cause__, InvalidInput)
    assert "wait(id='w'): thread root has an open wait of that id" in str(error)
    story.tell(Noted("n", None, (Drop("w"), WaitFor(("said",), {"about": "b"}, id="w"))))
    story.tell(Said("b", None, (WaitFor(("said",), {"about": "c"}, id="w"),)))
    assert [(wait.id, wait.match) for wait in story.state.waits] == [("w", {"about": "c"})]


def test_an_id_that_was_made_may_be_in_use_too() -> None:
    story = tale(WaitFor(("said",), {"about": "a"}, id="2:0"))
    error = story.refusal(Noted("n", None, (WaitFor(("said",), {}),)))
    assert "wait(id='2:0')" in str(error)
    story = tale(child("3.0"))
    error = story.refusal(Noted("n", None, (child(None),)))
    assert "root/3.0 is alive" in str(error)


def test_the_id_of_a_child_that_is_alive_is_not_used_twice() -> None:
    story = tale(child("c", WaitFor(("said",), {"about": "go"})))
    error = story.refusal(Noted("n", None, (child("c"),)))
    assert isinstance(error.__cause__, InvalidInput)
    assert "spawn(id='c')" in str(error)
    assert "root/c" in str(error)
    story.tell(Said("go", None, (Finish(1),)))
    assert story.state.status == "completed"


def test_two_children_of_different_parents_may_share_an_id() -> None:
    story = tale(child("c", child("c")))
    assert list(story.state.threads) == ["root", "root/c", "root/c/c"]


def test_a_thread_id_that_grows_too_long_is_refused() -> None:
    long = "x" * 200
    story = tale(child(long))
    error = story.refusal(Said("a", None, (child("y" * 251),)))
    assert isinstance(error.__cause__, InvalidInput)
    assert "255 bytes" in str(error)


def test_a_child_in_place_of_one_that_was_not_started_yet_is_started_once_with_its_own_input() -> None:
    story = tale(child("c", Say("said", "a", "first")), Drop("c", "too slow"), child("c", Say("said", "a", "second")))
    assert [(r.type, r.thread) for r in story.records] == [
        ("looms.started", "root"),
        ("looms.child_cancelled", "root"),
        ("looms.started", "root/c"),
        ("talk.said", None),
    ]
    assert story.records[-1].payload["body"] == "second"


def test_a_child_does_not_get_the_event_that_led_to_its_birth_though_one_of_its_id_waited_for_it() -> None:
    story = tale(child("c", WaitFor(("said",), {})))
    story.tell(Said("a", 1, (Drop("c"), child("c", WaitFor(("noted",), {})))))
    assert list(story.records[2].decisions) == ["root"]
    (word,) = story.state.threads["root/c"].state.words
    assert "Started(" in word


def test_a_child_is_not_told_of_the_children_of_one_that_had_its_id() -> None:
    story = tale(WaitFor(("said",), {"about": "root"}), child("c", child("d", WaitFor(("said",), {}))))
    replaced = Say("noted", "root", None, (Drop("c"), child("c")))
    story.tell(Said("d", 1, (replaced, Finish("of d"))))
    assert [(r.type, r.thread) for r in story.records[3:]] == [
        ("talk.said", None),
        ("talk.noted", None),
        ("looms.child_cancelled", "root"),
        ("looms.started", "root/c"),
    ]


def test_news_of_a_signal_is_not_given_to_a_thread_that_has_the_senders_id_since() -> None:
    story = tale(child("c", Tell("r2", 1)))
    (told,) = [record.seq for record in story.records if record.decisions.get("root/c")]
    story.tell(Said("a", 1, (Drop("c"), child("c"))))
    assert story.give(SignalReturned(told, "root/c", "r2", "talk.said", "it is over")) == Ignored()


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
