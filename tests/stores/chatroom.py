"""A conversation that many share."""

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from looms import State


class Message(msgspec.Struct, frozen=True):
    id: str
    content: str = ""
    processed: bool = False
    takers: list[str] = msgspec.field(default_factory=list)


class Profile(msgspec.Struct, frozen=True):
    name: str = ""
    city: str = ""


class Conversation(State):
    messages: list[Message] = msgspec.field(default_factory=list)
    status: Literal["idle", "working"] = "idle"
    profile: Profile = Profile()
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    tags: set[str] = msgspec.field(default_factory=set)
    counter: int = 0
    tag: Profile | None = None
    anything: Any = None


TWO = Conversation(messages=[Message(id="m1"), Message(id="m2")], labels={"a": "a", "b": "b"}, tags={"t"})


def append(*ids: str) -> Callable[[Any], None]:
    """An updater that appends messages with these ids."""

    def update(draft: Any) -> None:
        for id in ids:
            draft.messages.append(Message(id=id))

    return update


def put(**values: Any) -> Callable[[Any], None]:
    """An updater that sets fields."""

    def update(draft: Any) -> None:
        for name, value in values.items():
            setattr(draft, name, value)

    return update


def first_unprocessed(state: Any) -> Any:
    return next((message for message in state.messages if not message.processed), None)


def mark_processed(draft: Any, message: Message) -> None:
    next(m for m in draft.messages if m.id == message.id).processed = True
