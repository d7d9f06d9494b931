"""What a reducer may ask for: instructions are data, and a step is a state with instructions beside it."""

from datetime import datetime
from typing import Any, Generic, TypeAlias, TypeVar, Union

import msgspec

from looms.reducers.errors import InvalidMatch
from looms.reducers.events import Event, event_type
from looms.reducers.ids import checked_id
from looms.reducers.matching import plain_match
from looms.reducers.messages import shown
from looms.reducers.moments import LAST, is_seconds, millis

S = TypeVar("S")


class Invoke(
    msgspec.Struct, frozen=True, tag_field="instruction", tag="invoke", omit_defaults=True, repr_omit_defaults=True
):
    """Run an effect with this request; `id`: what the thread calls it."""

    effect: str
    request: Any
    id: str | None = None


class Emit(msgspec.Struct, frozen=True, tag_field="instruction", tag="emit"):
    """Record this event in this run."""

    event: Any


class Wait(msgspec.Struct, frozen=True, tag_field="instruction", tag="wait", omit_defaults=True):
    """Park until an event of these types contains the match, or the deadline passes. A sleep has no types.

    One with `joint` is met in a joint turn instead, in which its thread looks whether what it waits for is there; the
    text says for people what it looks at.
    """

    types: tuple[str, ...] = ()
    match: dict[str, Any] = {}
    timeout: int | float | None = None  # seconds from the record that decides it
    deadline: int | None = None  # milliseconds since 1970
    id: str | None = None
    group: str | None = None
    joint: str | None = None


class Spawn(msgspec.Struct, frozen=True, tag_field="instruction", tag="spawn"):
    """Start a child thread of this definition."""

    definition: str
    input: Any = None
    id: str | None = None


class Signal(msgspec.Struct, frozen=True, tag_field="instruction", tag="signal"):
    """Send an event to another run."""

    run_id: str
    event: Any


class Publish(msgspec.Struct, frozen=True, tag_field="instruction", tag="publish"):
    """Send an event to every run that waits for it."""

    event: Any


class Complete(msgspec.Struct, frozen=True, tag_field="instruction", tag="complete"):
    """End this thread with an output."""

    output: Any = None


class Fail(msgspec.Struct, frozen=True, tag_field="instruction", tag="fail"):
    """End this thread as failed."""

    reason: str


class Cancel(msgspec.Struct, frozen=True, tag_field="instruction", tag="cancel"):
    """End this thread's child, wait or effect of that id."""

    id: str
    reason: str = ""


class EndCancelled(msgspec.Struct, frozen=True, tag_field="instruction", tag="cancelled"):
    """End this thread as cancelled."""

    reason: str = ""


class Note(msgspec.Struct, frozen=True, tag_field="instruction", tag="note"):
    """Nothing to do, but to be recorded: what a thread folds its state from that folds it from what was decided."""

    data: Any


class Restart(msgspec.Struct, frozen=True, tag_field="instruction", tag="restart"):
    """End all that this thread waits for and has begun, and start it again with an input."""

    input: Any = None


Instruction: TypeAlias = (
    Invoke | Emit | Wait | Spawn | Signal | Publish | Complete | Fail | Cancel | EndCancelled | Note | Restart
)


class Step(msgspec.Struct, Generic[S], frozen=True):
    """A new state, and what the reducer asks for."""

    state: S
    instructions: tuple[Instruction, ...] = ()


Reduced: TypeAlias = Union[S, Step[S]]  # noqa: UP007 - a generic alias must be subscriptable at run time
"""What a reducer answers with: a state, or a step."""


def step(state: S, *instructions: Instruction) -> Step[S]:
    """A new state, and what the reducer asks for, in order."""
    return Step(state, instructions)


def invoke(effect: Any, request: Any = None, *, id: str | None = None) -> Invoke:
    """Ask for an effect: its handler is called with the request once this decision is committed.

    Args:
        effect: an effect of a module, as ``@module.effect`` left it.
        request: what it takes; checked against the handler's annotation when it is decided.
        id: a name for it among the effects of this thread, 1 to 255 bytes of UTF-8, to cancel it by.
    """
    if not hasattr(effect, "pack_request"):
        raise TypeError(f"invoke takes an effect declared with @module.effect, not {shown(effect)}")
    return Invoke(effect.name, request, _id(id, "the id of an invoke"))


def emit(event: Event) -> Emit:
    """Ask for an event to be recorded in this run, in this turn."""
    return Emit(_event(event, "emit"))


def wait(
    *events: type[Event],
    match: dict[str, Any] | None = None,
    timeout: float | None = None,
    deadline: datetime | None = None,
    id: str | None = None,
    group: str | None = None,
) -> Wait:
    """Ask to be parked until an event comes, or a deadline passes.

    Args:
        events: the classes of the events; one of any of them will do.
        match: the part of a payload that the event must contain; without it any event of the types will do.
        timeout: seconds, from the moment of this decision, after which ``TimedOut`` comes instead.
        deadline: the same as a moment with a time zone.
        id: a name for this wait among those of this thread, 1 to 255 bytes of UTF-8.
        group: waits of this thread with the same group are alternatives: when one is met, the rest are retired.

    Raises:
        InvalidInput: an id or a group that is none.
        InvalidMatch: the match has a key that one of the types does not have, or cannot be stored.
        UnknownEvent: a class that no module registered.
        ValueError: a timeout that is no number of seconds, a deadline without a zone, neither types nor a deadline.
    """
    types = tuple(dict.fromkeys(event_type(event) for event in events))
    if not types:
        if match:
            raise InvalidMatch("wait: a match without an event type; name the events that should contain it")
        if timeout is None and deadline is None:
            raise ValueError("wait() without an event and without a timeout would never end; give one of them")
    return Wait(
        types=tuple(kind.name for kind in types),
        match={} if match is None else plain_match(match, types),
        timeout=_seconds(timeout, "timeout"),
        deadline=None if deadline is None else millis(deadline),
        id=_id(id, "the id of a wait"),
        group=_id(group, "the group of a wait"),
    )


def sleep(seconds: float | None = None, *, until: datetime | None = None, id: str | None = None) -> Wait:
    """Ask to be parked for a number of seconds, or until a moment with a time zone; then ``TimedOut`` comes.

    Raises:
        ValueError: not exactly one of the two, no number of seconds, or a moment without a zone.
    """
    if (seconds is None) == (until is None):
        raise ValueError("sleep takes a number of seconds or until=, one of them")
    return Wait(
        timeout=_seconds(seconds, "sleep"),
        deadline=None if until is None else millis(until),
        id=_id(id, "the id of a sleep"),
    )


def joint(about: str, *, id: str, timeout: float | None = None, deadline: datetime | None = None) -> Wait:
    """Ask to be parked until a joint turn finds what this thread looks for, which gives ``looms.met``.

    Args:
        about: what is looked at, for people.
        id: a name for it among the waits of this thread, by which the thread's code is asked what to look for.
        timeout: seconds, from the moment of this decision, after which ``TimedOut`` comes instead.
        deadline: the same as a moment with a time zone.

    Raises:
        InvalidInput: an id that is none.
        ValueError: a timeout that is no number of seconds, a deadline without a zone.
    """
    return Wait(
        timeout=_seconds(timeout, "timeout"),
        deadline=None if deadline is None else millis(deadline),
        id=_id(id, "the id of a wait"),
        joint=about,
    )


def spawn(definition: Any, input: Any = None, *, id: str | None = None) -> Spawn:
    """Ask for a child thread of this run: it starts with the input, and tells this thread how it ended.

    Args:
        definition: a reducer of a module.
        input: what its ``Started`` holds; checked when it is decided.
        id: its name among the children of this thread, 1 to 255 bytes of UTF-8; else one is made.
    """
    if not hasattr(definition, "pack_input"):
        raise TypeError(f"spawn takes a definition declared with @module.reducer, not {shown(definition)}")
    return Spawn(definition.name, input, _id(id, "the id of a spawn"))


def signal(run_id: str, event: Event) -> Signal:
    """Ask for an event to be sent to another run; where that is unknown or over, ``SignalFailed`` comes back."""
    return Signal(checked_id(run_id, "run id"), _event(event, "signal"))


def publish(event: Event) -> Publish:
    """Ask for an event to be sent to every run that waits for it."""
    return Publish(_event(event, "publish"))


def complete(output: Any = None) -> Complete:
    """Ask for this thread to end with an output. When it is the root, the run is completed."""
    return Complete(output)


def fail(reason: str) -> Fail:
    """Ask for this thread to end as failed. When it is the root, the run is failed."""
    return Fail(str(reason))


def cancel(id: str, reason: str = "") -> Cancel:
    """Ask for the child, wait or effect of this thread with that id to be ended; nothing happens if it is over."""
    return Cancel(checked_id(id, "the id to cancel"), str(reason))


def restart(input: Any = None) -> Restart:
    """Ask for this thread to begin anew, with an input: what it waits for and has begun ends, its state stays."""
    return Restart(input)


def cancelled(reason: str = "") -> EndCancelled:
    """Ask for this thread to end as cancelled. When it is the root, the run is cancelled."""
    return EndCancelled(str(reason))


def _id(value: str | None, what: str) -> str | None:
    return None if value is None else checked_id(value, what)


def _event(event: Any, what: str) -> Event:
    if not isinstance(event, Event):
        raise TypeError(f"{what} takes an event, not {shown(event)}")
    return event


def _seconds(value: float | None, what: str) -> float | None:
    if value is None:
        return None
    if not is_seconds(value) or value * 1000 > LAST:
        raise ValueError(f"{what}={shown(value)} is no number of seconds that ends before the year 10000")
    return max(int(value) if isinstance(value, int) else float(value), 0)
