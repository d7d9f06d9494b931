"""An event loop in a thread of its own, on which something is kept open and called from any other thread.

Three things must never hang here: a call that comes while another thread closes, a call in a process that was forked
(the thread with the loop is not in the child), and the end of a program that forgot to close. For the first, calls are
counted while they are handed over, and closing waits for those few moments. For the second, each call looks whether it
is still in the process it was opened in. For the third, one thread waits for the main one and closes what it left.
"""

import os
import threading
import warnings
from collections.abc import Awaitable, Callable
from concurrent.futures import CancelledError, Future
from contextlib import AbstractAsyncContextManager, ExitStack, suppress
from functools import partial
from importlib.util import find_spec
from typing import Any, Literal, ParamSpec, TypeVar, get_args
from weakref import WeakSet

import anyio
from anyio.from_thread import BlockingPortal

from looms.actors.errors import RuntimeClosed, WrongThread
from looms.reducers.errors import InvalidInput

P = ParamSpec("P")
T = TypeVar("T")

Backend = Literal["asyncio", "trio"]


class Loop:
    """Keeps an async context open on an event loop of its own; it is open when this is made.

    Args:
        context: what is opened and closed there.
        name: what to call it in messages.
        backend: which event loop.

    Raises:
        InvalidInput: an event loop that there is not.
        Exception: whatever the context raises when it is opened.
    """

    def __init__(self, context: AbstractAsyncContextManager[Any], name: str, backend: Backend = "asyncio") -> None:
        if backend not in get_args(Backend):
            raise InvalidInput(f"backend={backend!r}; give 'asyncio' or 'trio'")
        if find_spec(backend) is None:
            raise InvalidInput(f"backend={backend!r}: it is not installed; pip install {backend}")
        self._name = name
        self._process = os.getpid()
        self._handing_over = 0
        self._open = True
        self._warned = False
        self._changed = threading.Condition()
        self._opened: Future[BlockingPortal] = Future()
        self._ended: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, args=(context, backend), name=f"looms: {name}")
        self._thread.start()
        _close_at_exit(self)
        try:
            self._portal = self._opened.result()
        except BaseException:  # a Ctrl-C too
            self.close()
            raise

    def call(self, function: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """What an async function answers on the loop. A Ctrl-C here cancels it there, and harms nothing else.

        Raises:
            RuntimeClosed: it is closed, or was before there was an answer, or this is another process.
            WrongThread: this is the loop's own thread, which would wait for itself.
        """
        answer = self.begin(partial(function, *args, **kwargs))
        try:
            return self.answer(answer)
        finally:
            answer.cancel()  # does nothing to one that is there

    def begin(self, function: Callable[[], Awaitable[T]]) -> Future[T]:
        """Begin a call; its answer comes later. Cancel it to give it up.

        Raises:
            RuntimeClosed, WrongThread: as ``call``.
        """
        self._check_caller()
        with self._changed:
            if not self._open:
                raise self._closed("is closed")
            self._handing_over += 1
        try:
            return self._portal.start_task_soon(function)
        except RuntimeError as error:  # the loop has died
            raise self._closed("is closed") from error
        finally:
            with self._changed:
                self._handing_over -= 1
                self._changed.notify_all()

    def answer(self, call: Future[T]) -> T:
        """Wait for an answer.

        Raises:
            RuntimeClosed: it was closed before there was one.
        """
        try:
            return call.result()
        except CancelledError:
            raise self._closed("was closed before this was answered") from None

    def close(self) -> None:
        """Close what was opened, and end the loop; calls that still wait get ``RuntimeClosed``. Again is harmless.

        Raises:
            WrongThread: this is the loop's own thread.
            Exception: whatever the context raises when it is closed.
        """
        if os.getpid() != self._process:
            return  # it is the parent's
        self._check_caller()
        with self._changed:
            self._open = False
            self._changed.wait_for(lambda: not self._handing_over)
        if self._opened.exception() is None:
            with suppress(RuntimeError):  # it has ended
                self._opened.result().start_task_soon(self._stop.set)
        self._thread.join()
        self._ended.result()

    def warn_if_open(self, source: object) -> None:
        """Warn that whoever held this has let it go unclosed; once."""
        if self._open and not self._warned and os.getpid() == self._process:
            self._warned = True
            warnings.warn(f"{self._name} was not closed", ResourceWarning, stacklevel=3, source=source)

    def _run(self, context: AbstractAsyncContextManager[Any], backend: Backend) -> None:
        try:
            anyio.run(self._serve, context, backend=backend)
        except BaseException as error:  # noqa: BLE001 - raised in the thread that opens or closes
            if self._opened.done():
                self._ended.set_exception(error)
            else:
                self._opened.set_exception(error)
                self._ended.set_result(None)
        else:
            self._ended.set_result(None)
        finally:
            _left_open.discard(self)

    async def _serve(self, context: AbstractAsyncContextManager[Any]) -> None:
        async with context, BlockingPortal() as portal:
            self._stop = anyio.Event()
            self._opened.set_result(portal)
            await self._stop.wait()
            await portal.stop(cancel_remaining=True)

    def _check_caller(self) -> None:
        if os.getpid() != self._process:
            raise RuntimeClosed(
                f"{self._name} belongs to process {self._process}, which this one was forked from; open the store here "
                "after the fork, or ask the other process"
            )
        if threading.current_thread() is self._thread:
            raise WrongThread(
                f"{self._name} serves on the event loop of this very thread, which cannot wait for itself; an async "
                "handler uses `await ctx.emit(event)` or returns events, and one that calls this is a plain `def`"
            )

    def _closed(self, how: str) -> RuntimeClosed:
        why = self._ended.exception() if self._ended.done() else None
        if why is not None:
            closed = RuntimeClosed(f"{self._name} is over: {why}")
            closed.__cause__ = why
            return closed
        return RuntimeClosed(f"{self._name} {how}; open the store again with looms.open(...) or looms.open_reader(...)")


_left_open: WeakSet[Loop] = WeakSet()
_watched_in = 0  # the process whose end is waited for: a forked child has another one
_watching = threading.Lock()


def _close_at_exit(loop: Loop) -> None:
    """Have it closed when the main thread ends.

    `atexit` would be too late: before that, Python waits for threads that are not daemons, and a loop at work has some.
    """
    global _watched_in
    with _watching:
        _left_open.add(loop)
        if _watched_in != os.getpid():
            _watched_in = os.getpid()
            threading.Thread(target=_close_at_the_end, name="looms: closes at exit", daemon=True).start()


def _close_at_the_end() -> None:
    threading.main_thread().join()
    with ExitStack() as stack:
        for loop in list(_left_open):
            loop.warn_if_open(loop)
            stack.callback(loop.close)
