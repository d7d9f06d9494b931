"""Effects: handlers that do I/O, and how they are tried."""

import inspect
import math
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from looms.reducers.annotations import answered, called, signature
from looms.reducers.codec import Codec, Unfit, declared
from looms.reducers.errors import InvalidEvent, InvalidInput, ModuleError, UnknownEvent, closest
from looms.reducers.events import Event, EventType, event_type
from looms.reducers.messages import shown
from looms.reducers.moments import is_seconds

R = TypeVar("R")

Answer = Event | list[Any] | tuple[Any, ...] | None


class Retry(msgspec.Struct, frozen=True):
    """How often an effect is tried.

    The delay before attempt n is ``backoff * factor ** (n - 2)`` seconds, at most ``max_backoff`` (or ``backoff``,
    where that is longer), times a random number from 1 to ``1 + jitter``: so never shorter. (Jitter keeps those that
    failed together from coming back together; see "Exponential Backoff and Jitter" in the AWS architecture blog.)

    Args:
        attempts: how many attempts there are in all.
        backoff: seconds before the second attempt.
        factor: how much longer each next delay is.
        max_backoff: the longest delay, in seconds, before jitter.
        jitter: how much longer a delay may be, as a part of it.
        give_up: no attempt begins later than so many seconds after the first.
    """

    attempts: int = 3
    backoff: float = 1.0
    factor: float = 2.0
    max_backoff: float = 300
    jitter: float = 0.1
    give_up: float | None = None

    def __post_init__(self) -> None:
        if type(self.attempts) is not int or self.attempts < 1:
            raise ValueError(f"Retry: attempts={shown(self.attempts)}; give a whole number from 1")
        for name in ("backoff", "factor", "max_backoff", "jitter", "give_up"):
            value = getattr(self, name)
            if value is None and name == "give_up":
                continue
            if not is_seconds(value) or value < 0:
                raise ValueError(f"Retry: {name}={shown(value)}; give a finite number from 0")

    def delay(self, after: int, chance: float) -> float:
        """Seconds to wait after so many attempts, with a random number from 0 to 1 for the jitter."""
        try:
            grown = self.backoff * float(self.factor) ** (after - 1) if self.backoff else 0.0
        except OverflowError:
            grown = math.inf
        return min(grown, max(self.max_backoff, self.backoff)) * (1 + self.jitter * chance)


class EffectContext(Protocol):
    """What a handler gets beside its request."""

    @property
    def run_id(self) -> str:
        """The run that asked."""
        ...

    @property
    def thread(self) -> str:
        """The thread that asked."""
        ...

    @property
    def effect_id(self) -> str:
        """The same at every attempt, and unlike that of any other effect: an idempotency key for the outside world."""
        ...

    @property
    def attempt(self) -> int:
        """Which attempt this is, from 1, counted over restarts."""
        ...

    async def emit(self, event: Event) -> None:
        """Record an event on the way; returns when it is committed. At a later attempt it is not recorded again."""
        ...


class Effect(Generic[R]):
    """A handler under a name. Made by ``@module.effect``; called, it is the function.

    Attributes:
        name: the full name, ``module.name``.
        retry: how often it is tried.
        timeout: seconds that one attempt may take, or None.
        concurrency: how many handlers run at once in a host, or None for as many as there are.
        is_async: whether it runs on the event loop (else in a thread).
        answers: the classes of the events that it returns, as its annotation says; ``Event`` where any will do.
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        *,
        retry: Retry | None = None,
        timeout: float | None = None,
        concurrency: int | None = None,
    ) -> None:
        where = f"effect {name}"
        self.name = name
        self.function = function
        if not isinstance(retry, Retry | None):
            raise ModuleError(f"{where}: retry={retry!r}; give a Retry(...)")
        self.retry = retry or Retry()
        self.timeout = _positive(timeout, f"{where}: timeout")
        if concurrency is not None and (type(concurrency) is not int or concurrency < 1):
            raise ModuleError(f"{where}: concurrency={concurrency!r}; give a whole number from 1")
        self.concurrency = concurrency
        given, self.answers = _declared(function, where)
        self.takes_context = len(given) == 2
        annotation = given[0].annotation
        self.requests: Codec[R] = declared(
            Any if annotation is inspect.Parameter.empty else annotation, f"the request of {where}"
        )
        self.is_async = inspect.iscoroutinefunction(called(function))
        self.__doc__ = function.__doc__
        self.__name__ = getattr(function, "__name__", name)
        self.__wrapped__ = function

    def __call__(self, *args: Any) -> Any:
        """What the function answers."""
        return self.function(*args)

    def __repr__(self) -> str:
        return f"<effect {self.name}>"

    def answers_with(self, cls: type[Event]) -> bool:
        """Whether it returns events of a class, as far as is known: an annotation that names none says nothing."""
        return not self.answers or issubclass(cls, tuple(self.answers))

    def check_answer(self, kind: EventType[Any]) -> None:
        """Refuse an event that it never returns.

        Raises:
            InvalidEvent: its annotation names others.
        """
        if not self.answers_with(kind.cls):
            names = sorted(_name_of(cls) for cls in self.answers)
            raise InvalidEvent(
                f"effect {self.name} never answers with {kind.name}, but with {' or '.join(names)}, as its handler's "
                f"annotation says{closest(kind.name, names)}"
            )

    def pack_request(self, value: Any) -> tuple[bytes, R]:
        """A request's bytes, and the request as the handler will get it.

        Raises:
            InvalidInput: it does not fit.
        """
        try:
            return self.requests.pack(value)
        except Unfit as error:
            raise InvalidInput(f"the request of effect {self.name}: {error}") from error


def _declared(function: Callable[..., Any], where: str) -> tuple[list[inspect.Parameter], frozenset[type[Event]]]:
    """What a handler takes, and which events it returns."""
    if not callable(function):
        raise ModuleError(f"{where}: {function!r} is not a function")
    runs = called(function)
    if inspect.isgeneratorfunction(runs) or inspect.isasyncgenfunction(runs):
        raise ModuleError(f"{where}: a handler returns its events; to give some on the way, await ctx.emit(event)")
    said = signature(function, where)
    given = [p for p in said.parameters.values() if p.kind is not p.KEYWORD_ONLY or p.default is p.empty]
    if len(given) not in (1, 2) or any(p.kind not in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in given):
        raise ModuleError(f"{where}: a handler takes (request) or (request, ctx)")
    return given, answered(said.return_annotation)


def _name_of(cls: type[Event]) -> str:
    try:
        return event_type(cls).name
    except UnknownEvent:
        return cls.__name__


def _positive(value: Any, what: str) -> float | None:
    if value is None:
        return None
    if not is_seconds(value) or value <= 0:
        raise ModuleError(f"{what}={shown(value)}; give a number of seconds above 0")
    return float(value)
