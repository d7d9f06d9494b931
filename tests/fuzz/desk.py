"""An application that takes values of every type, for what is spoiled to be sent to."""

from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import msgspec

from looms import EffectContext, Event, Module, Reduced, Retry, Started, State, TimedOut, invoke, replace, step, wait

desk = Module("desk")


class Mood(Enum):
    """A closed set of texts."""

    GOOD = "good"
    BAD = "bad"


class Node(msgspec.Struct, frozen=True):
    """A type that holds itself."""

    name: str
    inside: "Node | None" = None


@desk.event("told")
class Told(Event):
    """Whatever somebody says."""

    what: Any = None


@desk.event("typed")
class Typed(Event):
    """A value of each type."""

    text: str = "a"
    number: int = 1
    part: float = 0.5
    data: bytes = b"b"
    at: datetime | None = None
    day: date = date(2026, 1, 2)
    length: timedelta = timedelta(seconds=1)
    price: Decimal = Decimal("1.50")
    id: UUID = UUID(int=1)
    mood: Mood = Mood.GOOD
    items: tuple[int, ...] = (1, 2)
    names: frozenset[str] = frozenset({"a"})
    table: dict[int, list[str]] = msgspec.field(default_factory=dict)
    node: Node | None = None


@desk.event("moved", version=3)
class Moved(Event):
    """An event that was another one twice."""

    to: str
    by: int = 0


@desk.upcast("moved", to=2, renamed={"where": "to"})
def _with_a_number(payload: dict[str, Any]) -> dict[str, Any]:
    return {**payload, "by": 1}


@desk.upcast("moved", to=3)
def _as_a_text(payload: dict[str, Any]) -> dict[str, Any]:
    return {**payload, "to": str(payload["to"])}


@desk.event("made")
class Made(Event):
    """What the effect answers."""

    what: Any = None


@desk.effect("make", retry=Retry(attempts=2))
async def make(request: Any, ctx: EffectContext) -> Made:
    """Answer with what was asked."""
    return Made(request)


class Desk(State):
    """What it was told."""

    seen: int = 0
    last: Any = None
    typed: Typed | None = None
    notes: tuple[str, ...] = ()
    counts: dict[str, int] = msgspec.field(default_factory=dict)
    names: frozenset[str] = frozenset()


@desk.reducer("desk", state=Desk)
def at_desk(state: Desk, event: Started[Any] | Told | Typed | Moved | Made | TimedOut) -> Reduced[Desk]:
    """One that keeps the last of all it is told, and asks for what it is asked for."""
    state = replace(state, seen=state.seen + 1, counts={**state.counts, type(event).__name__: state.seen})
    match event:
        case Told(what={"wait": match}):
            return step(state, wait(Typed, match=match, timeout=60))
        case Told(what={"make": request}):
            return step(state, invoke(make, request))
        case Told(what=what):
            return replace(state, last=what, notes=(*state.notes, "told"), names=state.names | {str(state.seen)})
        case Typed():
            return replace(state, typed=event)
    return state


class Parked(State):
    """What it waits for."""

    match: Any = None


@desk.reducer("parked", state=Parked)
def parked(state: Parked, event: Started[Any] | Typed | Told | TimedOut) -> Reduced[Parked]:
    """One that waits for what it is started with."""
    match event:
        case Started(input=dict() as match):
            return step(replace(state, match=match), wait(Typed, match=match, timeout=3_600, id="w"))
    return state


modules = [desk]
