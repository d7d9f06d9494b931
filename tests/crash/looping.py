"""An application whose reducer loops for ever when it is told to, and a host of it that is killed in that.

Run as `python -m tests.crash.looping STORE WHAT AFTER`: opens the store, does something, and prints a line each time it
is told that a reducer does not return: the note, as JSON. One that does nothing prints an empty one when it is open.
"""

import os
import sys
from collections.abc import Callable

import anyio
import msgspec

import looms
from looms import (
    Event,
    Module,
    Reduced,
    Run,
    Runtime,
    Started,
    State,
    Stuck,
    TimedOut,
    invoke,
    replace,
    sleep,
    step,
    wait,
)

loops = Module("loops")


class Mood:
    """What happens to whoever gets `Spun`."""

    spins: Callable[[], bool] = staticmethod(lambda: False)


class Ask(msgspec.Struct, frozen=True):
    pass


@loops.event("spun")
class Spun(Event):
    by: str = ""


@loops.event("told")
class Told(Event):
    pass


@loops.event("planned")
class Planned(Event):
    effect: bool


class Seen(State):
    types: tuple[str, ...] = ()


@loops.effect("answer")
async def answer(ask: Ask) -> Spun:
    return Spun("effect")


@loops.reducer("seen", state=Seen)
def seen(state: Seen, event: Started[None] | Spun | Told | Planned | TimedOut) -> Reduced[Seen]:
    if isinstance(event, Spun | TimedOut):
        while Mood.spins():
            pass
    after = replace(state, types=(*state.types, type(event).__name__))
    if isinstance(event, Planned):
        return step(after, invoke(answer, Ask()) if event.effect else sleep(0.001))
    return after


@loops.reducer("waiting", state=Seen)
def waiting(state: Seen, event: Started[None] | Spun) -> Reduced[Seen]:
    if isinstance(event, Started):
        return step(state, wait(Spun, match={"by": "publish"}))
    while Mood.spins():
        pass
    return replace(state, types=(*state.types, "Spun"))


@loops.reducer("endless", state=Seen)
def endless(state: Seen, event: Started[None]) -> Reduced[Seen]:
    while Mood.spins():
        pass
    return state


async def do(runtime: Runtime, what: str) -> None:
    """Something that the runtime does not come back from, while the mood is so."""
    run: Run[object, object] = runtime.run("r")
    match what:
        case "signal":
            await run.signal(Spun())
        case "effect" | "timer":
            await run.signal(Planned(what == "effect"))
            await anyio.sleep_forever()
        case "publish":
            await runtime.publish(Spun("publish"))
        case "inspect":
            await run.inspect()
        case "nothing":
            os.write(1, msgspec.json.encode(Stuck()) + b"\n")  # it has opened the store
            await anyio.sleep_forever()


async def main(store: str, what: str, after: float) -> None:
    def told(stuck: Stuck) -> None:
        os.write(1, msgspec.json.encode(stuck) + b"\n")

    Mood.spins = lambda: True
    async with looms.Runtime(store, modules=[loops], stuck_after=after, on_stuck=told) as runtime:
        await do(runtime, what)


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], sys.argv[2], float(sys.argv[3]))
