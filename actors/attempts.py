"""One attempt of an effect: its handler is run, within its time, and what came of it is said."""

import math
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import msgspec

from looms.actors.clock import Clock, after
from looms.actors.escaped import Escaped
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
    answer: Any = None
    failure: BaseException | None = None

    async def call() -> None:
        nonlocal answer, failure
        try:
            answer = await handler.call(ctx, threads, watchdog)
        except Escaped as escaped:
            failure = escaped.error
        except BaseException as error:  # whatever a handler raises is its failure, and is recorded as such
            if _concerns_the_host(error):
                raise
            failure = error

    if handler.timeout is None:
        await call()
    else:
        late, stopped = await _within(handler.timeout, clock, call)
        if late and (stopped or failure is not None):
            return Failed("TimeoutError", f"the attempt took longer than {handler.timeout} s")
    if failure is not None:
        return Failed(type(failure).__name__, message_of(failure))
    try:
        return Answered(handler.letters(answer, code))
    except Unrecordable as error:
        return Failed(error.error, str(error), for_good=True)


async def _within(seconds: float, clock: Clock, call: Callable[[], Awaitable[None]]) -> tuple[bool, bool]:
    """Await something for at most so long.

    Returns:
        Whether the time was over before it was, and whether it was stopped in the midst.
    """
    late = False
    scope = anyio.CancelScope()

    async def watch() -> None:
        nonlocal late
        await clock.sleep_until(after(clock, seconds))
        late = True
        scope.cancel()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        with scope:
            await call()
        tasks.cancel_scope.cancel()
    return late, scope.cancelled_caught


def _concerns_the_host(error: BaseException) -> bool:
    """Whether the task itself is to end; a cancellation that nobody asked for is the handler's own affair.

    A `KeyboardInterrupt` on the event loop may be a Ctrl-C that came while the handler ran: nothing tells.
    """
    if isinstance(error, anyio.get_cancelled_exc_class()):
        return anyio.current_effective_deadline() == -math.inf
    return isinstance(error, KeyboardInterrupt | GeneratorExit)
