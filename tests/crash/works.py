"""An application of everything: runs that fold, wait with deadlines, spawn, invoke, send to each other, and end.

What an event leads to is said in the event, so a program can mix it as it likes and a replay leads to the same.
The effects' outside world is a file: each attempt adds a line to it, on disk before the attempt does anything else.
"""

import os
import time
from pathlib import Path
from typing import Literal

import anyio
import msgspec

from looms import (
    ChildCancelled,
    ChildCompleted,
    ChildFailed,
    EffectContext,
    EffectFailed,
    Event,
    Module,
    Reduced,
    Retry,
    SignalFailed,
    Started,
    State,
    TimedOut,
    cancel,
    cancelled,
    complete,
    emit,
    fail,
    invoke,
    publish,
    replace,
    signal,
    sleep,
    spawn,
    step,
    wait,
)

works = Module("works")

LEDGER = "WORKS_LEDGER"  # in the environment: the file in which attempts are noted
SHORT = 0.03  # seconds: the deadlines here are real, as the processes that are killed have a real clock

# fmt: off
Do = Literal[
    "fold", "wait", "sleep", "choose", "spawn", "drop", "emit", "stamp", "invoke", "press", "tell", "shout", "lose",
    "flood", "pass",
]
# fmt: on


@works.event("asked")
class Asked(Event):
    """Do something; what, and with whom."""

    n: int
    do: Do
    to: str = ""


@works.event("word")
class Word(Event):
    """What waits are for: a word, found by its tag."""

    tag: str
    n: int = 0


@works.event("told")
class Told(Event):
    """What runs tell each other."""

    n: int
    by: str


@works.event("noted")
class Noted(Event):
    n: int


@works.event("stamped")
class Stamped(Event):
    n: int


@works.event("progressed")
class Progressed(Event):
    n: int
    part: int


class Stamp(msgspec.Struct, frozen=True):
    n: int


class Trip(msgspec.Struct, frozen=True):
    """What a short run does."""

    n: int
    way: Literal["wait", "stamp", "press", "child"]


def note(ctx: EffectContext) -> None:
    """Add an attempt to the ledger; it is on disk when this returns."""
    line = msgspec.json.encode((ctx.effect_id, ctx.attempt)) + b"\n"
    file = os.open(os.environ[LEDGER], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(file, line)
        os.fsync(file)
    finally:
        os.close(file)


def noted(ledger: Path) -> list[tuple[str, int]]:
    """The attempts in a ledger: effect id and number; a last line that was cut off is none."""
    if not ledger.exists():
        return []
    return [msgspec.json.decode(line, type=tuple[str, int]) for line in ledger.read_bytes().split(b"\n")[:-1]]


@works.effect("stamp", retry=Retry(attempts=12, backoff=0.004, max_backoff=0.02), timeout=2, concurrency=8)
async def stamp(request: Stamp, ctx: EffectContext) -> Stamped | None:
    """A flaky one: it fails at first, or always, takes its time, says things on the way, or has nothing to say."""
    note(ctx)
    match request.n % 6:
        case 0 if ctx.attempt % 2:
            raise ConnectionError("not this time")
        case 1:
            raise ConnectionError("never")
        case 2:
            for part in range(3):
                await ctx.emit(Progressed(request.n, part))
        case 3:
            await anyio.sleep(0.01)
        case 4:
            return None
    return Stamped(request.n)


@works.effect("press", retry=Retry(attempts=5, backoff=0.004), concurrency=3)
def press(request: Stamp, ctx: EffectContext) -> list[Event]:
    """One in a thread, that answers with two events."""
    note(ctx)
    time.sleep(0.002)
    return [Progressed(request.n, 9), Stamped(request.n)]


class Errand(State):
    n: int = 0


@works.reducer("errand", state=Errand)
def errand(
    state: Errand, event: Started[int] | Word | Stamped | Progressed | EffectFailed | TimedOut
) -> Reduced[Errand]:
    """A child: it is over at once, waits, asks for an effect, or fails."""
    match event:
        case Started(input=n):
            state = replace(state, n=n)
            match n % 4:
                case 0:
                    return step(state, complete(n))
                case 1:
                    return step(state, wait(Word, match={"tag": f"errand {n}"}, timeout=SHORT))
                case 2:
                    return step(state, invoke(stamp, Stamp(n)), wait(Stamped, match={"n": n}, timeout=0.3))
            return step(state, fail(f"errand {n} is one that fails"))
        case Word() | Stamped():
            return step(state, complete(state.n))
        case TimedOut():
            return step(state, complete(-state.n))
        case EffectFailed(error=error):
            return step(state, fail(error))
    return state


class Counts(State):
    """How often what came, and the sum of all numbers in it."""

    sum: int = 0
    counts: dict[str, int] = msgspec.field(default_factory=dict)


def _counted(state: Counts, event: Event, n: int) -> Counts:
    name = type(event).__name__
    return replace(state, sum=state.sum + n, counts={**state.counts, name: state.counts.get(name, 0) + 1})


FromOthers = ChildCompleted | ChildFailed | ChildCancelled | EffectFailed | SignalFailed


@works.reducer("desk", state=Counts)
def desk(
    state: Counts,
    event: Started[int] | Asked | Word | Told | Stamped | Progressed | TimedOut | FromOthers,
) -> Reduced[Counts]:
    """A long-lived run that does what it is asked."""
    match event:
        case Asked(n=n, do=do, to=to):
            state = _counted(state, event, n)
            match do:
                case "wait":
                    return step(state, wait(Word, match={"tag": to}, timeout=SHORT))
                case "sleep":
                    return step(state, sleep(SHORT))
                case "choose":
                    return step(
                        state,
                        wait(Word, match={"tag": to}, timeout=SHORT, group=to),
                        wait(Word, match={"n": n}, timeout=2 * SHORT, group=to),
                        sleep(3 * SHORT),
                    )
                case "spawn":
                    return step(state, spawn(errand, n), spawn(errand, n + 1, id=to))
                case "drop":
                    return step(state, spawn(errand, 4 * n + 1, id=to), wait(Word, id=to + "!"), cancel(to, "dropped"))
                case "emit":
                    return step(state, emit(Noted(n)), emit(Noted(n + 1)))
                case "stamp":
                    return step(state, invoke(stamp, Stamp(n)))
                case "invoke":
                    return step(state, invoke(stamp, Stamp(n)), invoke(stamp, Stamp(n + 1)))
                case "press":
                    return step(state, invoke(press, Stamp(n)))
                case "tell":
                    return step(state, signal(to, Told(n, "desk")), signal(to, Told(n + 1, "desk")))
                case "flood":
                    return step(state, *(signal(to, Word("junk", part)) for part in range(n)))
                case "pass":
                    return step(state, signal(to, Word("wanted", n)))
                case "shout":
                    return step(state, publish(Word(to, n)))
                case "lose":
                    return step(state, signal("nobody", Told(n, "desk")))
            return state
        case Word(n=n) | Told(n=n) | Stamped(n=n) | Progressed(n=n):
            return _counted(state, event, n)
        case Started():
            return state
    return _counted(state, event, 1)


@works.reducer("trip", state=Counts)
def trip(
    state: Counts, event: Started[Trip] | Word | Told | Stamped | Progressed | TimedOut | FromOthers
) -> Reduced[Counts]:
    """A short run: it goes its way, tells the desk that is its home, and ends."""
    match event:
        case Started(input=Trip(n=n, way=way)):
            state = replace(state, counts={"n": n}, sum=n)
            match way:
                case "wait":
                    return step(state, wait(Word, match={"tag": f"trip {n}"}, timeout=SHORT))
                case "stamp":
                    return step(state, invoke(stamp, Stamp(n)), sleep(0.3))
                case "press":
                    return step(state, invoke(press, Stamp(n)))
            return step(state, spawn(errand, n), sleep(0.3))
        case Progressed(n=n, part=part):
            return _counted(state, event, part)
    end, home = state.sum % 3, f"desk {state.sum % 4}"
    told = signal(home, Told(state.sum, "trip"))
    state = _counted(state, event, 0)
    return step(state, told, (complete(state.sum), fail("as it was to be"), cancelled("as it was to be"))[end])


class Mood:
    """What a deploy could change: whether the code of a clerk raises."""

    bad = False


@works.reducer("clerk", state=Counts)
def clerk(state: Counts, event: Started[int] | Told | TimedOut) -> Reduced[Counts]:
    """A long-lived run whose code raises on numbers from 10 that others send it, as long as the mood is bad."""
    match event:
        case Started(input=n):
            return step(state, sleep(n)) if n else state
        case Told(n=n):
            if Mood.bad and n >= 10:
                raise RuntimeError("not in this mood")
            return _counted(state, event, n)
    return _counted(state, event, 1)


modules = [works]
