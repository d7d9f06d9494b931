"""Events in a journal: by name and version, so that another version of the code reads them as its own."""

from collections.abc import Iterable
from typing import Any

from looms.reducers.codec import encode, plain
from looms.reducers.errors import InvalidEvent
from looms.reducers.events import Event, EventType, event_type


def kept(event: Event) -> dict[str, Any]:
    """An event as it stands in a journal."""
    kind = event_type(type(event))
    return {"type": kind.name, "version": kind.version, "payload": plain(encode(event))}


def read(value: dict[str, Any], kinds: Iterable[EventType[Any]]) -> Event:
    """An event of a journal, as today's class.

    Args:
        value: as it stands there.
        kinds: what it may be.

    Raises:
        InvalidEvent: it is none of them, or there is no way from its version to today's.
    """
    name = value["type"]
    kind = next((kind for kind in kinds if name in kind.names), None)
    if kind is None:
        raise InvalidEvent(f"{name} is none of the events that are looked for there")
    event: Event = kind.unpack(encode(value["payload"]), value["version"])
    return event
