"""Handlers that are not async run in threads, which cannot be stopped: whoever gives one up must know when it ends."""

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import anyio
import anyio.to_thread

from looms.actors.escaped import Escaped
from looms.actors.on_loop import caller


class Threads:
    """The threads of the handlers of one effect.

    Args:
        most: how many there are at most, of those that somebody waits for.
        ended: is told, on the event loop but in no task, when a handler ends that was given up.

    Attributes:
        waited_for: how many handlers run in a thread, or wait for one.
        abandoned: how many handlers still run that were given up: cancelled, or out of time.
    """

    def __init__(self, most: int, ended: Callable[[], None]) -> None:
        self.abandoned = 0
        self.waited_for = 0
        self._limiter = anyio.CapacityLimiter(most)
        self._ended = ended

    async def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """What a function returns in a thread. When this is cancelled the function goes on, as an abandoned one.

        One that had not begun by then never does: it is no abandoned one, for nobody would be told of its end.

        Raises:
            Escaped: it raised KeyboardInterrupt or GeneratorExit. A Ctrl-C is the main thread's, so this is none.
            BaseException: what else it raised.
        """
        given_up = begun = finished = False
        deciding = threading.Lock()
        on_loop = caller()

        def finish() -> None:
            nonlocal finished
            finished = True
            if given_up:
                self.abandoned -= 1
                self._ended()

        def run() -> tuple[Any] | None:
            nonlocal begun
            with deciding:
                if given_up:
                    return None
                begun = True
            try:
                return (
                    function(*args),
                )  # wrapped, for trio takes exception to a function that answers with a coroutine
            except (KeyboardInterrupt, GeneratorExit) as error:
                raise Escaped(error) from error
            finally:
                with suppress(RuntimeError):  # the event loop is over: nobody keeps count any more
                    on_loop(finish)

        self.waited_for += 1
        try:
            answer = await anyio.to_thread.run_sync(run, limiter=self._limiter, abandon_on_cancel=True)
            return None if answer is None else answer[0]
        finally:
            self.waited_for -= 1
            with deciding:
                given_up = not finished
                if begun and given_up:
                    self.abandoned += 1
