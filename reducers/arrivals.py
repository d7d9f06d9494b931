"""Arrivals: the events that an item of the inbox is to a run as it stands."""

import msgspec

from looms.reducers.cascade import NOTHING_MORE, Arriving, finished
from looms.reducers.codec import Unfit, encode
from looms.reducers.entries import More, Origin
from looms.reducers.errors import EffectOver, InvalidInput, MailboxFull, RunFinished, TakesNoEvents
from looms.reducers.folded import ROOT, FoldedRun, Outstanding, Thread
from looms.reducers.items import (
    CancelAsked,
    Delivery,
    EffectAnswer,
    EffectGaveUp,
    Found,
    GraceOver,
    Item,
    Letter,
    Look,
    PatchAsked,
    ReleaseAsked,
    SignalReturned,
    Start,
    TimerFired,
)
from looms.reducers.lifecycle import (
    CANCEL_REQUESTED,
    CANCELLED,
    EFFECT_COMPLETED,
    EFFECT_FAILED,
    MET,
    PATCHED,
    RELEASED,
    RETURNED,
    SIGNAL_FAILED,
    STARTED,
    TIMED_OUT,
    Cancelled,
    CancelRequested,
    EffectCompleted,
    EffectFailed,
    Patched,
    Released,
    SignalFailed,
    Started,
    TimedOut,
)
from looms.reducers.moments import due_after
from looms.reducers.registry import Registry


def arrivals(run: FoldedRun, item: Item, code: Registry, now: int) -> list[Arriving]:
    """What an item brings, in order; nothing when it changes nothing any more.

    Args:
        run: the run, which is not changed.
        item: the item.
        code: today's code.
        now: the time, in milliseconds since 1970.

    Raises:
        LoomsError: the item cannot be read, or comes too late or too early.
    """
    match item:
        case Delivery(letters=letters, origin=origin, key=key, sender=sender):
            more = NOTHING_MORE if key is None and sender is None else More(key=key, sender=sender)
            return [_open(letter, code, origin, more) for letter in letters]
        case Start():
            return [_start(run, item, code)]
        case EffectAnswer(effect=effect):
            if effect in run.effects:
                return _answer(run, item, run.effects[effect], code)
            if not item.final:
                raise EffectOver(f"run {run.run_id}: effect {run.effect_id(effect)} is over, and emits no more")
            return []
        case EffectGaveUp(effect=effect):
            return [_failure(run, item, run.effects[effect])] if effect in run.effects else []
        case ReleaseAsked(effect=effect):
            return _release(run, run.effects[effect]) if effect in run.effects else []
        case TimerFired(wait=wait):
            return _timeout(run, wait, now)
        case Found():
            return _found(run, item)
        case Look():
            return []  # whoever plans the turn looks, and gives what it found
        case GraceOver(seq=seq):
            grace = run.cancelling
            if grace is None or grace.seq != seq:
                return []
            return [Arriving(CANCELLED, Cancelled(grace.reason), origin="timer", more=More(cause=seq))]
        case SignalReturned():
            return _returned_signal(run, item)
        case CancelAsked():
            return _cancellation(run, item, code, now)
        case PatchAsked(patch=patch, sender=sender):
            whose: Origin = "signal" if sender is None else "run"
            return [Arriving(PATCHED, Patched(patch), origin=whose, more=More(thread=ROOT, sender=sender))]


def _start(run: FoldedRun, item: Start, code: Registry) -> Arriving:
    definition = code.definition(run.definition)
    try:
        event = Started(definition.inputs.unpack(item.input))
    except Unfit as error:
        raise InvalidInput(f"the input of {definition.name}: {error}") from error
    payload = encode({"input": msgspec.Raw(item.input)})
    return Arriving(STARTED, event, payload, origin="start", more=More(thread=ROOT, kind=run.definition))


def _answer(run: FoldedRun, item: EffectAnswer, effect: Outstanding, code: Registry) -> list[Arriving]:
    """What a handler answered, or emitted; a repeat of what it emitted at an earlier attempt is dropped."""
    _check_order(run, effect, item.position)
    if not item.final and item.position < len(effect.emitted):
        return []
    if item.final and not item.letters:
        kind = code.definitions.get(run.threads[effect.thread].kind)
        told = effect.thread if kind is not None and kind.takes_any else None
        more = More(cause=effect.key[0], thread=told, effect=effect.key, final=True)
        done = EffectCompleted(run.effect_id(effect.key))
        return [Arriving(EFFECT_COMPLETED, done, origin="effect", more=more)]
    last = More(cause=effect.key[0], thread=effect.thread, effect=effect.key, final=item.final)
    mores = [*(msgspec.structs.replace(last, final=False, returned=item.final) for _ in item.letters[1:]), last]
    only = run.threads[effect.thread]
    return [_open(letter, code, "effect", more, only) for letter, more in zip(item.letters, mores, strict=False)]


def _failure(run: FoldedRun, item: EffectGaveUp, effect: Outstanding) -> Arriving:
    _check_order(run, effect, item.position)
    more = More(cause=effect.key[0], thread=effect.thread, effect=effect.key, final=True)
    id = run.effect_id(effect.key)
    event = EffectFailed(effect.effect, id, item.error, item.message, item.attempts)
    return Arriving(EFFECT_FAILED, event, origin="effect", more=more, only=run.threads[effect.thread])


def _release(run: FoldedRun, effect: Outstanding) -> list[Arriving]:
    if not effect.held:
        return []
    event = Released(run.effect_id(effect.key))
    return [Arriving(RELEASED, event, origin="signal", more=More(effect=effect.key))]


def _check_order(run: FoldedRun, effect: Outstanding, position: int) -> None:
    """What follows an emitted event that waits for room waits behind it.

    Raises:
        MailboxFull: fewer events were recorded than the handler had emitted by then.
    """
    if position > len(effect.emitted):
        raise MailboxFull(f"run {run.run_id}: what {effect.effect} emitted before this waits for room in the mailbox")


def _timeout(run: FoldedRun, key: tuple[int, int], now: int) -> list[Arriving]:
    wait = run.waits.by_key.get(key)
    if wait is None or wait.due is None or wait.due > now:
        return []
    more = More(cause=key[0], thread=wait.thread)
    return [Arriving(TIMED_OUT, TimedOut(wait.id), origin="timer", more=more, only=run.threads[wait.thread])]


def _found(run: FoldedRun, item: Found) -> list[Arriving]:
    wait = run.waits.by_key.get(item.wait)
    if wait is None or wait.joint is None:
        return []
    payload = encode({"wait": wait.id, "value": item.value})
    event = MET.unpack(payload, MET.version)  # as it will be read from the record
    more = More(cause=wait.key[0], thread=wait.thread, sender=item.sender)
    return [Arriving(MET, event, payload, origin="run", more=more, only=run.threads[wait.thread])]


def _returned_signal(run: FoldedRun, item: SignalReturned) -> list[Arriving]:
    sender = run.threads.get(item.thread)
    if sender is None or sender.born[0] >= item.seq:
        return []  # it is over; if there is one of its id, that was not born when the signal was sent
    event = SignalFailed(item.run_id, item.type, item.reason)
    more = More(cause=item.seq, thread=item.thread)
    return [Arriving(SIGNAL_FAILED, event, origin="run", more=more, only=sender)]


def _cancellation(run: FoldedRun, item: CancelAsked, code: Registry, now: int) -> list[Arriving]:
    """Ask a root that handles it to end, and end any other run at once."""
    if run.end is not None:
        raise RunFinished(finished(run))
    if run.cancelling is not None and not item.at_once:
        return []
    known = code.definitions.get(run.definition)
    if known is not None and known.shared:
        raise TakesNoEvents(f"run {run.run_id} is a {known.name}, which is not cancelled but deleted")
    if item.at_once or known is None or CancelRequested not in known.handles:
        return [Arriving(CANCELLED, Cancelled(item.reason), origin="signal")]
    try:
        due = due_after(max(now, run.at), item.grace)
    except ValueError as error:
        raise InvalidInput(f"the grace of a cancellation: {error}") from error
    more = More(thread=ROOT, due=due)
    return [Arriving(CANCEL_REQUESTED, CancelRequested(item.reason), origin="signal", more=more)]


def _open(letter: Letter, code: Registry, origin: Origin, more: More, only: Thread | None = None) -> Arriving:
    """A letter as an event of today's class."""
    kind = RETURNED if letter.type == RETURNED.name and origin == "effect" else code.event_sent(letter.type)
    event = kind.unpack(letter.payload, letter.version)
    return Arriving(kind, event, letter.payload, version=letter.version, origin=origin, more=more, only=only)
