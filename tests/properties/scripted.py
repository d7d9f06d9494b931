"""A small application whose events carry scripts: each says what the reducer that takes it is to ask for."""

from typing import Any, Literal, TypeAlias

import msgspec

from looms.reducers.definitions import ReduceContext
from looms.reducers.events import Event
from looms.reducers.instructions import (
    Instruction,
    Reduced,
    cancel,
    cancelled,
    complete,
    emit,
    fail,
    invoke,
    joint,
    publish,
    signal,
    sleep,
    spawn,
    step,
    wait,
)
from looms.reducers.lifecycle import (
    CancelRequested,
    ChildCancelled,
    ChildCompleted,
    ChildFailed,
    EffectFailed,
    Met,
    SignalFailed,
    Started,
    TimedOut,
)
from looms.reducers.modules import Module
from looms.reducers.registry import Registry
from looms.reducers.state import State

talk = Module("talk")

Topic: TypeAlias = Literal["said", "noted", "hummed"]
Kind: TypeAlias = Literal["teller", "listener"]


class WaitFor(msgspec.Struct, frozen=True, tag=True):
    topics: tuple[Topic, ...]
    match: dict[str, Any]
    timeout: int | float | None = None
    id: str | None = None
    group: str | None = None


class Sleep(msgspec.Struct, frozen=True, tag=True):
    seconds: int | float
    id: str | None = None


class LookFor(msgspec.Struct, frozen=True, tag=True):
    about: str
    id: str
    timeout: int | float | None = None


class Say(msgspec.Struct, frozen=True, tag=True):
    topic: Topic
    about: str
    body: Any
    orders: "tuple[Order, ...]" = ()


class SpawnOne(msgspec.Struct, frozen=True, tag=True):
    kind: Kind
    script: "Script"
    id: str | None = None


class Drop(msgspec.Struct, frozen=True, tag=True):
    id: str
    reason: str = ""


class Ask(msgspec.Struct, frozen=True, tag=True):
    effect: Literal["fetch", "weigh"]
    request: Any


class Tell(msgspec.Struct, frozen=True, tag=True):
    run_id: str
    body: Any


class Shout(msgspec.Struct, frozen=True, tag=True):
    body: Any


class Finish(msgspec.Struct, frozen=True, tag=True):
    output: Any


class GiveUp(msgspec.Struct, frozen=True, tag=True):
    reason: str


class Withdraw(msgspec.Struct, frozen=True, tag=True):
    reason: str


class Raise(msgspec.Struct, frozen=True, tag=True):
    message: str


class Botch(msgspec.Struct, frozen=True, tag=True):
    """Ask for something that cannot be stored."""


Order: TypeAlias = (
    WaitFor | Sleep | LookFor | Say | SpawnOne | Drop | Ask | Tell | Shout | Finish | GiveUp | Withdraw | Raise | Botch
)


class Script(msgspec.Struct, frozen=True):
    """What to do at the start, and what on each event of the runtime, by the name of its class."""

    orders: tuple[Order, ...] = ()
    on: dict[str, tuple[Order, ...]] = {}


@talk.event("said")
class Said(Event):
    about: str
    body: Any
    orders: tuple[Order, ...] = ()


@talk.event("noted")
class Noted(Event):
    about: str
    body: Any
    orders: tuple[Order, ...] = ()


@talk.event("hummed")
class Hummed(Event):
    """Nobody handles it but listeners, so it often ends in the mailbox."""

    about: str
    body: Any
    orders: tuple[Order, ...] = ()


TOPICS: dict[str, type[Said] | type[Noted] | type[Hummed]] = {"said": Said, "noted": Noted, "hummed": Hummed}


@talk.effect("fetch")
async def fetch(request: Any) -> Said | None: ...


@talk.effect("weigh")
async def weigh(request: int) -> Noted | None: ...


class Heard(State):
    """All that a thread was given, in words, and the last body as it came."""

    words: tuple[str, ...] = ()
    last: Any = None
    on: dict[str, tuple[Order, ...]] = msgspec.field(default_factory=dict)


def instructions(orders: tuple[Order, ...]) -> list[Instruction]:
    """What these orders ask for."""
    return [_instruction(order) for order in orders]


def _instruction(order: Order) -> Instruction:
    match order:
        case WaitFor(topics=topics, match=match, timeout=timeout, id=id, group=group):
            return wait(*(TOPICS[topic] for topic in topics), match=match, timeout=timeout, id=id, group=group)
        case Sleep(seconds=seconds, id=id):
            return sleep(seconds, id=id)
        case LookFor(about=about, id=id, timeout=timeout):
            return joint(about, id=id, timeout=timeout)
        case Say(topic=topic, about=about, body=body, orders=orders):
            return emit(TOPICS[topic](about, body, orders))
        case SpawnOne(kind=kind, script=script, id=id):
            return spawn(talk.definitions[f"talk.{kind}"], script, id=id)
        case Drop(id=id, reason=reason):
            return cancel(id, reason)
        case Ask(effect=effect, request=request):
            return invoke(talk.effects[f"talk.{effect}"], request)
        case Tell(run_id=run_id, body=body):
            return signal(run_id, Said("told", body))
        case Shout(body=body):
            return publish(Said("shouted", body))
        case Finish(output=output):
            return complete(output)
        case GiveUp(reason=reason):
            return fail(reason)
        case Withdraw(reason=reason):
            return cancelled(reason)
        case Raise(message=message):
            raise ZeroDivisionError(message)
        case Botch():
            return complete({"told": [object()]})


def take(state: Heard, event: Event, ctx: ReduceContext) -> Reduced[Heard]:
    """Note everything that a reducer may know, and do as the script says."""
    words = (*state.words, f"{ctx.run_id} {ctx.thread} {ctx.seq} {ctx.at} {ctx.wait} {event!r}"[:300])
    match event:
        case Started(input=Script(orders=orders, on=on)):
            return step(Heard(words, None, on), *instructions(orders))
        case Said(body=body, orders=orders) | Noted(body=body, orders=orders) | Hummed(body=body, orders=orders):
            return step(Heard(words, body, state.on), *instructions(orders))
        case ChildCompleted(output=output):
            return step(Heard(words, output, state.on), *instructions(state.on.get("ChildCompleted", ())))
    return step(msgspec.structs.replace(state, words=words), *instructions(state.on.get(type(event).__name__, ())))


@talk.reducer("teller", state=Heard)
def teller(
    state: Heard,
    event: Started[Script]
    | Said
    | Noted
    | TimedOut
    | Met
    | EffectFailed
    | ChildCompleted
    | ChildFailed
    | ChildCancelled
    | SignalFailed
    | CancelRequested,
    ctx: ReduceContext,
) -> Reduced[Heard]:
    """Handles all but `Hummed`."""
    return take(state, event, ctx)


@talk.reducer("listener", state=Heard)
def listener(
    state: Heard, event: Started[Script] | Said | Hummed | TimedOut | Met, ctx: ReduceContext
) -> Reduced[Heard]:
    """Handles no failures, so that they end it."""
    return take(state, event, ctx)


CODE = Registry([talk])
REACTIONS = (
    "TimedOut",
    "Met",
    "EffectFailed",
    "ChildCompleted",
    "ChildFailed",
    "ChildCancelled",
    "SignalFailed",
    "CancelRequested",
)
