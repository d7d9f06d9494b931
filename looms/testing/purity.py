"""Is a reducer pure? Looked at while it runs, and read from its code."""

import copy
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

from looms.reducers.annotations import called
from looms.reducers.codec import Unfit
from looms.reducers.definitions import Definition, Projection
from looms.reducers.errors import InvalidEvent, InvalidInput
from looms.reducers.events import Event, event_type
from looms.reducers.givens import refused
from looms.reducers.instructions import Step
from looms.reducers.lifecycle import Started
from looms.testing.differing import first_place, said
from looms.testing.impurities import Deed
from looms.testing.naming import named, stored, things
from looms.testing.stories import Reducer, stories
from looms.testing.watching import Impure, in_zone, watched
from looms.workflows.definition import WorkflowDefinition

MUTABLE = (list, dict, set, bytearray)
ZONES = ("LMA+11:23", "LMB-13:37")  # no machine's


def assert_pure(reducer: Definition[Any, Any, Any] | Projection[Any], *events: Event, state: Any = None) -> None:
    """Check that a reducer, or a projection, depends on its state and its event alone, and changes neither.

    It is called with the events, one after the other, or without any with made-up events of the types that it handles,
    in the states that they lead to; each time twice, on equal copies, as if the machine stood in another time zone the
    second time. It must not look at the clock, at the machine's time zone, at randomness, at files, sockets, processes
    or the environment, nor start threads; not change its state, its event or a global (a list in a frozen struct can be
    changed, and then neither replay nor a snapshot is right any more); and answer the same both times. Its code, and
    that of the functions of its package that it calls, is read for what it names too, so a branch that no event reached
    is seen as well.

    What it cannot see: a branch that no event reached, where what it calls comes from elsewhere than a global; clocks
    and randomness of C libraries where two answers happen to be equal; an order that comes from ``hash()``, such as
    that of a set of texts, which is the same within one process; an ``id()`` of which only the order counts; what other
    modules' globals hold, and those of functions that it calls. Made-up values are simple ones: give events of your own
    where a reducer tells them apart by more than their type. A reducer that raises is not thereby impure; but one that
    raises on an event that you gave raises here.

    Args:
        reducer: as ``@module.reducer`` or ``@module.projection`` left it.
        events: told in this order, each in the state after the one before.
        state: where it begins; without, ``state()`` of its state's class.

    Raises:
        InvalidInput: what was given is no reducer, or none that has such an event or state.
        InvalidEvent: an event of which a field is not what its class says, which could not be recorded.
        AssertionError: it is not pure; the message says what it does, on which event, and in which line.
    """
    if not isinstance(reducer, Definition | Projection):
        refused("reducer", reducer, "one as @module.reducer or @module.projection left it")
    if isinstance(reducer, WorkflowDefinition):
        raise InvalidInput(
            f"{reducer.name} is a workflow, which is played and not reduced: start it in looms.testing.runtime, and "
            "have assert_replays play the run again"
        )
    for event in events:
        if type(event) not in reducer.handles:
            raise InvalidInput(f"{reducer.name} does not handle {type(event).__name__}, so it never gets one")
        _check_fields(reducer, event)
    if state is not None and type(state) is not reducer.state:
        raise InvalidInput(
            f"{reducer.name} has a {reducer.state.__name__} as its state, never a {type(state).__name__}"
        )
    for found in impurities(reducer, *events, state=state):
        raise AssertionError(f"{reducer.name} is not pure: {found}")


def _check_fields(reducer: Reducer, event: Event) -> None:
    """Refuse an event that could not be recorded: a reducer never gets one.

    Raises:
        InvalidEvent: it could not; the message says where.
    """
    if not isinstance(event, Started):
        event_type(type(event)).pack(event)
    elif isinstance(reducer, Definition):
        try:
            reducer.inputs.pack(event.input)
        except Unfit as error:
            raise InvalidEvent(f"looms.started: the input of {reducer.name}: {error}") from error


def impurities(reducer: Reducer, *events: Event, state: Any = None) -> Iterator[str]:
    """What there is that is not pure, each as a clause."""
    function = called(reducer.function)
    told: set[str] = set()
    for before, event in stories(reducer, state, events):
        for found in _watched(reducer, function, before, event, given=bool(events)):
            if found not in told:
                told.add(found)
                yield f"on {type(event).__name__} it {found}"
    for deed in named(function):
        if str(deed) not in told:
            told.add(str(deed))
            yield f"its code {deed}"


def _watched(reducer: Reducer, function: Callable[..., Any], state: Any, event: Event, *, given: bool) -> Iterator[str]:
    answers = []
    around = list(_around(function))
    for zone in ZONES:
        mine, its = copy.deepcopy(state), copy.deepcopy(event)
        rebound = _rebound(function)
        answer, deeds = _asked(reducer, mine, its, zone, given=given)
        if deeds:
            yield str(deeds[0])
            return
        answers.append((said(answer), answer))
        for what, was, now in (("state", state, mine), ("event", event, its)):
            if said(was) != said(now):
                yield f"changes the {what} that it was given, at `{first_place(was, now)}`; answer with a new one"
                return
        for name, was, now in around:
            if was != now:
                yield f"changes `{name}`, which is not its own"
                return
    for name, now in _rebound(function).items():  # the second time: what is made once and kept depends on nothing
        if now is not rebound[name]:
            yield f"changes `{name}`, which is not its own"
            return
    (first, one), (second, other) = answers
    if first != second:
        place = first_place(_plain(one), _plain(other))
        again, _ = _asked(reducer, copy.deepcopy(state), copy.deepcopy(event), ZONES[0], given=False)
        if said(again) == first:
            yield f"answers differently in another time zone of the machine, at `{place}`"
        else:
            yield f"answers differently when it is asked again, at `{place}`"


def _asked(reducer: Reducer, state: Any, event: Event, zone: str, *, given: bool) -> tuple[Any, list[Deed]]:
    """What it answers, or the name of what it raises; and what was impure."""
    answer: Any = None
    deeds: list[Deed] = []
    try:
        with in_zone(zone), watched() as deeds:
            answer = reducer(state, event)
    except Impure:
        pass
    except Exception as error:
        if given and not deeds:
            raise
        answer = type(error).__name__
    return answer, deeds


def _rebound(function: Callable[..., Any]) -> dict[str, Any]:
    """The globals that a function binds anew, as they are now."""
    plain = getattr(function, "__func__", function)
    if not isinstance(plain, FunctionType):
        return {}
    return {name: plain.__globals__.get(name) for name in stored(plain)}


def _around(function: Callable[..., Any]) -> Iterator[tuple[str, Any, Any]]:
    """The globals that a function names and could change, each with a copy of what it is now."""
    plain = getattr(function, "__func__", function)
    if isinstance(plain, FunctionType):
        for thing, name, _, _ in things(plain):
            if isinstance(thing, MUTABLE):
                yield name, copy.copy(thing), thing


def _plain(answer: Any) -> Any:
    return {"state": answer.state, "instructions": answer.instructions} if isinstance(answer, Step) else answer
