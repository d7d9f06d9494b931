"""Planning a turn: what a run records because of what came to it. Pure: no clock, no I/O, no concurrency.

The items are taken in order. Each leads to a cascade of records, or to none: one that is refused leaves the run as it
was and spoils nothing for the others. When code raises on something that the runtime brought (an outcome, a timer,
another run's signal), the run is suspended there: that item and what comes after it stay.
"""

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import msgspec

from looms.reducers.cascade import Arriving, Cascade, finished
from looms.reducers.codec import Unfit
from looms.reducers.entries import Entry, More, Origin
from looms.reducers.errors import InvalidInput, LoomsError, MailboxFull, ReducerError, RunFinished
from looms.reducers.events import Event, EventType
from looms.reducers.folded import ROOT, FoldedRun, Outstanding, Thread
from looms.reducers.items import (
    CancelAsked,
    Delivery,
    EffectAnswer,
    EffectGaveUp,
    GraceOver,
    Item,
    Letter,
    SignalReturned,
    Start,
    TimerFired,
)
from looms.reducers.lifecycle import (
    CANCEL_REQUESTED,
    CANCELLED,
    EFFECT_COMPLETED,
    EFFECT_FAILED,
    SIGNAL_FAILED,
    STARTED,
    TIMED_OUT,
    Cancelled,
    CancelRequested,
    EffectCompleted,
    EffectFailed,
    SignalFailed,
    Started,
    TimedOut,
)
from looms.reducers.moments import due_after
from looms.reducers.records import effect_id
from looms.reducers.registry import Registry


class Limits(msgspec.Struct, frozen=True):
    """What a run and a turn may grow to."""

    mailbox: int = 1_024
    records: int = 10_000


DEFAULT = Limits()


class Accepted(msgspec.Struct, frozen=True):
    """The item is recorded, and its last event is at ``seq``."""

    seq: int


class Duplicate(msgspec.Struct, frozen=True):
    """The item's key is known; ``seq`` is where the first one's last event is."""

    seq: int


class Refused(msgspec.Struct, frozen=True):
    """The item is refused, and its sender is told why."""

    error: LoomsError


class Ignored(msgspec.Struct, frozen=True):
    """The item changes nothing (any more), and is done."""


class Undelivered(msgspec.Struct, frozen=True):
    """Another run's signal came too late; its sender is to be told."""

    reason: str


class Deferred(msgspec.Struct, frozen=True):
    """The item stays in the durable inbox until the mailbox has room."""


class Stuck(msgspec.Struct, frozen=True):
    """The run's code raised on the item: it stays, and the run is suspended."""

    error: ReducerError


Outcome: TypeAlias = Accepted | Duplicate | Refused | Ignored | Undelivered | Deferred | Stuck


class Turn(msgspec.Struct, frozen=True):
    """What a turn recorded, and what became of each item."""

    entries: list[Entry]
    outcomes: list[Outcome]

    @property
    def stuck(self) -> ReducerError | None:
        """Why the run is to be suspended, if it is; then the items without an outcome were not tried."""
        last = self.outcomes[-1] if self.outcomes else None
        return last.error if isinstance(last, Stuck) else None


def plan(
    run: FoldedRun,
    items: Iterable[Item],
    code: Registry,
    now: int,
    limits: Limits = DEFAULT,
    known: Mapping[str, int] | None = None,
) -> Turn:
    """Plan a turn.

    Args:
        run: the run as of its last record; changed in place. Its journal takes back what is not to be.
        items: what came, in order.
        code: today's code.
        now: the time, in milliseconds since 1970.
        limits: what may be refused for its size.
        known: the items' idempotency keys that are taken, with the seq of the first delivery.

    Returns:
        The records, and an outcome for each item, in order, up to the one that got the run stuck.
    """
    entries: list[Entry] = []
    outcomes: list[Outcome] = []
    keys = dict(known or {})
    for item in items:
        key = item.key if isinstance(item, Delivery) else None
        if key is not None and key in keys:
            outcomes.append(Duplicate(keys[key]))
            continue
        outcome, recorded = _take(run, item, code, now, limits)
        entries += recorded
        outcomes.append(outcome)
        if key is not None and isinstance(outcome, Accepted):
            keys[key] = outcome.seq
        if isinstance(outcome, Stuck):
            break
    return Turn(entries, outcomes)


def _take(run: FoldedRun, item: Item, code: Registry, now: int, limits: Limits) -> tuple[Outcome, list[Entry]]:
    """Take one item, whole or not at all."""
    mark = run.journal.mark()
    cascade = Cascade(run, code, now, limits.records, limits.mailbox)
    try:
        seq = _play(run, item, code, now, cascade)
    except BaseException as error:
        run.journal.undo(mark)
        if not isinstance(error, LoomsError):
            raise
        return _refusal(item, error, run, code), []
    return (Ignored() if seq is None else Accepted(seq)), cascade.entries


def _refusal(item: Item, error: LoomsError, run: FoldedRun, code: Registry) -> Outcome:
    """What becomes of an item that cannot be taken."""
    if isinstance(item, Start | CancelAsked) or (isinstance(item, Delivery | EffectAnswer) and item.to_caller):
        return Refused(error)
    if isinstance(error, RunFinished):
        return Undelivered(str(error))
    if isinstance(error, MailboxFull):
        return Deferred()
    if isinstance(error, ReducerError):
        return Stuck(error)
    return Stuck(_unreadable(run, item, error))


def _unreadable(run: FoldedRun, item: Item, error: LoomsError) -> ReducerError:
    """An event that today's code does not know, or that no longer fits, is an error of the code."""
    name = item.letters[0].type if isinstance(item, Delivery | EffectAnswer) and item.letters else "an event"
    stuck = ReducerError(
        f"run {run.run_id}: {name} cannot be read at seq {run.seq + 1}: {error}",
        run_id=run.run_id,
        seq=run.seq + 1,
        type=name,
    )
    stuck.__cause__ = error
    return stuck


def _play(run: FoldedRun, item: Item, code: Registry, now: int, cascade: Cascade) -> int | None:
    """Record what an item is.

    Returns:
        The seq of its last event; None when it changes nothing.
    """
    match item:
        case Start(input=given):
            definition = code.definition(run.definition)
            try:
                started = Started(definition.inputs.unpack(given))
            except Unfit as error:
                raise InvalidInput(f"the input of {definition.name}: {error}") from error
            more = More(thread=ROOT, kind=run.definition)
            payload = _started_payload(given)
            cascade.play(Arriving(STARTED, started, payload, origin="start", more=more))
            return 1
        case Delivery(letters=letters, origin=origin, key=key, sender=sender):
            return _last(cascade, [_open(letter, code, origin, More(key=key, sender=sender)) for letter in letters])
        case EffectAnswer():
            return _play_answer(run, item, code, cascade)
        case EffectGaveUp(effect=key, error=error, message=message, attempts=attempts):
            effect = run.effects.get(key)
            if effect is None:
                return None
            _check_order(run, effect, item.position)
            failed = EffectFailed(effect.effect, effect_id(run.run_id, *key), error, message, attempts)
            more = More(cause=key[0], thread=effect.thread, effect=key, final=True)
            only = run.threads[effect.thread]
            return _last(cascade, [Arriving(EFFECT_FAILED, failed, origin="effect", more=more, only=only)])
        case TimerFired(wait=key):
            wait = run.waits.by_key.get(key)
            if wait is None or wait.due is None or wait.due > now:
                return None
            more = More(cause=key[0], thread=wait.thread)
            only = run.threads[wait.thread]
            return _last(cascade, [Arriving(TIMED_OUT, TimedOut(wait.id), origin="timer", more=more, only=only)])
        case GraceOver(seq=seq):
            if run.cancelling is None or run.cancelling.seq != seq:
                return None
            more = More(cause=seq)
            return _last(cascade, [Arriving(CANCELLED, Cancelled(run.cancelling.reason), origin="timer", more=more)])
        case SignalReturned(seq=seq, thread=id, run_id=target, type=type, reason=reason):
            teller = run.threads.get(id)
            if teller is None or teller.born[0] >= seq:
                return None  # it is over; if there is one of its id, that was not born when the signal was sent
            returned = SignalFailed(target, type, reason)
            more = More(cause=seq, thread=id)
            return _last(cascade, [Arriving(SIGNAL_FAILED, returned, origin="run", more=more, only=teller)])
        case CancelAsked():
            return _play_cancel(run, item, code, now, cascade)


def _play_answer(run: FoldedRun, item: EffectAnswer, code: Registry, cascade: Cascade) -> int | None:
    """Record what a handler answered; a repeat of what it emitted at an earlier attempt is dropped."""
    effect = run.effects.get(item.effect)
    if effect is None:
        return None
    _check_order(run, effect, item.position)
    only = run.threads[effect.thread]
    if not item.final:
        if item.position < len(effect.emitted):
            return None
        more = More(cause=item.effect[0], thread=effect.thread, effect=item.effect)
        return _last(cascade, [_open(letter, code, "effect", more, only) for letter in item.letters])
    more = More(cause=item.effect[0], thread=effect.thread, effect=item.effect)
    last = msgspec.structs.replace(more, final=True)
    if not item.letters:
        last = msgspec.structs.replace(last, thread=None)
        done = EffectCompleted(effect_id(run.run_id, *item.effect))
        return _last(cascade, [Arriving(EFFECT_COMPLETED, done, origin="effect", more=last)])
    arriving = [_open(letter, code, "effect", more, only) for letter in item.letters[:-1]]
    return _last(cascade, [*arriving, _open(item.letters[-1], code, "effect", last, only)])


def _check_order(run: FoldedRun, effect: Outstanding, position: int) -> None:
    """What follows an emitted event that waits for room waits behind it.

    Raises:
        MailboxFull: fewer events were recorded than the handler had emitted by then.
    """
    if position > len(effect.emitted):
        raise MailboxFull(f"run {run.run_id}: what {effect.effect} emitted before this waits for room in the mailbox")


def _play_cancel(run: FoldedRun, asked: CancelAsked, code: Registry, now: int, cascade: Cascade) -> int | None:
    """Ask a root that handles it to end, and end any other run at once."""
    if run.end is not None:
        raise RunFinished(finished(run))
    if run.cancelling is not None and not asked.at_once:
        return None
    known = code.definitions.get(run.definition)
    if asked.at_once or known is None or CancelRequested not in known.handles:
        return _last(cascade, [Arriving(CANCELLED, Cancelled(asked.reason), origin="signal")])
    try:
        due = due_after(max(now, run.at), asked.grace)
    except ValueError as error:
        raise InvalidInput(f"the grace of a cancellation: {error}") from error
    more = More(thread=ROOT, due=due)
    return _last(cascade, [Arriving(CANCEL_REQUESTED, CancelRequested(asked.reason), origin="signal", more=more)])


def _last(cascade: Cascade, arriving: list[Arriving]) -> int | None:
    """Play these, and say at which seq the last of them is."""
    seq = None
    for one in arriving:
        before = len(cascade.entries)
        cascade.play(one)
        if len(cascade.entries) > before:
            seq = cascade.entries[before].seq
    return seq


def _open(letter: Letter, code: Registry, origin: Origin, more: More, only: Thread | None = None) -> Arriving:
    """A letter as an event of today's class."""
    kind: EventType[Any] = code.event_sent(letter.type)
    event: Event = kind.unpack(letter.payload, letter.version)
    return Arriving(kind, event, letter.payload, version=letter.version, origin=origin, more=more, only=only)


def _started_payload(given: bytes) -> bytes:
    return msgspec.msgpack.encode({"input": msgspec.Raw(given)})
