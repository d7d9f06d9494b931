"""Verifying: would today's code decide what was decided?

A record holds what a run decided, so new code cannot change what the past did. It may well decide otherwise from here
on, and that is worth knowing before it is deployed. So each record is put to today's code once more, on the state that
today's code folds: who takes the event, which waits it meets, and what each thread asks for. It is the very code of a
turn that answers (``Cascade.record``); what it changes is taken back, and the record is folded as always.
"""

import sys
from typing import Any, Literal, TypeAlias

import msgspec

from looms.reducers.cascade import Arriving, Cascade
from looms.reducers.codec import encode
from looms.reducers.entries import Entry
from looms.reducers.errors import LoomsError, ModuleError, ReducerError, UnknownEvent
from looms.reducers.events import event_type
from looms.reducers.fold import taken_from
from looms.reducers.folded import FoldedRun
from looms.reducers.instructions import Emit, Instruction, Publish, Signal, Wait
from looms.reducers.lifecycle import TAKEN
from looms.reducers.matching import todays_match
from looms.reducers.messages import told
from looms.reducers.open_waits import OpenWait
from looms.reducers.registry import Registry
from looms.reducers.sameness import same

Kind: TypeAlias = Literal["decided", "taken", "met", "raised", "missing", "unfit"]


class Divergence(msgspec.Struct, frozen=True):
    """A record at which today's code would decide otherwise.

    Attributes:
        seq, type: the record, and its event's name there.
        thread: the thread that differs; None where no thread is concerned.
        kind: ``decided``: the thread asks for something else. ``taken``: another thread takes the event, or nobody
            does, or in another order. ``met``: it meets another wait. ``raised``: today's code raises. ``missing``: an
            event, a definition or an effect is of no module here. ``unfit``: the payload does not fit its class.
        recorded: what the thread decided.
        today: what it would decide.
        error: what today's code raises, or what is missing or does not fit.
        recorded_by, today_by: the threads that took the event, and those that would, in order.
        recorded_wait, today_wait: the id of the thread's wait that the event met, and of the one that it would meet.
    """

    seq: int
    type: str
    thread: str | None
    kind: Kind
    recorded: tuple[Instruction, ...] = ()
    today: tuple[Instruction, ...] = ()
    error: str | None = None
    recorded_by: tuple[str, ...] = ()
    today_by: tuple[str, ...] = ()
    recorded_wait: str | None = None
    today_wait: str | None = None


def divergence(run: FoldedRun, entry: Entry, code: Registry) -> Divergence | None:
    """How today's code would decide otherwise at a record, or None.

    Args:
        run: the run as of the record before; it is the same afterwards.
        entry: the record.
        code: today's code.
    """
    try:
        given = taken_from(run, entry)
        _ = given.event
    except LoomsError as error:
        missing = given.row.type not in code.events
        if missing and not entry.more.decisions:
            return None  # nobody took it, and who could today?
        return _failed(entry, next(iter(_takers(entry)), entry.more.thread), "missing" if missing else "unfit", error)
    mark = run.journal.mark()
    cascade = Cascade(run, code, entry.row.at, sys.maxsize, sys.maxsize, again=entry.decisions)
    try:
        return _compared(entry, _decided_today(run, cascade, entry), code)
    except LoomsError as error:
        cause = error.__cause__ if isinstance(error, ReducerError) and error.__cause__ is not None else error
        thread = cascade.deciding or next(iter(_takers(entry)), entry.more.thread)
        return _failed(entry, thread, "missing" if isinstance(cause, ModuleError | UnknownEvent) else "raised", cause)
    finally:
        run.journal.undo(mark)


def same_run(one: FoldedRun, other: FoldedRun) -> bool:
    """Whether two folded runs are the same, by value and kind."""
    return same(_picture(one), _picture(other))


def _decided_today(run: FoldedRun, cascade: Cascade, entry: Entry) -> Entry | None:
    """The record that today's code would make of an event; None where it would take none from the mailbox."""
    row = entry.row
    more = msgspec.structs.replace(row.more, decisions=(), satisfied={})
    arriving = Arriving(entry_type(entry), entry.event, row.payload, version=row.version, origin=row.origin, more=more)
    taking: OpenWait | None = None
    if row.type == TAKEN.name:
        thread, id = next(iter(entry.more.satisfied.items()))
        key = run.waits.with_id(thread, id)
        taking = run.waits.by_key[key] if key is not None else None
        mail = cascade.mail_for(taking) if taking is not None else None
        if mail is None or mail.seq != entry.plain["seq"]:
            return None
    return cascade.record(arriving, taking)


def entry_type(entry: Entry) -> Any:
    """What is registered of a record's event, by the class that it is read as."""
    return event_type(type(entry.event))


def _compared(entry: Entry, today: Entry | None, code: Registry) -> Divergence | None:
    """Where what was decided and what would be decided differ first."""
    recorded_by, today_by = _takers(entry), () if today is None else _takers(today)
    thread: str | None = None
    kind: Kind | None = None
    if recorded_by != today_by:
        kind, thread = "taken", _first_apart(recorded_by, today_by)
    elif today is None or encode((entry.more.decisions, entry.more.satisfied)) == encode(
        (today.more.decisions, today.more.satisfied)
    ):
        return None
    else:
        for thread in recorded_by:
            if entry.more.satisfied.get(thread) != today.more.satisfied.get(thread):
                kind = "met"
            elif not _ask_the_same(entry.decisions[thread], today.decisions[thread], code):
                kind = "decided"
            if kind is not None:
                break
    if kind is None or thread is None:
        return None
    return Divergence(
        entry.seq,
        entry.row.type,
        thread,
        kind,
        recorded=entry.decisions.get(thread, ()),
        today=today.decisions.get(thread, ()) if today is not None else (),
        recorded_by=recorded_by,
        today_by=today_by,
        recorded_wait=entry.more.satisfied.get(thread),
        today_wait=today.more.satisfied.get(thread) if today is not None else None,
    )


def _failed(entry: Entry, thread: str | None, kind: Kind, error: BaseException) -> Divergence:
    return Divergence(
        entry.seq,
        entry.row.type,
        thread,
        kind,
        recorded=entry.decisions.get(thread, ()) if thread is not None else (),
        error=told(error) if kind == "raised" else str(error),
        recorded_by=_takers(entry),
        recorded_wait=entry.more.satisfied.get(thread) if thread is not None else None,
    )


def _takers(entry: Entry) -> tuple[str, ...]:
    return tuple(thread for thread, _, _ in entry.more.decisions)


def _first_apart(recorded: tuple[str, ...], today: tuple[str, ...]) -> str:
    """The first thread that took an event and would not today, or would and did not, or would in another place."""
    for thread in recorded:
        if thread not in today:
            return thread
    for thread in today:
        if thread not in recorded:
            return thread
    return next(one for one, other in zip(recorded, today, strict=True) if one != other)


def _ask_the_same(recorded: tuple[Instruction, ...], today: tuple[Instruction, ...], code: Registry) -> bool:
    return len(recorded) == len(today) and all(
        same(_said(one, code), _said(other, code)) for one, other in zip(recorded, today, strict=True)
    )


def _said(instruction: Instruction, code: Registry) -> Any:
    """What an instruction asks for, whichever version or former name of an event it was written with."""
    match instruction:
        case Emit(event=event) | Signal(event=event) | Publish(event=event) if not isinstance(event, dict):
            return (event_type(type(event)).name, instruction)
        case Wait(types=names, match=match):
            kinds = [code.events.get(name) for name in names]
            todays = [(kind.name, todays_match(match, kind.called)) for kind in kinds if kind is not None]
            if names and len(todays) == len(names):
                return (todays, msgspec.structs.replace(instruction, types=(), match={}))
    return instruction


def _picture(run: FoldedRun) -> Any:
    """All that there is of a run, in an order that does not depend on how it got there."""
    return (
        run.seq,
        run.at,
        sorted(run.threads.values(), key=lambda thread: thread.born),
        sorted(run.waits.by_key.values(), key=lambda wait: wait.key),
        sorted((effect.key, effect.emitted, effect.held) for effect in run.effects.values()),
        sorted(run.mailbox),
        run.cancelling,
        run.end,
    )
