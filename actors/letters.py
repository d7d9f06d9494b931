"""Letters: events on their way to a run, checked and encoded."""

from typing import Any

from looms.reducers.effects import Effect
from looms.reducers.errors import InvalidEvent
from looms.reducers.events import Event
from looms.reducers.items import Letter
from looms.reducers.messages import shown
from looms.reducers.registry import Registry


def letters_of(answer: Any, effect: Effect[Any], code: Registry) -> tuple[Letter, ...]:
    """What a handler answered, as it will be recorded.

    Raises:
        TypeError: it is neither an event, nor several, nor None.
        UnknownEvent, InvalidEvent: an event that cannot be recorded.
    """
    events = () if answer is None else answer if isinstance(answer, list | tuple) else (answer,)
    for event in events:
        if not isinstance(event, Event):
            raise TypeError(
                f"{effect.name} answered with a {type(event).__name__}; "
                "a handler returns an event, a list of events, or None"
            )
    return tuple(letter_of(event, code) for event in events)


def letter_of(event: Event, code: Registry) -> Letter:
    """An event, checked, on its way.

    Raises:
        UnknownEvent, InvalidEvent: it cannot be recorded.
    """
    if not isinstance(event, Event):
        given = "the class; give an event of it" if isinstance(event, type) else "not an event"
        raise InvalidEvent(f"{shown(event)} is {given}")
    kind = code.event_of(event)
    return Letter(kind.name, kind.version, kind.pack(event)[0])
