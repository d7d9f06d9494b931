"""A run that does what it is told: each order has a script of instructions, which its reducer answers with.

So a test says what a reducer asks for, without declaring a reducer of its own.
"""

from typing import Any

import msgspec

from looms import (
    ChildCancelled,
    ChildCompleted,
    ChildFailed,
    Event,
    Instruction,
    Module,
    ReduceContext,
    Reduced,
    SignalFailed,
    Started,
    State,
    TimedOut,
    cancel,
    complete,
    emit,
    fail,
    publish,
    replace,
    signal,
    sleep,
    spawn,
    step,
    wait,
)

play = Module("play")


@play.event("asked")
class Asked(Event):
    """A question, or an answer to one."""

    about: str = ""
    n: int = 0
    detail: dict[str, int] = msgspec.field(default_factory=dict)


@play.event("answered")
class Answered(Event):
    about: str = ""
    n: int = 0


class Do(msgspec.Struct, frozen=True, kw_only=True):
    """What to do, in the order of the fields."""

    wait_for: tuple[dict[str, Any], ...] = ()  # the arguments of waits for `Answered`
    signals: tuple[tuple[str, str], ...] = ()  # to whom, about what
    publishes: tuple[str, ...] = ()  # about what
    emits: tuple[str, ...] = ()
    spawns: tuple[tuple[str, "Do"], ...] = ()
    cancels: tuple[str, ...] = ()
    sleeps: tuple[tuple[str, float], ...] = ()
    ends: str = ""  # complete or fail
    fails: bool = False  # the reducer raises


@play.event("told")
class Told(Event):
    """Do this."""

    what: Do


class Played(State):
    """What a run has seen, oldest first: the event's name, what it was about, and the wait that it met."""

    seen: tuple[tuple[str, Any, str | None], ...] = ()


def asked_for(what: Do) -> list[Instruction]:
    """The instructions of a script."""
    if what.fails:
        raise LookupError("as it was told")
    asked: list[Instruction] = [wait(Answered, **arguments) for arguments in what.wait_for]
    asked += [signal(run_id, Answered(about=about)) for run_id, about in what.signals]
    asked += [publish(Answered(about=about)) for about in what.publishes]
    asked += [emit(Asked(about=about)) for about in what.emits]
    asked += [spawn(player, do, id=id) for id, do in what.spawns]
    asked += [cancel(id) for id in what.cancels]
    asked += [sleep(seconds, id=id) for id, seconds in what.sleeps]
    match what.ends:
        case "complete":
            asked.append(complete())
        case "fail":
            asked.append(fail("as it was told"))
    return asked


@play.reducer("player", state=Played)
def player(
    state: Played,
    event: Started[Do]
    | Told
    | Asked
    | Answered
    | TimedOut
    | SignalFailed
    | ChildCompleted
    | ChildFailed
    | ChildCancelled,
    ctx: ReduceContext,
) -> Reduced[Played]:
    def seen(what: Any) -> Played:
        return replace(state, seen=(*state.seen, (type(event).__name__, what, ctx.wait)))

    match event:
        case Started(input=what):
            return step(state, *asked_for(what))
        case Told(what=what):
            return step(state, *asked_for(what))
        case Asked(about=about) | Answered(about=about):
            return seen(about)
        case TimedOut(wait=id):
            return seen(id)
        case SignalFailed(run_id=run_id, type=type_, reason=reason):
            return seen([run_id, type_, reason])
        case ChildCompleted(thread=thread) | ChildFailed(thread=thread) | ChildCancelled(thread=thread):
            return seen(thread)


def answers(about: str = "", n: int | None = None, **options: Any) -> dict[str, Any]:
    """The arguments of a wait for an answer about something."""
    match = {} if n is None else {"n": n}
    return {"match": {"about": about, **match} if about else match, **options}
