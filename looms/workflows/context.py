"""What a workflow is given: everything that it may ask for."""

import inspect
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, TypeVar, overload
from uuid import UUID

from looms.reducers import instructions
from looms.reducers.calls import CALL, Call, CallRequest, name_of
from looms.reducers.definitions import Definition
from looms.reducers.effects import Effect, Retry
from looms.reducers.errors import InvalidMatch, ModuleError, UnknownEvent
from looms.reducers.events import Event, event_type
from looms.reducers.instructions import Instruction
from looms.reducers.messages import shown
from looms.reducers.state import State
from looms.uuids import uuid7
from looms.workflows.journal import Kind
from looms.workflows.player import Player
from looms.workflows.reading import Events, ValueOf, answered, as_it_is, one_of, timed_out, typed
from looms.workflows.step import Step
from looms.workflows.stores import WorkflowStore, open_store
from looms.workflows.things import Gather, Race, Raced, Thing

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
T = TypeVar("T")
S = TypeVar("S", bound=State)
I = TypeVar("I")  # noqa: E741 - the input
EA = TypeVar("EA", bound=Event)
EB = TypeVar("EB", bound=Event)
EC = TypeVar("EC", bound=Event)


class Restarted:
    """What a workflow returns to begin its next generation."""

    def __init__(self, input: Any) -> None:
        self.input = input


class Workflow:
    """The context of a workflow. What it gives is awaited, or handed to ``gather`` and ``race``.

    Attributes:
        thread: the thread: ``root``, or a child.
        generation: how often it has begun, from 1; see ``restart``.
    """

    def __init__(
        self, player: Player, thread: str, generation: int, logger: Callable[[str], Any], events: Events
    ) -> None:
        self._player = player
        self.thread = thread
        self.generation = generation
        self._logger = logger
        self._events = events

    @property
    def run_id(self) -> str:
        """The run."""
        return self._player.run_id

    @property
    def log(self) -> Any:
        """A structlog logger, bound to ``run_id``; silent while what has happened before is played again."""
        return self._logger(self.run_id) if self._player.live and self._player.again is None else _SILENT

    @overload
    def run(self, function: Effect[Any], request: Any = None, *, key: str | None = None) -> Thing[Any]: ...
    @overload
    def run(
        self,
        function: Callable[..., Awaitable[T]],
        *args: Any,
        key: str | None = None,
        retry: Retry | None = None,
        timeout: float | None = None,
        **kwargs: Any,
    ) -> Thing[T]: ...
    @overload
    def run(
        self,
        function: Callable[..., T],
        *args: Any,
        key: str | None = None,
        retry: Retry | None = None,
        timeout: float | None = None,
        **kwargs: Any,
    ) -> Thing[T]: ...
    def run(
        self,
        function: Callable[..., Any] | Effect[Any],
        *args: Any,
        key: str | None = None,
        retry: Retry | None = None,
        timeout: float | None = None,
        **kwargs: Any,
    ) -> Thing[Any]:
        """A step: a function that is called once the asking for it is on disk, and whose result is recorded.

        Args:
            function: any callable, or an effect of a module. An async one runs on the event loop, another one in a
                thread. It is taken from here at each attempt, and never stored, and so are its arguments.
            args, kwargs: what it is called with; of an effect, its request.
            key: what tells the step from others; else the function's name and its count.
            retry: how often it is tried; ``Retry()`` without. An effect brings its own.
            timeout: seconds that an attempt may take.

        Returns:
            Awaitable: the result, as the function's annotation says; plain data where it says nothing. Of an effect:
            the event that it returned, several as a tuple, or None.

        Raises:
            StepFailed: at the await, when its attempts are used up.
        """
        if isinstance(function, Effect):
            if kwargs or len(args) > 1 or retry is not None or timeout is not None:
                raise TypeError(
                    f"{function.name} is an effect: give it its request; retry and timeout it brings itself"
                )
            name = function.name.rpartition(".")[2]
            read = answered(function.answers, self._events)
            return self._step("run", name, name, key, lambda id: instructions.invoke(function, *args, id=id), read)
        try:
            call = Call(function, args, kwargs, retry, timeout)
        except ModuleError as error:
            raise self._player.stopped(error) from error
        made = self._player.key(call.name, key)
        asked = instructions.invoke(CALL, CallRequest(made, call.name), id=made)
        return Step(self._player, made, "run", call.name, asked, value_of=typed(call.results), call=call)

    @overload
    def wait(
        self,
        event: type[EA],
        /,
        *,
        match: dict[str, Any] | None = None,
        timeout: float | None = None,
        key: str | None = None,
    ) -> Thing[EA]: ...
    @overload
    def wait(
        self,
        event: type[EA],
        or_that: type[EB],
        /,
        *,
        match: dict[str, Any] | None = None,
        timeout: float | None = None,
        key: str | None = None,
    ) -> Thing[EA | EB]: ...
    @overload
    def wait(
        self,
        event: type[EA],
        or_that: type[EB],
        or_this: type[EC],
        /,
        *,
        match: dict[str, Any] | None = None,
        timeout: float | None = None,
        key: str | None = None,
    ) -> Thing[EA | EB | EC]: ...
    @overload
    def wait(
        self,
        *events: type[Event],
        match: dict[str, Any] | None = None,
        timeout: float | None = None,
        key: str | None = None,
    ) -> Thing[Any]: ...
    def wait(
        self,
        *events: type[Event],
        match: dict[str, Any] | None = None,
        timeout: float | None = None,
        key: str | None = None,
    ) -> Thing[Any]:
        """Wait for an event of these classes whose payload contains the match.

        Args:
            events: the classes.
            match: the part of the payload that it must contain.
            timeout: seconds after which it is ``TimeoutError`` instead.
            key: what tells the wait from others.

        Returns:
            Awaitable: the event.
        """
        if not events:
            raise TypeError("wait() of no event would never end; name its classes, or sleep()")
        made = self._player.key("wait", key)
        try:
            asked = instructions.wait(*events, match=match, timeout=timeout, id=made)
        except (InvalidMatch, UnknownEvent) as error:
            raise self._player.stopped(error) from error
        kinds = [event_type(event) for event in events]
        name = " | ".join(kind.name for kind in kinds)
        return Step(self._player, made, "wait", name, asked, value_of=one_of(kinds), failure_of=timed_out(name))

    def sleep(self, seconds: float, *, key: str | None = None) -> Thing[None]:
        """Wait for a number of seconds."""
        return self._step("sleep", "sleep", f"{seconds} s", key, lambda id: instructions.sleep(seconds, id=id))

    def sleep_until(self, moment: datetime, *, key: str | None = None) -> Thing[None]:
        """Wait until a moment, which has a zone."""
        return self._step(
            "sleep", "sleep_until", f"until {moment}", key, lambda id: instructions.sleep(until=moment, id=id)
        )

    def emit(self, event: Event, *, key: str | None = None) -> Thing[None]:
        """Record an event in this run; whoever waits for it gets it. It is over once it is decided."""
        asked = instructions.emit(event)
        return self._step("emit", "emit", event_type(type(event)).name, key, lambda _: asked)

    def signal(self, run_id: str, event: Event, *, key: str | None = None) -> Thing[None]:
        """Send an event to another run. It is over once it is decided.

        To a run that is unknown or over, it comes back as ``SignalFailed``, which may be waited for.
        """
        asked = instructions.signal(run_id, event)
        return self._step("signal", "signal", event_type(type(event)).name, key, lambda _: asked)

    def publish(self, event: Event, *, key: str | None = None) -> Thing[None]:
        """Send an event to every run that waits for it. It is over once it is decided."""
        asked = instructions.publish(event)
        return self._step("publish", "publish", event_type(type(event)).name, key, lambda _: asked)

    @overload
    def spawn(self, definition: Definition[Any, None, T], *, key: str | None = None) -> Thing[T]: ...
    @overload
    def spawn(self, definition: Definition[Any, I, T], input: I, *, key: str | None = None) -> Thing[T]: ...
    def spawn(self, definition: Definition[Any, Any, Any], input: Any = None, *, key: str | None = None) -> Thing[Any]:
        """Start a child: a workflow or a reducer, in this run. It begins now, awaited or not.

        Returns:
            Awaitable: its output.

        Raises:
            StepFailed: at the await, when it failed (``error="ChildFailed"``).
        """
        if not isinstance(definition, Definition):
            raise TypeError(f"spawn() takes a workflow or a reducer of a module, not {shown(definition)}")
        name = definition.name.rpartition(".")[2]
        child = self._step(
            "spawn",
            name,
            name,
            key,
            lambda id: instructions.spawn(definition, input, id=id),
            typed(definition.outputs),
        )
        child.begin()
        return child

    def store(
        self, cls: type[S], id: str | None = None, initial: S | None = None, *, key: str | None = None
    ) -> Thing[WorkflowStore[S]]:
        """Open a store: state that many share, and that outlives them.

        Args:
            cls: the class of its states, declared with ``@module.store(name)``.
            id: its id; without one it is the run's own.
            initial: creates it where it is absent; else it is of no interest.
            key: what tells the step from others.

        Returns:
            Awaitable: the store, each of whose calls is a step.

        Raises:
            UnknownStore: at the await, where it is absent and there is no initial state.
            InvalidState: at the await, where the initial state is none.
        """
        made = self._player.key("store", key)
        return open_store(self._player, cls, self.run_id if id is None else id, initial, made)

    @overload
    def gather(self) -> Thing[tuple[()]]: ...
    @overload
    def gather(self, first: Awaitable[A], /) -> Thing[tuple[A]]: ...
    @overload
    def gather(self, first: Awaitable[A], second: Awaitable[B], /) -> Thing[tuple[A, B]]: ...
    @overload
    def gather(self, first: Awaitable[A], second: Awaitable[B], third: Awaitable[C], /) -> Thing[tuple[A, B, C]]: ...
    @overload
    def gather(
        self, first: Awaitable[A], second: Awaitable[B], third: Awaitable[C], fourth: Awaitable[D], /
    ) -> Thing[tuple[A, B, C, D]]: ...
    @overload
    def gather(self, *things: Awaitable[T]) -> Thing[tuple[T, ...]]: ...
    def gather(self, *things: Any) -> Thing[Any]:
        """All of several things at once.

        Args:
            things: what this context gives, and coroutines of your own.

        Returns:
            Awaitable: a tuple of what they gave, in order. When one fails, that is raised as soon as the others have
            been cancelled.
        """
        return Gather(self._player, [self._thing(thing, "gather") for thing in things])

    def race(self, *things: Awaitable[T]) -> Thing[Raced[T]]:
        """The first of several things to settle, also with a failure; the others are cancelled.

        Returns:
            Awaitable: ``Raced(index, value)``.
        """
        if not things:
            raise TypeError("race() of nothing would never end; give it what may come first")
        return Race(self._player, [self._thing(thing, "race") for thing in things])

    @overload
    async def poll(self, function: Callable[..., Awaitable[T]], *, every: float, attempts: int) -> T: ...
    @overload
    async def poll(self, function: Callable[..., T], *, every: float, attempts: int) -> T: ...
    async def poll(self, function: Callable[..., Any], *, every: float, attempts: int) -> Any:
        """Call a function, as a step, until its answer is true.

        Args:
            function: what is called.
            every: seconds between two calls.
            attempts: how many calls there are at most.

        Raises:
            TimeoutError: no answer was true.
        """
        for attempt in range(attempts):
            if attempt:
                await self.sleep(every)
            if answer := await self.run(function):
                return answer
        raise TimeoutError(f"{name_of(function)} gave no true answer in {attempts} attempts")

    def now(self) -> datetime:
        """The time of the record that led here, in UTC; the same when it is played again."""
        return self._player.now

    def random(self) -> float:
        """A random number from 0 to 1 (not 1 itself); the same when it is played again."""
        return self._player.chance.random()

    def uuid(self) -> UUID:
        """A UUID of version 7; the same when it is played again."""
        return uuid7(self._player.now, self._player.chance)

    def version(self, change_id: str, latest: int) -> int:
        """Which version of a changed piece of code this generation goes by.

        Args:
            change_id: a name for the change.
            latest: today's version, from 2 on.

        Returns:
            1 where the run passed here before the change; else ``latest``, recorded. The first answer holds.
        """
        if type(latest) is not int:
            raise TypeError(f"version(): latest={shown(latest)}; give a whole number")
        return self._player.version(change_id, latest)

    def restart(self, input: Any = None) -> T:  # type: ignore[type-var]  # whatever the workflow says that it returns
        """To be returned: the next generation begins in the same run, with this input and an empty journal."""
        return Restarted(input)  # type: ignore[return-value]

    def _step(
        self,
        kind: Kind,
        called: str,
        name: str,
        key: str | None,
        asked: Callable[[str], Instruction],
        value_of: ValueOf = as_it_is,
    ) -> Step[Any]:
        made = self._player.key(called, key)
        return Step(self._player, made, kind, name, asked(made), value_of=value_of)

    def _thing(self, given: Any, where: str) -> Thing[Any]:
        if isinstance(given, Thing):
            return self._player.own(given)
        if inspect.iscoroutine(given):
            return self._player.branch(given)
        raise TypeError(f"{where}() takes what ctx gives and coroutines, not {shown(given)}")


class _Silent:
    """A logger that logs nothing."""

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **values: self


_SILENT = _Silent()
