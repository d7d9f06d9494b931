"""Calls: effects whose handler is a function of the thread that asks, and not one that a module declares.

What is stored of a call is its id and the function's name. The function and its arguments are taken from the thread
each time that it is tried: so they may be what cannot be stored, as closures, locks and clients.
"""

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Never, NoReturn, get_args, get_origin
from weakref import WeakKeyDictionary

import msgspec

from looms.reducers.annotations import called, signature
from looms.reducers.codec import Codec, PlainCodec, declared
from looms.reducers.effects import Effect, Retry
from looms.reducers.messages import shown
from looms.reducers.moments import is_seconds


class Call:
    """A function, what it is called with, and how it is tried.

    Args:
        function: any callable.
        args, kwargs: what it is called with.
        retry: how often it is tried.
        timeout: seconds that an attempt may take.

    Attributes:
        name: what the function is called.
        results: its results, as its annotation says; plain data where it says nothing.

    Raises:
        TypeError, ValueError: it is not callable, or an option is none.
        ModuleError: its annotation cannot be resolved, or names what cannot be stored.
    """

    __slots__ = ("args", "function", "kwargs", "name", "results", "retry", "timeout")

    def __init__(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        retry: Retry | None,
        timeout: float | None,
    ) -> None:
        if not callable(function):
            raise TypeError(f"{shown(function)} is not a function; give it and its arguments, as in run(add, 1, 2)")
        if not isinstance(retry, Retry | None):
            raise TypeError(f"retry={shown(retry)}; give a Retry(...)")
        if timeout is not None and (not is_seconds(timeout) or timeout <= 0):
            raise ValueError(f"timeout={shown(timeout)}; give a number of seconds above 0")
        self.function = function
        self.args = args
        self.kwargs = kwargs
        self.retry = retry or Retry()
        self.timeout = timeout
        self.name = name_of(function)
        self.results = _results(function, self.name)

    def __call__(self) -> Any:
        """Call it, as an attempt does."""
        return self.function(*self.args, **self.kwargs)

    @property
    def is_async(self) -> bool:
        """Whether it runs on the event loop; else in a thread."""
        return inspect.iscoroutinefunction(called(self.function))


def name_of(function: Any) -> str:
    """What a function is called, behind ``functools.partial``; an object by its class."""
    inner = called(function)
    owner = getattr(inner, "__self__", None)
    if getattr(inner, "__name__", "") == "__call__" and owner is not None:
        inner = owner if isinstance(owner, type) else type(owner)
    return str(getattr(inner, "__name__", type(inner).__name__))


_known: WeakKeyDictionary[Any, Codec[Any]] = WeakKeyDictionary()


def _results(function: Callable[..., Any], name: str) -> Codec[Any]:
    """The codec of a function's results; made once for each function."""
    key = getattr(function, "__func__", function)
    try:
        known = _known.get(key)
    except TypeError:  # not to be referred to weakly, or no key of a mapping
        return _codec(function, name)
    if known is None:
        known = _codec(function, name)
        if inspect.isfunction(key) or inspect.isclass(key):
            _known[key] = known
    return known


def _codec(function: Callable[..., Any], name: str) -> Codec[Any]:
    runs = called(function)
    owner = getattr(runs, "__self__", None)
    if isinstance(owner, type) and getattr(runs, "__name__", "") == "__call__":
        return declared(owner, f"the result of {name}", objects=True)
    try:
        inspect.signature(runs)
    except (TypeError, ValueError):  # some that are not written in Python have none
        return _ANYTHING
    said = signature(runs, f"step {name}").return_annotation
    while (origin := get_origin(said)) is not None and isinstance(origin, type) and issubclass(origin, Awaitable):
        said = get_args(said)[-1]
    if said in (inspect.Signature.empty, Any):
        return _ANYTHING
    return declared(None if said in (Never, NoReturn) else said, f"the result of {name}", objects=True)


_ANYTHING = PlainCodec("a result")


class CallRequest(msgspec.Struct, frozen=True):
    """Which call: what its thread calls it, and the function's name."""

    id: str
    name: str


def _call(request: CallRequest) -> None:
    raise NotImplementedError("what is called is taken from the thread that asks")


CALL: Effect[CallRequest] = Effect("looms.call", _call)
"""The effect that every call is an instance of."""
