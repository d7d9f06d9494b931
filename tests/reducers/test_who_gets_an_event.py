"""Who gets an event: the root, whoever waits for it, whom it is addressed to; and else the mailbox."""

import pytest

from looms.reducers.definitions import ReduceContext
from looms.reducers.instructions import Reduced, complete, spawn, step, wait
from looms.reducers.items import Delivery
from looms.reducers.lifecycle import ChildCompleted, Started
from looms.reducers.modules import Module
from looms.reducers.plan import Accepted, Deferred, Limits
from looms.reducers.state import State
from tests.properties.scripted import (
    Ask,
    Drop,
    Finish,
    Hummed,
    Noted,
    Order,
    Said,
    Say,
    Script,
    SpawnOne,
    WaitFor,
    listener,
    talk,
    teller,
)
from tests.reducers.story import Story


def script(*orders: Order, **on: tuple[Order, ...]) -> Script:
    """What to do at the start, and what on events of the runtime."""
    return Script(orders, on)


def tale(*orders: Order, limits: Limits | None = None, **on: tuple[Order, ...]) -> Story:
    """A run whose root is a teller, which handles all but `Hummed`."""
    return Story(teller, [talk], Script(orders, on), limits)


def said_about(about: str, id: str | None = None, group: str | None = None, timeout: float | None = None) -> WaitFor:
    return WaitFor(("said",), {"about": about}, timeout=timeout, id=id, group=group)


def hummer(id: str, about: str = "a", *then: Order) -> SpawnOne:
    """A child that waits for `Hummed`, which the root does not handle."""
    return SpawnOne("listener", script(WaitFor(("hummed",), {"about": about}), *then), id)


# The root, and whoever waits


def test_the_root_gets_what_it_handles_and_does_not_wait_for() -> None:
    story = tale()
    story.tell(Said("a", 1))
    assert story.records[1].decisions == {"root": ()}
    assert (story.records[1].satisfied, story.state.mailbox) == ({}, ())


def test_a_wait_of_the_root_decides_which_events_of_its_types_it_gets() -> None:
    story = tale(said_about("a", id="w"))
    story.tell(Said("b", 1))
    assert story.records[1].decisions == {}
    assert [mail.event for mail in story.state.mailbox] == [Said("b", 1)]
    story.tell(Said("a", 2))
    assert story.records[2].satisfied == {"root": "w"}
    assert story.open == []


def test_a_parked_root_still_folds_what_it_does_not_wait_for() -> None:
    story = tale(said_about("a", id="w"))
    story.tell(Noted("b", 1))
    assert story.records[1].decisions == {"root": ()}
    assert story.open == [("root", "w")]


def test_a_root_that_waits_no_more_for_a_type_gets_all_of_it_again() -> None:
    story = tale(said_about("a"))
    story.tell(Said("a", 1))
    story.tell(Said("b", 2))
    assert story.records[2].decisions == {"root": ()}


def test_every_thread_with_a_wait_that_matches_gets_it_the_root_first_then_in_the_order_they_were_spawned() -> None:
    waiting = script(said_about("a"))
    story = tale(SpawnOne("teller", waiting, "z"), SpawnOne("listener", waiting, "b"), SpawnOne("teller", waiting, "a"))
    story.tell(Said("a", 1))
    assert list(story.records[-1].decisions) == ["root", "root/z", "root/b", "root/a"]
    assert list(story.records[-1].satisfied) == ["root/z", "root/b", "root/a"]


def test_a_child_gets_nothing_that_it_does_not_wait_for_though_it_handles_it() -> None:
    story = tale(hummer("c", "a"))
    story.tell(Said("a", 1))
    story.tell(Hummed("b", 1))
    assert [list(record.decisions) for record in story.records[2:]] == [["root"], []]
    assert [mail.event for mail in story.state.mailbox] == [Hummed("b", 1)]


def test_a_thread_gets_an_event_once_and_the_oldest_of_its_waits_that_match_is_met() -> None:
    story = tale(said_about("b", id="other"), said_about("a", id="first"), WaitFor(("said",), {}, id="second"))
    story.tell(Said("a", 1))
    assert story.records[-1].satisfied == {"root": "first"}
    assert story.open == [("root", "other"), ("root", "second")]
    assert len(story.state.state.words) == 2


def test_two_equal_events_are_two_events() -> None:
    story = tale(said_about("a", id="first"), said_about("a", id="second"))
    story.tell(Said("a", 1), Said("a", 1))
    assert [record.satisfied for record in story.records[1:]] == [{"root": "first"}, {"root": "second"}]


def test_the_reducer_is_told_which_of_its_waits_was_met() -> None:
    story = tale(said_about("a", id="w"))
    story.tell(Said("a", 1))
    assert story.state.state.words[-1].startswith(f"r1 root 2 {story.now} w Said(")


def test_who_took_an_event_is_told_in_the_order_of_the_taking_also_when_it_is_read_back() -> None:
    story = tale(hummer("b"), hummer("a"))
    story.tell(Hummed("a", 1))
    assert list(story.records[-1].decisions) == ["root/b", "root/a"]


# Groups


def test_when_one_wait_of_a_group_is_met_the_others_are_retired() -> None:
    story = tale(said_about("a", "w1", "g"), said_about("b", "w2", "g"), said_about("c", "w3"))
    story.tell(Said("b", 1))
    assert story.open == [("root", "w3")]


def test_when_one_wait_of_a_group_times_out_the_others_are_retired() -> None:
    story = tale(said_about("a", "w1", "g", timeout=5), said_about("b", "w2", "g"), said_about("c", "w3"))
    story.fire("root", "w1")
    assert story.open == [("root", "w3")]


def test_the_waits_of_a_group_are_a_threads_own() -> None:
    story = tale(
        said_about("a", "w", "g"), SpawnOne("teller", script(said_about("b", "w", "g"), said_about("c", "v", "g")), "c")
    )
    story.tell(Said("b", 1))
    assert story.open == [("root", "w")]


# The mailbox


def test_an_event_that_nobody_takes_waits_for_the_next_wait_that_matches_which_takes_the_oldest() -> None:
    story = tale(said_about("x", id="never"))
    for number in (1, 2):
        story.tell(Said("a", number))
    story.tell(Noted("b", None, (said_about("a", id="late", timeout=60),)))
    assert [(mail.seq, mail.event) for mail in story.state.mailbox] == [(3, Said("a", 2))]
    taken = story.records[-1]
    assert (taken.type, taken.payload, taken.cause, taken.thread, taken.origin) == (
        "looms.taken",
        {"seq": 2},
        4,
        "root",
        "thread",
    )
    assert taken.satisfied == {"root": "late"}
    assert story.state.state.last == 1
    assert story.open == [("root", "never")]  # and no timer of the wait that took it


def test_a_taken_event_is_not_recorded_twice() -> None:
    story = tale(said_about("x", id="never"))
    story.tell(Said("a", 1))
    story.tell(Noted("b", None, (said_about("a"),)))
    assert story.types == ["looms.started", "talk.said", "talk.noted", "looms.taken"]


def test_waits_made_side_by_side_take_in_the_order_in_which_they_were_made() -> None:
    story = tale(said_about("x", id="never"))
    story.tell(Said("a", 1), Said("a", 2))
    story.tell(Noted("b", None, (said_about("a", id="first"), said_about("a", id="second"))))
    assert [record.satisfied for record in story.records[-2:]] == [{"root": "first"}, {"root": "second"}]
    assert [record.payload for record in story.records[-2:]] == [{"seq": 2}, {"seq": 3}]


def test_what_a_reducer_emits_is_given_to_whoever_waits_now_and_never_kept() -> None:
    story = tale(said_about("a", id="w"), Say("said", "a", 1), Say("said", "b", 2), Say("hummed", "c", 3))
    story.tell(Noted("n", None, (said_about("b"), WaitFor(("said",), {}, id="more"))))
    assert [record.satisfied for record in story.records[1:4]] == [{"root": "w"}, {}, {}]
    assert [list(record.decisions) for record in story.records[1:4]] == [["root"], ["root"], []]
    assert story.state.mailbox == ()
    assert len(story.open) == 2


def test_events_of_the_runtime_are_never_kept() -> None:
    story = Story(listener, [talk], script(SpawnOne("teller", script(Finish(1)), "c")))
    assert story.types == ["looms.started", "looms.started", "looms.child_completed"]
    assert story.records[-1].decisions == {}
    assert story.state.mailbox == ()


def test_a_full_mailbox_refuses_what_nobody_takes_and_nothing_else() -> None:
    story = tale(limits=Limits(mailbox=2))
    story.tell(Hummed("a", 1), Hummed("a", 2))
    error = story.refusal(Hummed("a", 3))
    assert "MailboxFull" in repr(error)
    assert "r1" in str(error)
    assert "talk.hummed" in str(error)
    assert isinstance(story.tell(Said("a", 4)), Accepted)


def test_what_other_runs_send_to_a_full_mailbox_waits_in_the_durable_inbox() -> None:
    story = tale(limits=Limits(mailbox=0))
    sent = Delivery((story.letter(Hummed("a", 1)),), "run", sender=("r2", 1), sender_thread="root")
    assert story.give(sent) == Deferred()
    assert story.types == ["looms.started"]


# Addressed events


def test_what_an_effect_answers_goes_to_the_thread_that_asked_and_to_nobody_else() -> None:
    story = tale(said_about("a", id="w"), SpawnOne("teller", script(Ask("fetch", 1)), "c"))
    story.answer((2, 0), Said("a", 1))
    answer = story.records[-1]
    assert (answer.thread, answer.origin, answer.effect_id, answer.cause) == ("root/c", "effect", "r1:2:0", 2)
    assert list(answer.decisions) == ["root/c"]
    assert story.open == [("root", "w")]


def test_an_answer_meets_the_wait_of_the_thread_that_asked() -> None:
    story = tale(Ask("fetch", 1), said_about("a", id="w"), SpawnOne("teller", script(said_about("a", id="v")), "c"))
    story.answer((1, 0), Said("a", 1))
    assert story.records[-1].satisfied == {"root": "w"}
    assert story.open == [("root/c", "v")]


def test_an_answer_that_its_thread_does_not_take_yet_is_kept_for_that_thread_alone() -> None:
    child = script(Ask("fetch", 1), said_about("never"))
    story = tale(SpawnOne("teller", child, "c"), said_about("x", id="never"))
    story.answer((2, 0), Said("a", "for the child"))
    assert [mail.thread for mail in story.state.mailbox] == ["root/c"]
    story.tell(Noted("n", None, (said_about("a", id="w"),)))
    assert story.types[-1] == "talk.noted"
    assert ("root", "w") in story.open
    story.tell(Said("never", None, (said_about("a", id="v"),)))
    assert (story.records[-1].type, story.records[-1].thread) == ("looms.taken", "root/c")


def test_mail_for_a_thread_goes_with_it() -> None:
    child = script(Ask("fetch", 1), said_about("never"))
    story = tale(SpawnOne("teller", child, "c"))
    story.answer((2, 0), Said("a", 1))
    assert [mail.thread for mail in story.state.mailbox] == ["root/c"]
    story.tell(Noted("n", None, (Drop("c"), SpawnOne("teller", script(said_about("a")), "c"))))
    assert not story.state.mailbox
    assert [thread for thread, _ in story.open] == ["root/c"]


def test_a_failure_is_told_to_the_thread_whatever_it_waits_for() -> None:
    story = tale(Ask("fetch", 1), said_about("a", id="w"), EffectFailed=(Finish("gone"),))
    story.give_up((1, 0))
    assert (story.state.status, story.state.output) == ("completed", "gone")


# What may be waited for


def test_a_wait_for_a_type_that_the_reducer_does_not_handle_is_refused() -> None:
    story = tale()
    error = story.refusal(Said("a", None, (WaitFor(("said", "hummed"), {}),)))
    assert "InvalidMatch" in repr(error.__cause__)
    assert "talk.teller waits for talk.hummed, which its reducer does not handle" in str(error)


@pytest.mark.parametrize("id", ["w", "1:0"])
def test_a_wait_is_known_by_its_id_given_or_made(id: str) -> None:
    story = tale(said_about("a", id=None if id == "1:0" else id))
    assert story.open == [("root", id)]
    story.tell(Noted("n", None, (Drop(id),)))
    assert story.open == []


def test_a_wait_may_name_an_event_of_the_runtime_and_the_others_of_its_type_come_all_the_same() -> None:
    told: list[tuple[str, str | None]] = []
    parents = Module("parents", requires=[talk])

    @parents.reducer("parent", state=State)
    def parent(state: State, event: Started[None] | ChildCompleted, ctx: ReduceContext) -> Reduced[State]:
        if isinstance(event, ChildCompleted):
            told.append((event.thread, ctx.wait))
            return state
        children = (spawn(teller, script(WaitFor(("said",), {"about": id}), Finish(id)), id=id) for id in ("b", "a"))
        return step(state, wait(ChildCompleted, match={"thread": "root/a"}, id="a is done"), *children)

    Story(parent, [talk, parents])
    assert told[:2] == [("root/b", None), ("root/a", "a is done")]


def test_a_reducer_is_told_on_a_replay_what_was_decided() -> None:
    seen: list[tuple[int, object]] = []
    keeping = Module("keeping")

    @keeping.reducer("keeper", state=State)
    def keeper(state: State, event: Started[None], ctx: ReduceContext) -> Reduced[State]:
        seen.append((ctx.seq, ctx.recorded))
        return step(state, complete(1))

    story = Story(keeper, [keeping])
    seen.clear()
    story.folded()
    assert seen == [(1, (complete(1),))]
    seen.clear()
    Story(keeper, [keeping])
    assert seen[0] == (1, None)
