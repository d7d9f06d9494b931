"""One attempt of an effect: its handler is run, within its time, and what came of it is said."""

import math
from typing import Any

import anyio
import msgspec

from looms.actors.clock import Clock, after
from looms.actors.handlers import Handler, Unrecordable
from looms.actors.threads import Threads
from looms.actors.watchdog import Watchdog
from looms.reducers.effects import EffectContext
from looms.reducers.items import Letter
from looms.reducers.messages import message_of
from looms.reducers.registry import Registry


class Answered(msgspec.Struct, frozen=True):
    """The handler returned these."""

    letters: tuple[Letter, ...]


class Failed(msgspec.Struct, frozen=True):
    """The handler raised, or took too long, or answered with what cannot be recorded (then there is no use in more)."""

    error: str
    message: str
    for_good: bool = False


async def attempt(
    handler: Handler, ctx: EffectContext, code: Registry, clock: Clock, threads: Threads, watchdog: Watchdog
) -> Answered | Failed:
    """Run a handler once.

    Args:
        handler: the handler.
        ctx: its context.
        code: today's code, which says what may be recorded.
        clock: the time, for the handler's timeout.
        threads: the threads for handlers that are not async.
        watchdog: is told of each step of one that is.
    """
    out_of_time = False
    scope = anyio.CancelScope()

    async def watch() -> None:
        nonlocal out_of_time
        if handler.timeout is not None:
            await clock.sleep_until(after(clock, handler.timeout))
            out_of_time = True
            scope.cancel()

    answer: Any = None
    failure: BaseException | None = None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        with scope:
            try:
                answer = await handler.call(ctx, threads, watchdog)
            except BaseException as error:  # whatever a handler raises is its failure, and is recorded as such
                if _concerns_the_host(error):
                    raise
                failure = error
        tasks.cancel_scope.cancel()
    if out_of_time and (failure is not None or scope.cancelled_caught):
        return Failed("TimeoutError", f"the attempt took longer than {handler.timeout} s")
    if failure is not None:
        return Failed(type(failure).__name__, message_of(failure))
    try:
        return Answered(handler.letters(answer, code))
    except Unrecordable as error:
        return Failed(error.error, str(error), for_good=True)


def _concerns_the_host(error: BaseException) -> bool:
    """Whether the task itself is to end; a cancellation that nobody asked for is the handler's own affair."""
    if isinstance(error, anyio.get_cancelled_exc_class()):
        return anyio.current_effective_deadline() == -math.inf
    return isinstance(error, KeyboardInterrupt | GeneratorExit)
