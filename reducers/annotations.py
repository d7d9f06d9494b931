"""What a reducer handles is read from its annotations."""

import functools
import inspect
import types
from collections.abc import Callable, Coroutine
from typing import Annotated, Any, Never, NoReturn, Union, get_args, get_origin

from looms.reducers.errors import ModuleError, UnknownEvent
from looms.reducers.events import Event, event_type
from looms.reducers.lifecycle import Started

NOTHING_SAID = object()


def parameters(function: Callable[..., Any], where: str) -> list[inspect.Parameter]:
    """The positional parameters of a function, with their annotations resolved.

    Raises:
        ModuleError: an annotation names something that cannot be found.
    """
    return list(signature(function, where).parameters.values())


def signature(function: Callable[..., Any], where: str) -> inspect.Signature:
    """A function's signature, with its annotations resolved.

    Raises:
        ModuleError: there is none, or an annotation names something that cannot be found.
    """
    try:
        inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise ModuleError(f"{where}: {function!r} has no signature to be read: {error}; declare a function") from error
    try:
        return inspect.signature(function, eval_str=True, locals=_enclosing(function))
    except Exception as error:
        raise ModuleError(
            f"{where}: an annotation cannot be resolved: {error}; it should name what is there at run time: "
            "no import under TYPE_CHECKING, no name that is local to another function"
        ) from error


def called(function: Callable[..., Any]) -> Callable[..., Any]:
    """What runs when this is called: behind ``functools.partial``, and of an object with ``__call__``."""
    while isinstance(function, functools.partial):
        function = function.func
    return function if inspect.isroutine(function) else getattr(function, "__call__", function)  # noqa: B004


def _enclosing(function: Callable[..., Any]) -> dict[str, Any]:
    """The local names around a function that it uses, as far as they have a value by now."""
    found: dict[str, Any] = {}
    if not inspect.isfunction(function):
        return found
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:
            continue  # assigned later, as a handler may use what its own definition makes
    return found


def handled(annotation: Any, where: str) -> tuple[frozenset[type[Event]], Any]:
    """The event classes of an annotation such as ``Started[PlaceOrder] | Paid``, and what ``Started`` was given.

    Returns:
        The classes, and the type of the input (``NOTHING_SAID`` where there is no ``Started[...]``).

    Raises:
        ModuleError: nothing is annotated, or something that is not a registered event.
    """
    if annotation is inspect.Parameter.empty:
        raise ModuleError(
            f"{where}: the event parameter is not annotated; annotate it with the events that it handles, "
            "as in `event: Started[Input] | SomethingHappened`"
        )
    classes: set[type[Event]] = set()
    given: Any = NOTHING_SAID
    for member in _members(annotation):
        cls = get_origin(member) or member
        if cls is Started and Started in classes:
            raise ModuleError(
                f"{where}: the annotation names Started twice; a thread starts once, with one type of input"
            )
        if cls is Started:
            arguments = get_args(member)
            given = arguments[0] if arguments else Any
        if not (isinstance(cls, type) and issubclass(cls, Event)):
            raise ModuleError(f"{where}: the annotation names {member!r}, which is not an event")
        try:
            event_type(cls)
        except UnknownEvent as error:
            raise ModuleError(f"{where}: {error}") from error
        classes.add(cls)
    return frozenset(classes), given


def _members(annotation: Any) -> tuple[Any, ...]:
    if get_origin(annotation) in (Union, types.UnionType):
        return get_args(annotation)
    return (annotation,)


def answered(annotation: Any) -> frozenset[type[Event]]:
    """The event classes that a return annotation names, such as ``Charged | Declined`` or ``list[Page]``.

    Where it says nothing of some of what may be returned (``Any``, a list of what it does not say), that may be any
    event: ``Event`` is among them.
    """
    classes: set[type[Event]] = set()
    todo = [annotation]
    while todo:
        one = todo.pop()
        origin, arguments = get_origin(one), get_args(one)
        if one in (None, type(None), Never, NoReturn, Ellipsis):
            continue
        if hasattr(one, "__value__"):  # type Outcome = Charged | Declined
            todo.append(one.__value__)
        elif origin is Annotated:
            todo.append(arguments[0])
        elif isinstance(origin, type) and issubclass(origin, Coroutine):
            todo.append(arguments[-1])
        elif arguments and not (isinstance(origin, type) and issubclass(origin, Event)):
            todo += arguments
        else:
            cls = origin or one
            classes.add(cls if isinstance(cls, type) and issubclass(cls, Event) else Event)
    return frozenset(classes)


def is_plain(function: Callable[..., Any]) -> bool:
    """Whether a function has done its work when its call returns: it is no async and no generator function."""
    runs = called(function)
    return not (
        inspect.iscoroutinefunction(runs) or inspect.isgeneratorfunction(runs) or inspect.isasyncgenfunction(runs)
    )


def check_plain(function: Callable[..., Any], where: str) -> None:
    """Refuse what is no plain function where one is called without waiting for it.

    Raises:
        ModuleError: it is none, or an async or a generator function.
    """
    if not callable(function):
        raise ModuleError(f"{where}: {function!r} is not a function")
    if not is_plain(function):
        raise ModuleError(
            f"{where}: it should be a plain function, so that it can be replayed; I/O belongs in an effect"
        )
