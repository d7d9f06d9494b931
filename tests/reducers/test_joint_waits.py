"""A wait that is met in a joint turn: what is found goes to the thread that looked for it, or its time is over."""

from typing import Any

import msgspec
import pytest

from looms.reducers.entries import More
from looms.reducers.errors import InvalidMatch, ModuleError, ReducerError
from looms.reducers.events import Event
from looms.reducers.folded import FoldedRun
from looms.reducers.instructions import Instruction, Reduced, cancel, complete, joint, step
from looms.reducers.items import Found, Look, Start, TimerFired, pack_item, unpack_item
from looms.reducers.lifecycle import Met, Started, TimedOut
from looms.reducers.modules import Module
from looms.reducers.open_waits import WaitKey
from looms.reducers.plan import Accepted, Ignored, Refused, Stuck, plan
from looms.reducers.possible import Possible
from looms.reducers.registry import Registry
from looms.reducers.state import State
from looms.reducers.verifying import divergence
from tests.reducers.story import BEGIN, Story

yard = Module("yard")


@yard.event("called_off")
class CalledOff(Event):
    id: str


class Seen(State):
    found: tuple[tuple[str, Any], ...] = ()
    late: tuple[str, ...] = ()


@yard.reducer("scout", state=Seen)
def scout(state: Seen, event: Started[int] | Met | TimedOut | CalledOff) -> Reduced[Seen]:
    match event:
        case Started(input=count):
            asked: list[Instruction] = [joint(f"a yard {n}", id=f"w{n}", timeout=60 + n) for n in range(count)]
            return step(state, *asked)
        case Met(wait=id, value="explode"):
            raise ZeroDivisionError(id)
        case Met(wait=id, value="enough"):
            return step(msgspec.structs.replace(state, found=(*state.found, (id, "enough"))), complete())
        case Met(wait=id, value=value):
            return msgspec.structs.replace(state, found=(*state.found, (id, value)))
        case TimedOut(wait=id):
            return msgspec.structs.replace(state, late=(*state.late, id))
        case CalledOff(id=id):
            return step(state, cancel(id))


def begun(count: int = 2) -> Story:
    return Story(scout, [yard], count)


def key(story: Story, id: str) -> WaitKey:
    found = story.run.waits.with_id("root", id)
    assert found is not None
    return found


def test_it_is_shown_with_what_it_looks_at_and_no_types() -> None:
    (first, second) = begun().state.waits
    assert (first.id, first.types, first.joint, first.due) == ("w0", (), "a yard 0", BEGIN + 60_000)
    assert second.joint == "a yard 1"


def test_what_is_found_meets_the_wait_that_looked_for_it_and_no_other() -> None:
    story = begun()
    wait = key(story, "w1")
    assert isinstance(story.give(Found(wait, {"n": [1]}, ("other", 7))), Accepted)
    record = story.records[-1]
    assert (record.type, record.origin, record.cause, record.sender) == ("looms.met", "run", 1, ("other", 7))
    assert (record.thread, record.satisfied) == ("root", {"root": "w1"})
    assert story.run.root.state.found == (("w1", {"n": [1]}),)
    assert story.open == [("root", "w0")]


def test_the_value_is_what_will_be_read_from_the_record() -> None:
    story = begun(1)
    story.give(Found(key(story, "w0"), ("a", {"b": (1, 2)}), None))
    assert story.run.root.state.found == (("w0", ["a", {"b": [1, 2]}]),)
    assert story.records[-1].sender is None


def test_what_is_found_a_second_time_or_too_late_changes_nothing() -> None:
    story = begun()
    first, second = key(story, "w0"), key(story, "w1")
    story.give(Found(first, 1))
    assert isinstance(story.give(Found(first, 2)), Ignored)
    story.fire("root", "w1")
    assert isinstance(story.give(Found(second, 2)), Ignored)
    assert story.run.root.state == Seen(found=(("w0", 1),), late=("w1",))


def test_the_deadline_of_one_that_was_met_is_of_no_use() -> None:
    story = begun(1)
    wait = key(story, "w0")
    story.give(Found(wait, 1))
    story.now += 61_000
    assert isinstance(story.give(TimerFired(wait)), Ignored)


def test_to_look_is_up_to_whoever_plans_the_turn() -> None:
    story = begun(1)
    wait = key(story, "w0")
    assert isinstance(story.give(Look(wait)), Ignored)
    assert unpack_item(pack_item(Look(wait, 7))) == Look(wait, 7)
    assert story.open == [("root", "w0")]


def test_one_that_was_called_off_is_met_no_more() -> None:
    story = begun()
    wait = key(story, "w0")
    story.tell(CalledOff(id="w0"))
    assert isinstance(story.give(Found(wait, 1)), Ignored)


def test_a_reducer_that_raises_on_it_gets_stuck_and_the_wait_stays() -> None:
    story = begun(1)
    outcome = story.give(Found(key(story, "w0"), "explode"))
    assert isinstance(outcome, Stuck)
    assert isinstance(outcome.error.__cause__, ZeroDivisionError)
    assert story.open == [("root", "w0")]
    assert isinstance(story.give(Found(key(story, "w0"), "enough")), Accepted)
    assert story.run.status == "completed"


def test_verifying_puts_what_was_found_to_todays_code() -> None:
    story = begun()
    story.give(Found(key(story, "w1"), 1, ("other", 7)))
    run = story.folded(upto=1)
    assert divergence(run, story.entries()[1], story.code) is None


def test_a_record_of_it_that_no_run_could_have_written_is_told() -> None:
    story = begun()
    story.give(Found(key(story, "w1"), 1, ("other", 7)))
    run, entry = story.folded(upto=1), story.entries()[1]
    assert Possible().problem(run, entry) is None

    def changed(**more: object) -> str | None:
        other = story.entries()[1]
        fields = msgspec.structs.asdict(entry.more) | more
        other.row = msgspec.structs.replace(entry.row, more=More(**fields))
        return Possible().problem(run, other)

    assert changed(sender=None) is None
    other_wait = {"satisfied": {"root": "w0"}}
    wrong: list[dict[str, Any]] = [{"cause": None}, {"thread": None}, {"satisfied": {}}, other_wait, {"key": "k"}]
    for more in wrong:
        assert changed(**more) is not None, more
    met = story.folded()
    assert "looks for nothing" in str(Possible().problem(met, entry))


def test_a_reducer_that_does_not_handle_what_is_found_may_not_look() -> None:
    other = Module("blind")

    @other.reducer("mole", state=Seen)
    def mole(state: Seen, event: Started[None]) -> Reduced[Seen]:
        return step(state, joint("a yard", id="w"))

    code = Registry([other])
    (outcome,) = plan(FoldedRun("m", 1, mole.name), [Start(mole.pack_input(None)[0])], code, now=0).outcomes
    assert isinstance(outcome, Refused)
    assert isinstance(outcome.error, ReducerError)
    assert isinstance(outcome.error.__cause__, InvalidMatch)
    assert "looks for a yard" in str(outcome.error)


def test_definitions_have_nothing_to_look_for_by_themselves() -> None:
    with pytest.raises(ModuleError, match="looks for nothing by itself"):
        scout.look(Seen(), "root", "w0")
