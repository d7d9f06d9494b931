"""Handlers: what an attempt of an effect calls, whether a module declares it or the thread that asks has it."""

import inspect
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Protocol

import msgspec

from looms.actors.letters import letters_of
from looms.actors.threads import Threads
from looms.actors.watchdog import Handling, Watchdog
from looms.reducers.calls import Call
from looms.reducers.codec import Unfit
from looms.reducers.effects import Effect, EffectContext, Retry
from looms.reducers.errors import LoomsError
from looms.reducers.items import Letter
from looms.reducers.lifecycle import RETURNED
from looms.reducers.messages import message_of
from looms.reducers.registry import Registry
from looms.reducers.sizes import LARGEST, too_large


class Unrecordable(Exception):
    """What a handler answered cannot be recorded; there is no use in another attempt.

    Attributes:
        error: the name of what is wrong.
    """

    def __init__(self, error: str, message: str) -> None:
        super().__init__(message)
        self.error = error


class Handler(Protocol):
    """What is called, and what its answer is recorded as."""

    @property
    def retry(self) -> Retry:
        """How often it is tried."""
        ...

    @property
    def timeout(self) -> float | None:
        """Seconds that one attempt may take."""
        ...

    async def call(self, ctx: EffectContext, threads: Threads, watchdog: Watchdog) -> Any:
        """Call it, on the loop or in a thread."""
        ...

    def letters(self, answer: Any, code: Registry) -> tuple[Letter, ...]:
        """What it answered, as it will be recorded.

        Raises:
            Unrecordable: it cannot be.
        """
        ...


class DeclaredHandler:
    """The handler of an effect that a module declares, for one request."""

    def __init__(self, effect: Effect[Any], request: Any) -> None:
        self.effect = effect
        self.retry = effect.retry
        self.timeout = effect.timeout
        self._request = request

    async def call(self, ctx: EffectContext, threads: Threads, watchdog: Watchdog) -> Any:
        """Call it."""
        own = self.effect.requests.apart(self._request)  # what it changes in a list, the next attempt does not get
        arguments = (own, ctx) if self.effect.takes_context else (own,)
        handling = Handling(ctx.run_id, self.effect.name, ctx.effect_id)
        return await _called(
            partial(self.effect.function, *arguments), self.effect.is_async, threads, watchdog, handling
        )

    def letters(self, answer: Any, code: Registry) -> tuple[Letter, ...]:
        """The events that it answered with."""
        try:
            return letters_of(answer, self.effect, code)
        except (LoomsError, TypeError) as error:
            raise Unrecordable(type(error).__name__, message_of(error)) from error


class CalledHandler:
    """A function that a thread has called, and what it calls that."""

    def __init__(self, step: str, call: Call) -> None:
        self.step = step
        self.results = call.results
        self.retry = call.retry
        self.timeout = call.timeout
        self._call = call

    async def call(self, ctx: EffectContext, threads: Threads, watchdog: Watchdog) -> Any:
        """Call it."""
        handling = Handling(ctx.run_id, self._call.name, ctx.effect_id)
        return await _called(self._call, self._call.is_async, threads, watchdog, handling)

    def letters(self, answer: Any, code: Registry) -> tuple[Letter, ...]:
        """What it returned, as an event of the runtime."""
        try:
            payload = msgspec.msgpack.encode({"value": msgspec.Raw(self.results.pack(answer)[0])})
            if len(payload) > LARGEST:
                raise Unfit(too_large(len(payload), LARGEST))
        except Unfit as error:
            raise Unrecordable(
                "InvalidResult", f"{self._call.name} returned what cannot be recorded: {error}"
            ) from error
        return (Letter(RETURNED.name, RETURNED.version, payload),)


async def _called(
    function: Callable[[], Any], is_async: bool, threads: Threads, watchdog: Watchdog, handling: Handling
) -> Any:
    """Call a function, on the loop or in a thread; what it answers with to be awaited is awaited on the loop."""
    answer = function() if is_async else await threads.call(function)
    if not inspect.isawaitable(answer):
        return answer
    return await watchdog.steps(answer if inspect.iscoroutine(answer) else _awaited(answer), handling)


async def _awaited(awaitable: Awaitable[Any]) -> Any:
    return await awaitable
