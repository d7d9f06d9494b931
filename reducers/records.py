"""Records as users see them."""

from typing import Any

import msgspec

from looms.reducers.entries import Entry
from looms.reducers.errors import LoomsError
from looms.reducers.events import Event
from looms.reducers.instructions import Instruction


class Record(msgspec.Struct, frozen=True, gc=False):
    """What the log of a run holds at a seq: the event, its envelope, and what was decided because of it.

    Attributes:
        seq: from 1, no gaps.
        type: the event's registered name.
        version: the event's version when it was written.
        payload: the event as it was written.
        event: the event as today's class; None where no module here knows it.
        at: when it was recorded, in milliseconds since 1970; never less than the record before.
        cause: the seq in this run that led to it; None for what came from outside.
        sender: the run and seq that sent it, when that was another run.
        thread: whom it is addressed to; None: to whom it may concern.
        origin: ``start``, ``signal``, ``effect``, ``timer``, ``thread`` or ``run``.
        key: the sender's idempotency key.
        effect_id: the effect that it came from.
        decisions: by thread, in the order in which they took it, what each decided.
        instructions: all of ``decisions``, in order.
        satisfied: by thread, the id of its wait that this event met.
        final: for what came from an effect: this record ends it.
    """

    seq: int
    type: str
    version: int
    payload: dict[str, Any]
    event: Event | None
    at: int
    cause: int | None
    sender: tuple[str, int] | None
    thread: str | None
    origin: str
    key: str | None
    effect_id: str | None
    decisions: dict[str, tuple[Instruction, ...]]
    instructions: tuple[Instruction, ...]
    satisfied: dict[str, str]
    final: bool


def effect_id(run_id: str, seq: int, index: int, number: int | None = None) -> str:
    """The id of the effect that was asked for as this instruction of this record.

    Args:
        run_id, seq, index: the run, the record, the instruction's place in it.
        number: the run's number in its store, where another run had the id before; None where none had. (What then
            stands behind the last colon is no plain number, so it is no other run's effect, whatever ids runs have.)
    """
    return f"{run_id}:{seq}:{index}" if number is None else f"{run_id}:{seq}:{index}~{number}"


def record(entry: Entry, run_id: str, number: int | None = None) -> Record:
    """An entry of a run, as users see it.

    Args:
        entry: the entry.
        run_id, number: what the ids of effects are made of in the run in which it happened.
    """
    row, more = entry.row, entry.more
    return Record(
        seq=row.seq,
        type=row.type,
        version=row.version,
        payload=entry.plain,
        event=known_event(entry),
        at=row.at,
        cause=more.cause,
        sender=more.sender,
        thread=more.thread,
        origin=row.origin,
        key=more.key,
        effect_id=effect_id(run_id, *more.effect, number) if more.effect else None,
        decisions=entry.decisions,
        instructions=entry.instructions,
        satisfied=more.satisfied,
        final=more.final,
    )


def known_event(entry: Entry) -> Event | None:
    """An entry's event, or None where today's code does not know it: a log can be read whatever it holds."""
    try:
        return entry.event
    except LoomsError:
        return None
