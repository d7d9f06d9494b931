"""The events of the runtime: what reducers may handle of the life of runs, threads, waits and effects."""

from typing import Any, Generic, TypeVar

from looms.reducers.events import Event, EventType, register

I = TypeVar("I")  # noqa: E741 - the input, as in Started[I]


class Started(Event, Generic[I], frozen=True):
    """A thread starts, with its input."""

    input: I


class TimedOut(Event, frozen=True):
    """The deadline of a wait, or a sleep, is over; ``wait`` is its id."""

    wait: str


class EffectFailed(Event, frozen=True):
    """An effect used up its attempts: the exception's class and message, and how many attempts there were."""

    effect: str
    effect_id: str
    error: str
    message: str
    attempts: int


class ChildCompleted(Event, frozen=True):
    """A child completed with its output."""

    thread: str
    output: Any


class ChildFailed(Event, frozen=True):
    """A child failed."""

    thread: str
    reason: str


class ChildCancelled(Event, frozen=True):
    """A child was cancelled."""

    thread: str
    reason: str


class SignalFailed(Event, frozen=True):
    """A signal was sent to a run that is unknown or over."""

    run_id: str
    type: str
    reason: str


class CancelRequested(Event, frozen=True):
    """The run is asked to end; it may still act until the grace is over."""

    reason: str


class Taken(Event, frozen=True):
    """A wait took the event of this seq from the mailbox."""

    seq: int


class Met(Event, frozen=True):
    """A joint turn found what a wait is for; `wait` is its id, `value` what was found."""

    wait: str
    value: Any


class EffectCompleted(Event, frozen=True):
    """An effect is done and answered with no event."""

    effect_id: str


class Returned(Event, frozen=True):
    """A function that a thread had called returned this."""

    value: Any


class Released(Event, frozen=True):
    """An effect is to be run that was held since its run was forked."""

    effect_id: str


class Patched(Event, frozen=True):
    """The state was changed from outside: ``patch`` makes the new one of the old one; None where they are the same."""

    patch: Any


class Cancelled(Event, frozen=True):
    """The run was cancelled."""

    reason: str


STARTED: EventType[Started[Any]] = register(Started, "looms.started")
TIMED_OUT: EventType[TimedOut] = register(TimedOut, "looms.timed_out")
EFFECT_FAILED: EventType[EffectFailed] = register(EffectFailed, "looms.effect_failed")
EFFECT_COMPLETED: EventType[EffectCompleted] = register(EffectCompleted, "looms.effect_completed")
RETURNED: EventType[Returned] = register(Returned, "looms.returned")
CHILD_COMPLETED: EventType[ChildCompleted] = register(ChildCompleted, "looms.child_completed")
CHILD_FAILED: EventType[ChildFailed] = register(ChildFailed, "looms.child_failed")
CHILD_CANCELLED: EventType[ChildCancelled] = register(ChildCancelled, "looms.child_cancelled")
SIGNAL_FAILED: EventType[SignalFailed] = register(SignalFailed, "looms.signal_failed")
CANCEL_REQUESTED: EventType[CancelRequested] = register(CancelRequested, "looms.cancel_requested")
CANCELLED: EventType[Cancelled] = register(Cancelled, "looms.cancelled")
TAKEN: EventType[Taken] = register(Taken, "looms.taken")
MET: EventType[Met] = register(Met, "looms.met")
RELEASED: EventType[Released] = register(Released, "looms.released")
PATCHED: EventType[Patched] = register(Patched, "looms.patched")

RUNTIME_EVENTS: tuple[EventType[Any], ...] = (
    STARTED,
    TIMED_OUT,
    EFFECT_FAILED,
    EFFECT_COMPLETED,
    RETURNED,
    CHILD_COMPLETED,
    CHILD_FAILED,
    CHILD_CANCELLED,
    SIGNAL_FAILED,
    CANCEL_REQUESTED,
    CANCELLED,
    TAKEN,
    MET,
    RELEASED,
    PATCHED,
)
