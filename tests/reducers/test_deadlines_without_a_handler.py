"""A sleep or a deadline that nobody would hear of is refused when it is decided."""

import pytest

from looms.reducers.errors import InvalidMatch, ReducerError
from looms.reducers.events import Event
from looms.reducers.folded import FoldedRun
from looms.reducers.instructions import Instruction, Reduced, sleep, step, wait
from looms.reducers.items import Start
from looms.reducers.lifecycle import Started
from looms.reducers.modules import Module
from looms.reducers.plan import Refused, plan
from looms.reducers.registry import Registry
from looms.reducers.state import State

drowsy = Module("drowsy")


@drowsy.event("rang")
class Rang(Event):
    pass


ASKED: dict[str, Instruction] = {"sleep": sleep(10), "deadline": wait(Rang, timeout=10)}


@drowsy.reducer("sleeper", state=State)
def sleeper(state: State, event: Started[str] | Rang) -> Reduced[State]:
    return step(state, ASKED[event.input]) if isinstance(event, Started) else state


@pytest.mark.parametrize("asked", ASKED)
def test_a_reducer_that_does_not_handle_timed_out_may_not_ask_for_it(asked: str) -> None:
    code = Registry([drowsy])
    run = FoldedRun("s1", 1, sleeper.name)
    data, _ = sleeper.pack_input(asked)
    turn = plan(run, [Start(data)], code, now=0)
    (outcome,) = turn.outcomes
    assert isinstance(outcome, Refused)
    assert isinstance(outcome.error, ReducerError)
    assert isinstance(outcome.error.__cause__, InvalidMatch)
    assert "drowsy.sleeper sleeps or sets a deadline" in str(outcome.error)
    assert "name TimedOut in the annotation" in str(outcome.error)
    assert (turn.entries, run.seq) == ([], 0)
