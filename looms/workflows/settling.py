"""Which steps of a workflow an event ends, and how."""

from typing import Any

import msgspec

from looms.reducers.codec import encode, plain
from looms.reducers.definitions import ReduceContext
from looms.reducers.events import Event
from looms.reducers.lifecycle import (
    ChildCancelled,
    ChildCompleted,
    ChildFailed,
    EffectCompleted,
    EffectFailed,
    Met,
    Returned,
    TimedOut,
)
from looms.workflows import chunks
from looms.workflows.answers import Answer
from looms.workflows.events import kept
from looms.workflows.journal import Journal, JournalEntry, changed, place_of, settled

replace = msgspec.structs.replace


def settle(journal: Journal, event: Event, ctx: ReduceContext) -> tuple[Journal, list[int]]:
    """The journal when it has taken an event, and the places of the steps that have ended with it."""
    places: list[int] = []
    for key, ends in _concerned(event, ctx):
        place = place_of(journal, key)
        if place is None:
            continue
        entry = _after(chunks.at(journal.asked, place), event)
        if ends:
            status = "done" if entry.status == "open" else entry.status
            journal = settled(journal, place, replace(entry, status=status), ctx.at)
            places.append(place)
        else:
            journal = changed(journal, place, entry)
    return journal, places


def _concerned(event: Event, ctx: ReduceContext) -> list[tuple[str, bool]]:
    """The keys of the steps that an event is about, and whether they are over with it."""
    match event:
        case TimedOut(wait=id):
            return [(id, True)]
        case ChildCompleted(thread=child) | ChildFailed(thread=child) | ChildCancelled(thread=child):
            return [(child.removeprefix(f"{ctx.thread}/"), True)]
    found = [(ctx.effect, ctx.final)] if ctx.effect is not None and ctx.returned else []
    return found if ctx.wait is None else [*found, (ctx.wait, True)]


def _after(entry: JournalEntry, event: Event) -> JournalEntry:
    """An entry when an event has come that is about it."""
    match event:
        case Returned(value=value):
            return replace(entry, value=value)
        case Met(value=value):
            return _found(entry, value)
        case TimedOut() if entry.kind == "sleep":
            return entry
        case TimedOut():
            return replace(entry, status="failed", error="TimeoutError: nothing came in time")
        case EffectFailed(error=error, message=message, attempts=attempts):
            return _failed(entry, error, message, attempts)
        case ChildFailed(reason=reason):
            return _failed(entry, "ChildFailed", reason, 1)
        case ChildCancelled(reason=reason):
            return _failed(entry, "ChildCancelled", reason, 1)
        case ChildCompleted(output=output):
            return replace(entry, value=plain(encode(output)))
        case EffectCompleted():
            return entry
    if entry.kind == "wait":
        return replace(entry, value=kept(event))
    return replace(entry, value=[*(entry.value or ()), kept(event)])


def _found(entry: JournalEntry, value: Any) -> JournalEntry:
    """The entry of a step on a store, when a joint turn has answered it."""
    answer = msgspec.convert(value, Answer)
    if answer.failed is None:
        return replace(entry, value=answer.value, form=answer.form)
    failed = answer.failed
    return replace(entry, status="failed", value=failed, error=f"{failed['error']}: {failed['message']}")


def _failed(entry: JournalEntry, error: str, message: str, attempts: int) -> JournalEntry:
    value: dict[str, Any] = {"error": error, "message": message, "attempts": attempts}
    return replace(entry, status="failed", value=value, error=f"{error}: {message}")
