"""One attempt of an effect: its handler is run, within its time, and what came of it is said."""

import inspect
import math
from typing import Any

import anyio
import msgspec

from looms.actors.clock import Clock, after
from looms.actors.threads import Threads
from looms.actors.watchdog import Handling, Watchdog
from looms.reducers.effects import Effect, EffectContext
from looms.reducers.errors import InvalidEvent, LoomsError
from looms.reducers.events import Event
from looms.reducers.items import Letter
from looms.reducers.messages import message_of, shown
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
    effect: Effect[Any],
    request: Any,
    ctx: EffectContext,
    code: Registry,
    clock: Clock,
    threads: Threads,
    watchdog: Watchdog,
) -> Answered | Failed:
    """Run a handler once.

    Args:
        effect: the effect.
        request: what it takes.
        ctx: its context.
        code: today's code, which says what may be recorded.
        clock: the time, for the effect's timeout.
        threads: the threads for handlers that are not async.
        watchdog: is told of each step of one that is.
    """
    out_of_time = False
    scope = anyio.CancelScope()

    async def watch() -> None:
        nonlocal out_of_time
        if effect.timeout is not None:
            await clock.sleep_until(after(clock, effect.timeout))
            out_of_time = True
            scope.cancel()

    answer: Any = None
    failure: BaseException | None = None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        with scope:
            try:
                answer = await _call(effect, request, ctx, threads, watchdog)
            except BaseException as error:  # whatever a handler raises is its failure, and is recorded as such
                if _concerns_the_host(error):
                    raise
                failure = error
        tasks.cancel_scope.cancel()
    if out_of_time and (failure is not None or scope.cancelled_caught):
        return Failed("TimeoutError", f"the attempt took longer than {effect.timeout} s")
    if failure is not None:
        return Failed(type(failure).__name__, message_of(failure))
    try:
        return Answered(letters_of(answer, effect, code))
    except (LoomsError, TypeError) as error:
        return Failed(type(error).__name__, message_of(error), for_good=True)


async def _call(effect: Effect[Any], request: Any, ctx: EffectContext, threads: Threads, watchdog: Watchdog) -> Any:
    own = effect.requests.apart(request)  # what a handler changes in a list, the next attempt does not get
    arguments = (own, ctx) if effect.takes_context else (own,)
    if effect.is_async:
        answer = effect.function(*arguments)
    else:
        answer = await threads.call(effect.function, *arguments)
    if inspect.iscoroutine(answer):
        return await watchdog.steps(answer, Handling(ctx.run_id, effect.name, ctx.effect_id))
    return await answer if inspect.isawaitable(answer) else answer


def _concerns_the_host(error: BaseException) -> bool:
    """Whether the task itself is to end; a cancellation that nobody asked for is the handler's own affair."""
    if isinstance(error, anyio.get_cancelled_exc_class()):
        return anyio.current_effective_deadline() == -math.inf
    return isinstance(error, KeyboardInterrupt | GeneratorExit)


def letters_of(answer: Any, effect: Effect[Any], code: Registry) -> tuple[Letter, ...]:
    """What a handler answered, as it will be recorded.

    Raises:
        TypeError: it is neither an event, nor several, nor None.
        UnknownEvent, InvalidEvent: an event that cannot be recorded.
    """
    events = () if answer is None else answer if isinstance(answer, list | tuple) else (answer,)
    for event in events:
        if not isinstance(event, Event):
            raise TypeError(
                f"{effect.name} answered with a {type(event).__name__}; "
                "a handler returns an event, a list of events, or None"
            )
    return tuple(letter_of(event, code) for event in events)


def letter_of(event: Event, code: Registry) -> Letter:
    """An event, checked, on its way.

    Raises:
        UnknownEvent, InvalidEvent: it cannot be recorded.
    """
    if not isinstance(event, Event):
        given = "the class; give an event of it" if isinstance(event, type) else "not an event"
        raise InvalidEvent(f"{shown(event)} is {given}")
    kind = code.event_of(event)
    return Letter(kind.name, kind.version, kind.pack(event)[0])
