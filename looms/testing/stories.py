"""Short stories of a reducer: each state that a few made-up events lead to, and each event in it."""

import copy
from collections.abc import Iterator, Sequence
from typing import Any

from looms.reducers.definitions import Definition, Projection
from looms.reducers.events import Event
from looms.reducers.instructions import Step
from looms.reducers.lifecycle import Started
from looms.testing.differing import said
from looms.testing.examples import examples
from looms.testing.watching import Impure, watched

Reducer = Definition[Any, Any, Any] | Projection[Any]

STATES = 20  # that are looked at
LENGTH = 4  # of a story


def stories(reducer: Reducer, state: Any = None, events: Sequence[Event] = ()) -> Iterator[tuple[Any, Event]]:
    """States, each with an event that the reducer might get in it.

    Args:
        reducer: who gets them.
        state: where it begins; as the reducer says without.
        events: the events; made up of the types that it handles without. Given ones are told once, in their order.
    """
    first = reducer.state() if state is None else state
    if events:
        for event in events:
            yield first, event
            first = after(reducer, first, event, first)
        return
    made = [event for cls in sorted(reducer.handles, key=_begins) for event in made_up(reducer, cls)]
    seen, now = {said(first)}, [first]
    for _ in range(LENGTH):
        then = []
        for one in now:
            for event in made:
                yield one, event
                new = after(reducer, one, event, None)
                if new is not None and said(new) not in seen and len(seen) < STATES:
                    seen.add(said(new))
                    then.append(new)
        now = then


def made_up(reducer: Reducer, cls: type[Event]) -> list[Any]:
    """A few events of a class that a reducer handles."""
    if cls is Started:
        inputs = reducer.inputs.type if isinstance(reducer, Definition) else Any
        return [Started(input) for input in examples(inputs)]
    return examples(cls)


def after(reducer: Reducer, state: Any, event: Event, otherwise: Any) -> Any:
    """The state that a reducer answers with, given copies; something else where it raises."""
    try:
        with watched():
            answer = reducer(copy.deepcopy(state), copy.deepcopy(event))
    except (Exception, Impure):  # noqa: BLE001 - made-up events need not make sense to it
        return otherwise
    new = answer.state if isinstance(answer, Step) else answer
    return new if type(new) is reducer.state else otherwise


def _begins(cls: type[Event]) -> tuple[bool, str]:
    return cls is not Started, cls.__name__
