"""The ids of waits and threads within a run."""

from looms.reducers.errors import InvalidInput, ReducerError
from looms.reducers.items import (
    SignalReturned,
)
from looms.reducers.plan import Ignored
from tests.properties.scripted import (
    Drop,
    Finish,
    Noted,
    Said,
    Say,
    Tell,
    WaitFor,
)
from tests.reducers.tales import child, tale


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
