"""An application whose runs do all that a run can: they wait, sleep, spawn, invoke, tell each other, and end."""

import random

import anyio
import msgspec

from looms import (
    ChildCompleted,
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
    complete,
    emit,
    fail,
    invoke,
    replace,
    signal,
    sleep,
    spawn,
    step,
    wait,
)

soaked = Module("soaked")

KEPT = 50  # notes that the board keeps


class Charge(msgspec.Struct, frozen=True):
    amount: int


class Fetch(msgspec.Struct, frozen=True):
    pages: int


@soaked.event("noted")
class Noted(Event):
    text: str


@soaked.event("charged")
class Charged(Event):
    amount: int


@soaked.event("fetched")
class Fetched(Event):
    page: int


@soaked.event("approved")
class Approved(Event):
    order: str


@soaked.event("reminded")
class Reminded(Event):
    """Emitted, and taken by nobody."""

    order: str


@soaked.event("closed")
class Closed(Event):
    well: bool = True


@soaked.effect("charge", retry=Retry(attempts=4, backoff=5, jitter=0.5), concurrency=8)
async def charge(request: Charge) -> Charged:
    """Flaky: it fails every now and then."""
    await anyio.sleep(random.uniform(0, 0.002))
    if random.random() < 0.3:
        raise ConnectionError("the bank does not answer")
    return Charged(request.amount)


@soaked.effect("fetch", retry=Retry(attempts=3, backoff=1), timeout=60)
async def fetch(request: Fetch, ctx: EffectContext) -> Fetched:
    """Emits on the way."""
    for page in range(request.pages):
        await ctx.emit(Fetched(page))
    if random.random() < 0.1:
        await anyio.sleep_forever()  # until it is out of time
    return Fetched(request.pages)


@soaked.effect("file", retry=Retry(attempts=2, backoff=1), concurrency=4)
def file(request: Fetch) -> Fetched:
    """In a thread."""
    return Fetched(request.pages)


class Part(State):
    fetched: int = 0


@soaked.reducer("part", state=Part)
def part(state: Part, event: Started[int] | Fetched | TimedOut | EffectFailed) -> Reduced[Part]:
    match event:
        case Started(input=pages):
            return step(state, invoke(fetch, Fetch(pages)), sleep(600))
        case Fetched(page=page):
            after = replace(state, fetched=state.fetched + 1)
            return step(after, complete(page)) if page == 3 else after
    return step(state, complete(0))


class Ordered(msgspec.Struct, frozen=True):
    name: str
    board: str


class Order(State):
    board: str = ""
    notes: tuple[str, ...] = ()
    paid: int = 0
    parts: int = 0


@soaked.reducer("order", state=Order)
def order(
    state: Order,
    event: Started[Ordered]
    | Noted
    | Charged
    | Fetched
    | Approved
    | Closed
    | TimedOut
    | ChildCompleted
    | EffectFailed
    | SignalFailed,
) -> Reduced[Order]:
    match event:
        case Started(input=Ordered(name=name, board=board)):
            return step(
                replace(state, board=board, notes=(name,)),
                wait(Approved, match={"order": name}, timeout=300, id="approval", group="end"),
                sleep(30, id="nap"),
            )
        case Noted(text=text):
            after = replace(state, notes=(*state.notes, text))
            match len(after.notes) % 5:
                case 0:
                    return step(after, spawn(part, 3))
                case 1:
                    return step(after, invoke(charge, Charge(len(text))))
                case 2:
                    return step(after, signal(state.board, Noted(text)), emit(Reminded(state.notes[0])))
                case 3:
                    return step(after, invoke(file, Fetch(1)))
            return after
        case Charged(amount=amount):
            return replace(state, paid=state.paid + amount)
        case ChildCompleted():
            return replace(state, parts=state.parts + 1)
        case Approved():
            return step(state, complete(state.paid))
        case Closed(well=well):
            return step(state, complete(state.paid) if well else fail("closed"))
        case TimedOut(wait="approval"):
            return step(state, fail("nobody approved"))
    return state


class Board(State):
    last: tuple[str, ...] = ()
    count: int = 0


@soaked.reducer("board", state=Board)
def board(state: Board, event: Started[None] | Noted | Closed) -> Reduced[Board]:
    """Is told by all others of what they do."""
    if isinstance(event, Noted):
        return replace(state, last=(*state.last, event.text)[-KEPT:], count=state.count + 1)
    return step(state, complete(state.count)) if isinstance(event, Closed) else state
