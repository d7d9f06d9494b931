"""What steps give, read from the journal: each as the type that today's code says."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from looms.reducers.codec import Codec, encode
from looms.reducers.events import Event, EventType, event_type
from looms.workflows.events import read
from looms.workflows.journal import JournalEntry

Events = Callable[[], Iterable[EventType[Any]]]
"""The events that a workflow's module and those that it requires declare."""


ValueOf = Callable[[JournalEntry], Any]
"""Makes what a step gives of its entry."""


def as_it_is(entry: JournalEntry) -> Any:
    """Plain data."""
    return entry.value


def typed(codec: Codec[Any]) -> ValueOf:
    """What a function returned, or a child."""
    return lambda entry: codec.unpack(encode(entry.value))


def one_of(kinds: Iterable[EventType[Any]]) -> Callable[[JournalEntry], Event]:
    """The event that a wait got."""
    known = tuple(kinds)
    return lambda entry: read(entry.value, known)


def answered(declared: Iterable[type[Event]], events: Events) -> ValueOf:
    """What an effect returned: its event, or several as a tuple, or None.

    Args:
        declared: the classes that its annotation names.
        events: where those are looked for that it does not name.
    """

    def kinds() -> Iterator[EventType[Any]]:
        yield from [event_type(cls) for cls in declared if cls is not Event]
        yield from events()

    def value_of(entry: JournalEntry) -> Any:
        returned = tuple([read(one, kinds()) for one in entry.value or ()])
        return returned[0] if len(returned) == 1 else returned or None

    return value_of


def timed_out(name: str) -> Callable[[JournalEntry], Exception]:
    """What a wait raises that nobody met in time."""
    return lambda entry: TimeoutError(f"{entry.key}: no {name} came in time")
