"""Modules: where an application declares its events, effects, reducers and projections."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, overload

from looms.reducers.annotations import NOTHING_SAID, check_plain
from looms.reducers.definitions import Definition, Projection
from looms.reducers.effects import Effect, Retry
from looms.reducers.errors import ModuleError, closest
from looms.reducers.events import Event, EventType, Upcast, register
from looms.reducers.state import State

E = TypeVar("E", bound=type[Event])
S = TypeVar("S", bound=State)
I = TypeVar("I")  # noqa: E741 - the input
O = TypeVar("O")  # noqa: E741 - the output

_NAME = re.compile(r"[^\W\d]\w*([.\- ]\w+)*")
_LONGEST = 200


class Module:
    """A named set of declarations. What it declares is called ``NAME.declared`` everywhere.

    Args:
        name: letters, digits, ``_``, ``-``, dots and single spaces, beginning with a letter; ``looms`` is taken.
        requires: the modules whose events, effects and reducers this one uses.

    Raises:
        ModuleError: a name that is none, or something required that is no module.
    """

    def __init__(self, name: str, *, requires: Iterable["Module"] = ()) -> None:
        _check_name(name, "a module's name")
        if name == "looms" or name.startswith("looms."):
            raise ModuleError(f"module {name!r}: names beginning with 'looms' are the runtime's own")
        self.name = name
        if isinstance(requires, Module):
            raise ModuleError(f"module {name}: requires={requires!r}; give a list of modules")
        self.requires = tuple(requires)
        for required in self.requires:
            if not isinstance(required, Module):
                raise ModuleError(f"module {name}: requires={required!r} is not a Module")
        self.events: dict[str, EventType[Any]] = {}
        self.definitions: dict[str, Definition[Any, Any, Any]] = {}
        self.projections: dict[str, Projection[Any]] = {}
        self.effects: dict[str, Effect[Any]] = {}

    def __repr__(self) -> str:
        return f"<module {self.name}>"

    @property
    def empty(self) -> bool:
        """Whether it declares nothing."""
        return not (self.events or self.definitions or self.projections or self.effects)

    def event(self, name: str, *, version: int = 1, formerly: Iterable[str] = ()) -> Callable[[E], E]:
        """Register an event's class.

        Args:
            name: its name in this module.
            version: raise it when the fields change their meaning, and declare an ``upcast`` from the one before.
            formerly: names in this module that records hold it under.

        Raises:
            ModuleError: the name is taken, or the class cannot be stored.
        """
        full = self._declare(name, "event", self.events)
        if isinstance(formerly, str):
            raise ModuleError(f"event {full}: formerly={formerly!r}; give a list of names")
        former = tuple(self._full(old) for old in formerly)

        def decorate(cls: E) -> E:
            self.events[full] = register(cls, full, version, former)
            return cls

        return decorate

    def upcast(self, name: str, *, to: int, renamed: Mapping[str, str] | None = None) -> Callable[[Upcast], Upcast]:
        """Declare how a payload of the version before becomes one of version ``to``.

        Args:
            name: the event's name in this module.
            to: the version.
            renamed: fields that only got another name: the old one and the new one. They are renamed before the
                function gets the payload; waits that match on the old name are met by events that have the new one.

        Raises:
            ModuleError: no such event here, a version that it does not reach, or one declared already.
        """
        full = self._full(name)
        kind = self.events.get(full)
        if kind is None:
            raise ModuleError(f"upcast of {full}: there is no such event{closest(full, self.events)}")
        if type(to) is not int or not 2 <= to <= kind.version:
            raise ModuleError(f"upcast of {full} to={to!r}: the event has versions 1 to {kind.version}")
        if to in kind.upcasts:
            raise ModuleError(f"upcast of {full} to={to}: declared already")
        fields = dict(renamed or {})
        if not all(isinstance(field, str) for pair in fields.items() for field in pair):
            raise ModuleError(f"upcast of {full} to={to}: renamed={renamed!r}; give {{'old name': 'new name'}}")

        def decorate(function: Upcast) -> Upcast:
            check_plain(function, f"upcast of {full} to={to}")
            kind.add_upcast(to, function, fields)
            return function

        return decorate

    @overload
    def reducer(
        self, name: str, *, state: type[S], version: int = 1
    ) -> Callable[[Callable[..., Any]], Definition[S, Any, Any]]: ...
    @overload
    def reducer(
        self, name: str, *, state: type[S], input: type[I], version: int = 1
    ) -> Callable[[Callable[..., Any]], Definition[S, I, Any]]: ...
    @overload
    def reducer(
        self, name: str, *, state: type[S], output: type[O], version: int = 1
    ) -> Callable[[Callable[..., Any]], Definition[S, Any, O]]: ...
    @overload
    def reducer(
        self, name: str, *, state: type[S], input: type[I], output: type[O], version: int = 1
    ) -> Callable[[Callable[..., Any]], Definition[S, I, O]]: ...
    def reducer(
        self,
        name: str,
        *,
        state: type[Any],
        input: Any = NOTHING_SAID,
        output: Any = NOTHING_SAID,
        version: int = 1,
    ) -> Callable[[Callable[..., Any]], Definition[Any, Any, Any]]:
        """Declare a reducer: a function ``(state, event)`` or ``(state, event, ctx)`` to a state or a step.

        Args:
            name: its name in this module.
            state: the class of its state; ``state()`` is where it begins.
            input: the type of its input; else what ``Started[...]`` says in the annotation.
            output: the type of what it completes with; else plain data.
            version: raise it when states that are stored no longer hold.

        Raises:
            ModuleError: the name is taken, the event is not annotated, or a type cannot be stored.
        """
        full = self._declare(name, "reducer", self.definitions)

        def decorate(function: Callable[..., Any]) -> Definition[Any, Any, Any]:
            made: Definition[Any, Any, Any] = Definition(
                full, function, state=state, input=input, output=output, version=version
            )
            self.definitions[full] = made
            return made

        return decorate

    def projection(self, name: str, *, state: type[S]) -> Callable[[Callable[..., Any]], Projection[S]]:
        """Declare a projection: a function ``(state, event)`` to a state, folded over the events that it names.

        Raises:
            ModuleError: as for a reducer.
        """
        full = self._declare(name, "projection", self.projections)

        def decorate(function: Callable[..., Any]) -> Projection[S]:
            self.projections[full] = made = Projection(full, function, state=state)
            return made

        return decorate

    def effect(
        self,
        name: str,
        *,
        retry: Retry | None = None,
        timeout: float | None = None,
        concurrency: int | None = None,
    ) -> Callable[[Callable[..., Any]], Effect[Any]]:
        """Declare an effect: a function ``(request)`` or ``(request, ctx)`` to an event, a list of events, or None.

        Args:
            name: its name in this module.
            retry: how often it is tried; ``Retry()`` without.
            timeout: seconds that one attempt may take.
            concurrency: how many handlers run at once in a host.

        Raises:
            ModuleError: the name is taken, or the function or an option cannot work.
        """
        full = self._declare(name, "effect", self.effects)

        def decorate(function: Callable[..., Any]) -> Effect[Any]:
            made: Effect[Any] = Effect(full, function, retry=retry, timeout=timeout, concurrency=concurrency)
            self.effects[full] = made
            return made

        return decorate

    def _full(self, name: str) -> str:
        return f"{self.name}.{name}"

    def _declare(self, name: str, kind: str, declared: dict[str, Any]) -> str:
        _check_name(name, f"the name of {'an' if kind[0] == 'e' else 'a'} {kind} of module {self.name}")
        full = self._full(name)
        if len(full.encode()) > _LONGEST:
            raise ModuleError(f"{kind} {full}: a full name has at most {_LONGEST} bytes")
        if full in declared:
            raise ModuleError(f"{kind} {full}: declared already in this module")
        return full


def _check_name(name: object, what: str) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ModuleError(
            f"{what}: {name!r}; use letters, digits, '_', '-', dots and single spaces, beginning with a letter"
        )
