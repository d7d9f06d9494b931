"""An application one of whose effects ends the process at every attempt, in the way that it is asked for."""

import ctypes
import os
import signal

from looms import EffectContext, EffectFailed, Event, Module, Reduced, Retry, Started, State, complete, invoke, step

deadly = Module("deadly")

ATTEMPTS = 3
DEATHS = {"exit": 9, "kill": -signal.SIGKILL, "fault": -signal.SIGSEGV}


@deadly.event("survived")
class Survived(Event):
    pass


def die(how: str) -> None:
    """End the process as it is asked for."""
    if how == "exit":
        os._exit(DEATHS["exit"])
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    ctypes.string_at(0)


@deadly.effect("die", retry=Retry(attempts=ATTEMPTS, backoff=0))
async def on_the_loop(how: str) -> Survived:
    die(how)
    return Survived()


@deadly.effect("die.in.a.thread", retry=Retry(attempts=ATTEMPTS, backoff=0))
def in_a_thread(how: str, ctx: EffectContext) -> Survived:
    die(how)
    return Survived()


@deadly.effect("live", retry=Retry(attempts=3 * ATTEMPTS))  # which are used up too, where they end with the process
async def live(how: str) -> Survived:
    return Survived()


class Life(State):
    pass


@deadly.reducer("life", state=Life)
def life(state: Life, event: Started[tuple[str, str]] | Survived | EffectFailed) -> Reduced[Life]:
    match event:
        case Started(input=(where, how)):
            return step(state, invoke({"loop": on_the_loop, "thread": in_a_thread}.get(where, live), how))
        case EffectFailed(attempts=attempts, error=error):
            return step(state, complete([attempts, error]))
    return step(state, complete("survived"))


modules = [deadly]
