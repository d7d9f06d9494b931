"""What selectors, updaters and claims may not do: wait for something, or answer with what nobody would look at."""

import inspect
from collections.abc import Callable
from typing import Any, NoReturn

from looms.reducers.annotations import called
from looms.stores.errors import NotPure

_WAITS = "it runs in the midst of a turn, so it must be a plain function that awaits nothing"


def told(role: str, function: Callable[..., Any]) -> str:
    """A function as errors name it: ``selector first_unprocessed``."""
    return f"{role} {getattr(called(function), '__qualname__', repr(function))}"


def check_function(role: str, function: Callable[..., Any]) -> None:
    """Refuse what would not have done its work when its call returns.

    Args:
        role: ``selector``, ``updater`` or ``claim``.
        function: the function.

    Raises:
        TypeError: it cannot be called.
        NotPure: it is async, or a generator function.
    """
    if not callable(function):
        raise TypeError(f"the {role} is to be a function, not {function!r}")
    runs = called(function)
    if inspect.iscoroutinefunction(runs) or inspect.isasyncgenfunction(runs):
        raise NotPure(f"{told(role, function)} is async", _WAITS)
    if inspect.isgeneratorfunction(runs):
        raise NotPure(f"{told(role, function)} is a generator", _WAITS)


def refuse_awaitable(role: str, function: Callable[..., Any], answer: Any) -> None:
    """Refuse what a function has answered if it is to be awaited.

    Raises:
        NotPure: it is.
    """
    if inspect.isawaitable(answer):
        _close(answer)
        raise NotPure(f"{told(role, function)} returned something to be awaited ({type(answer).__name__})", _WAITS)
    if inspect.isasyncgen(answer):
        raise NotPure(f"{told(role, function)} returned an async generator", _WAITS)


def refuse_answer(function: Callable[..., Any], role: str, answer: Any, state: type) -> None:
    """Refuse what an updater or a claim has answered if it was meant to count.

    Raises:
        NotPure: it is an awaitable, a generator or a state.
    """
    refuse_awaitable(role, function, answer)
    if inspect.isgenerator(answer):
        _close(answer)
        raise NotPure(f"{told(role, function)} returned a generator", _WAITS)
    if issubclass(type(answer), state):
        raise NotPure(
            f"{told(role, function)} returned a new {state.__name__}",
            "what it returns is dropped; change the draft that it is given",
        )


def refuse_change(what: str, where: str) -> NoReturn:
    """Refuse a change by a selector.

    Raises:
        NotPure: always.
    """
    raise NotPure(f"{what} changed `{where}`", "a selector only looks; what is to be changed belongs in an updater")


def _close(answer: Any) -> None:
    if hasattr(answer, "close"):
        answer.close()  # else Python warns that it was never awaited
