"""The application of the simulation: a few general reducers and handlers that do what the scripts in their events say.

What reducers and handlers know of the world outside (what is mended by now, how time passes, where a handler notes that
it was called) is in ``outside``, which each story sets.
"""

import zlib
from typing import Literal, Protocol, TypeAlias, cast

import msgspec

from looms import (
    CancelRequested,
    ChildCancelled,
    ChildCompleted,
    ChildFailed,
    EffectContext,
    EffectFailed,
    Event,
    Instruction,
    Module,
    ReduceContext,
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
    signal,
    sleep,
    spawn,
    step,
    wait,
)

app = Module("sim")

Topic: TypeAlias = Literal["said", "asked", "done"]


class WaitFor(msgspec.Struct, frozen=True, tag=True):
    topics: tuple[Topic, ...]
    match: dict[str, str | int] = {}
    timeout: float | None = None
    id: str | None = None
    group: str | None = None


class Sleep(msgspec.Struct, frozen=True, tag=True):
    seconds: float
    id: str | None = None


class Say(msgspec.Struct, frozen=True, tag=True):
    """Emit, to whom it may concern in this run."""

    id: str
    about: str
    n: int
    orders: "tuple[Order, ...]" = ()


class Tell(msgspec.Struct, frozen=True, tag=True):
    run_id: str
    id: str
    about: str
    n: int
    orders: "tuple[Order, ...]" = ()


class Shout(msgspec.Struct, frozen=True, tag=True):
    id: str
    about: str
    n: int


class SpawnOne(msgspec.Struct, frozen=True, tag=True):
    kind: Literal["heedful", "plain"]
    script: "Script"
    id: str | None = None


class Drop(msgspec.Struct, frozen=True, tag=True):
    id: str


class Work(msgspec.Struct, frozen=True, tag=True):
    """Invoke an effect, and how its handler behaves.

    Attributes:
        effect: which.
        fails: how many of its attempts fail.
        seconds: how long an attempt takes; more than `TIMEOUT` hangs until it is timed out.
        emits: how many events it emits on the way.
        answers: how many events it returns.
        about: what they are about.
    """

    effect: Literal["flaky", "narrow", "threaded"] = "flaky"
    fails: int = 0
    seconds: float = 0.0
    emits: int = 0
    answers: int = 1
    about: str = "a"


class Finish(msgspec.Struct, frozen=True, tag=True):
    output: int


class GiveUp(msgspec.Struct, frozen=True, tag=True):
    reason: str


class Withdraw(msgspec.Struct, frozen=True, tag=True):
    reason: str


class Stumble(msgspec.Struct, frozen=True, tag=True):
    """Raise, until the application was mended so many times."""

    until: int


Order: TypeAlias = WaitFor | Sleep | Say | Tell | Shout | SpawnOne | Drop | Work | Finish | GiveUp | Withdraw | Stumble


class Script(msgspec.Struct, frozen=True):
    """What to do at the start, and what on each event of the runtime, by the name of its class."""

    id: str = ""
    orders: tuple[Order, ...] = ()
    on: dict[str, tuple[Order, ...]] = {}


@app.event("said")
class Said(Event):
    """Something for the root, which may carry orders."""

    id: str
    about: str = "a"
    n: int = 0
    orders: tuple[Order, ...] = ()


@app.event("asked")
class Asked(Event):
    """Something that is waited for, above all."""

    id: str
    about: str = "a"
    n: int = 0
    orders: tuple[Order, ...] = ()


@app.event("done")
class Done(Event):
    """What a handler answers, or emits."""

    id: str
    about: str = "a"
    n: int = 0


TOPICS: dict[Topic, type[Event]] = {"said": Said, "asked": Asked, "done": Done}
KEPT = 12  # of the last events, in a state
REACTIONS = 6  # of a thread to events of the runtime: so that every run comes to rest
TIMEOUT = 20.0  # seconds of an attempt


class Heard(State):
    """What a thread has heard: how much, the last of it, and a digest of all of it and of the circumstances."""

    count: int = 0
    digest: int = 0
    last: tuple[str, ...] = ()
    on: tuple[tuple[str, tuple[Order, ...]], ...] = ()
    reactions: int = REACTIONS


class Outside(Protocol):
    """The world outside of the store."""

    mended: int

    async def handle(self, request: Work, ctx: EffectContext) -> list[Done]:
        """What an asynchronous handler does."""
        ...

    def handle_now(self, request: Work, ctx: EffectContext) -> list[Done]:
        """What a handler in a thread does."""
        ...

    async def step(self, name: str, seconds: float, fails: int) -> str:
        """What a step of a workflow does."""
        ...


outside = cast(Outside, None)  # each story sets its own


@app.effect("flaky", retry=Retry(attempts=3, backoff=0.5, jitter=0.5), timeout=TIMEOUT)
async def flaky(request: Work, ctx: EffectContext) -> list[Done]:
    return await outside.handle(request, ctx)


@app.effect("narrow", retry=Retry(attempts=2, backoff=2.0), timeout=TIMEOUT, concurrency=1)
async def narrow(request: Work, ctx: EffectContext) -> list[Done]:
    return await outside.handle(request, ctx)


@app.effect("threaded", retry=Retry(attempts=3, backoff=1.0), timeout=TIMEOUT, concurrency=2)
def threaded(request: Work, ctx: EffectContext) -> list[Done]:
    return outside.handle_now(request, ctx)


EFFECTS = {"flaky": flaky, "narrow": narrow, "threaded": threaded}


def instruction(order: Order) -> Instruction:
    """What an order asks for."""
    match order:
        case WaitFor():
            events = (TOPICS[topic] for topic in order.topics)
            return wait(*events, match=order.match, timeout=order.timeout, id=order.id, group=order.group)
        case Sleep(seconds=seconds, id=id):
            return sleep(seconds, id=id)
        case Say(id=id, about=about, n=n, orders=orders):
            return emit(Said(id, about, n, orders))
        case Tell(run_id=run_id, id=id, about=about, n=n, orders=orders):
            return signal(run_id, Said(id, about, n, orders))
        case Shout(id=id, about=about, n=n):
            return publish(Asked(id, about, n))
        case SpawnOne(kind=kind, script=script, id=id):
            return spawn(app.definitions[f"sim.{kind}"], script, id=id)
        case Drop(id=id):
            return cancel(id, "dropped")
        case Work():
            return invoke(EFFECTS[order.effect], order)
        case Finish(output=output):
            return complete(output)
        case GiveUp(reason=reason):
            return fail(reason)
        case Withdraw(reason=reason):
            return cancelled(reason)
        case Stumble(until=until):
            raise ZeroDivisionError(f"not before it was mended {until} times")


def instructions(orders: tuple[Order, ...]) -> list[Instruction]:
    """What orders ask for; those to stumble that were mended ask for nothing."""
    return [
        instruction(order) for order in orders if not (isinstance(order, Stumble) and outside.mended >= order.until)
    ]


def take(state: Heard, event: Event, ctx: ReduceContext) -> Reduced[Heard]:
    """Note the event and its circumstances, and do as the scripts say."""
    name = type(event).__name__
    circumstances = f"{ctx.run_id} {ctx.thread} {ctx.seq} {ctx.at} {ctx.wait} {event!r}"
    heard = msgspec.structs.replace(
        state,
        count=state.count + 1,
        digest=zlib.crc32(circumstances.encode(), state.digest),
        last=(*state.last[-KEPT + 1 :], f"{ctx.seq} {name} {getattr(event, 'id', '')}"),
    )
    match event:
        case Started(input=Script(orders=orders, on=on)):
            return step(msgspec.structs.replace(heard, on=tuple(on.items())), *instructions(orders))
        case Said(orders=orders) | Asked(orders=orders) if orders:
            return step(heard, *instructions(orders))
    orders = next((orders for called, orders in state.on if called == name), ())
    if not orders or state.reactions == 0:
        return heard
    return step(msgspec.structs.replace(heard, reactions=state.reactions - 1), *instructions(orders))


@app.reducer("heedful", state=Heard)
def heedful(
    state: Heard,
    event: Started[Script]
    | Said
    | Asked
    | Done
    | TimedOut
    | EffectFailed
    | ChildCompleted
    | ChildFailed
    | ChildCancelled
    | SignalFailed
    | CancelRequested,
    ctx: ReduceContext,
) -> Reduced[Heard]:
    """Handles all that there is."""
    return take(state, event, ctx)


@app.reducer("plain", state=Heard)
def plain(
    state: Heard, event: Started[Script] | Said | Done | TimedOut | ChildCompleted | ChildCancelled, ctx: ReduceContext
) -> Reduced[Heard]:
    """Handles no failures, so that they end it, and not all that comes."""
    return take(state, event, ctx)


REACTING = (
    "TimedOut",
    "Done",
    "EffectFailed",
    "ChildCompleted",
    "ChildFailed",
    "ChildCancelled",
    "SignalFailed",
    "CancelRequested",
)
