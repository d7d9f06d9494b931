"""The registry: today's code, as one checked set of modules."""

from collections.abc import Collection, Iterable
from typing import Any, TypeVar

from looms.reducers.calls import CALL
from looms.reducers.definitions import Definition, Projection
from looms.reducers.effects import Effect
from looms.reducers.errors import InvalidEvent, ModuleError, UnknownEvent, closest
from looms.reducers.events import Event, EventType, event_type
from looms.reducers.givens import items, refused
from looms.reducers.lifecycle import RUNTIME_EVENTS
from looms.reducers.modules import Module

T = TypeVar("T")

_SHOWN = 8  # names in a message
_LONGEST = 200  # bytes of a full name


class Registry:
    """All that a set of modules declares, by full name.

    Args:
        modules: the modules, in any order.

    Raises:
        ModuleError: two of one name, a required one missing, a name declared twice, an event without a way from each
            of its versions to today's, or a reducer that handles an event of a module that is not here.
    """

    def __init__(self, modules: Iterable[Module]) -> None:
        self.modules = _by_name(modules)
        self.events: dict[str, EventType[Any]] = {kind.name: kind for kind in RUNTIME_EVENTS}
        self.definitions: dict[str, Definition[Any, Any, Any]] = {}
        self.projections: dict[str, Projection[Any]] = {}
        self.effects: dict[str, Effect[Any]] = {CALL.name: CALL}
        for module in self.modules.values():
            _adopt(self.definitions, module.definitions, "definition")
            _adopt(self.projections, module.projections, "projection")
            _adopt(self.effects, module.effects, "effect")
            _adopt(self.events, module.events, "event")
        for module in self.modules.values():
            for kind in module.events.values():
                _check_upcasts(module.name, kind)
                _check_renamed(kind)
                for name in kind.formerly:
                    _check_former(module.name, name, kind, self.events)
                    self.events[name] = kind
        self._handled: dict[str, dict[str, EventType[Any]]] = {}
        for definition in self.definitions.values():
            self._check_handled(definition.name, definition.handles)
        for projection in self.projections.values():
            self._check_handled(projection.name, projection.handles)

    def event_of(self, event: Event) -> EventType[Any]:
        """The type of an event that somebody sends or emits.

        Raises:
            UnknownEvent: no module here has it; the closest name is told.
            InvalidEvent: it is one of the runtime's own.
        """
        kind = event_type(type(event))
        if self.events.get(kind.name) is not kind:
            raise self.no_event(kind.name)
        return _not_of_the_runtime(kind)

    def event_sent(self, name: str) -> EventType[Any]:
        """The type of an event that was sent, by its name, also a former one.

        Raises:
            UnknownEvent: no module here has it.
            InvalidEvent: it is one of the runtime's own.
        """
        kind = self.events.get(name)
        if kind is None or name.startswith("looms."):
            kind = _not_of_the_runtime(self.event_named(name))
        return kind

    def names_of(self, name: str) -> tuple[str, ...]:
        """All names that the event of a name has or had; the name alone where no module here has it."""
        kind = self.events.get(name)
        return (name,) if kind is None else kind.names

    def event_named(self, name: str) -> EventType[Any]:
        """The type of an event by the name in a record, also a former one.

        Raises:
            UnknownEvent: no module here has it.
        """
        if not isinstance(name, str):
            refused("type", name, "an event's registered name, module.event")
        kind = self.events.get(name)
        if kind is None:
            raise self.no_event(name)
        return kind

    def definition(self, name: str) -> Definition[Any, Any, Any]:
        """A definition by name.

        Raises:
            ModuleError: no module here has it.
        """
        found = self.definitions.get(name)
        if found is None:
            raise self.no_definition(name)
        return found

    def handled(self, definition: str) -> dict[str, EventType[Any]]:
        """The application's events that a definition takes, by each name that they have or had."""
        found = self._handled.get(definition)
        if found is None:
            handles = self.definitions[definition].handles if definition in self.definitions else ()
            own = (one for one in self.events.items() if not one[0].startswith("looms."))
            found = self._handled[definition] = {name: kind for name, kind in own if kind.cls in handles}
        return found

    def effect(self, name: str) -> Effect[Any]:
        """An effect by name.

        Raises:
            ModuleError: no module here has it.
        """
        found = self.effects.get(name)
        if found is None:
            raise self.no_effect(name)
        return found

    def no_event(self, name: str) -> UnknownEvent:
        """No module here has an event."""
        return UnknownEvent(
            self._absent(name, "an event", [one for one in self.events if not one.startswith("looms.")])
        )

    def no_definition(self, name: str) -> ModuleError:
        """No module here has a definition."""
        return ModuleError(self._absent(name, "a definition", self.definitions))

    def no_effect(self, name: str) -> ModuleError:
        """No module here has an effect."""
        return ModuleError(self._absent(name, "an effect", self.effects))

    def _absent(self, name: str, what: str, known: Collection[str]) -> str:
        """What is told of a name that is not here: the closest one, or the module that it was in, or what there is."""
        if len(name) > _LONGEST:
            return f"{name[:_LONGEST]!r}... is {what} of no module here; a name has at most {_LONGEST} bytes"
        hint = closest(name, known)
        module, _, rest = name.partition(".")
        if rest and not hint and not any(name.startswith(f"{here}.") for here in self.modules):
            return f"{name} is {what} of module {module}, which is not among the modules here"
        if not hint:
            shown = ", ".join(sorted(known)[:_SHOWN]) + (", ..." if len(known) > _SHOWN else "")
            hint = f"; there are {shown}" if known else "; no module here has any"
        return f"{name} is {what} of no module here{hint}"

    def _check_handled(self, name: str, handles: frozenset[type[Event]]) -> None:
        for cls in handles:
            kind = event_type(cls)
            if self.events.get(kind.name) is not kind:
                raise ModuleError(
                    f"{name} handles {kind.name}, which is an event of no module here; "
                    f"give the module {kind.name.split('.')[0]!r} too, and name it in requires="
                )


def _not_of_the_runtime(kind: EventType[Any]) -> EventType[Any]:
    if kind in RUNTIME_EVENTS:
        raise InvalidEvent(f"{kind.name} is an event of the runtime, which alone records it; send one of a module")
    return kind


def _by_name(modules: Iterable[Module]) -> dict[str, Module]:
    """The modules, and those that they require, by name."""
    given = items("modules", modules, "a list of modules, such as [payments, orders]")
    found: dict[str, Module] = {}
    for module in given:
        if not isinstance(module, Module):
            raise ModuleError(f"modules: {module!r} is not a Module")
        if module.name in found:
            raise ModuleError(f"modules: two of them are named {module.name!r}")
        found[module.name] = module
    todo = list(found.values())
    while todo:
        module = todo.pop()
        for required in module.requires:
            if found.setdefault(required.name, required) is not required:
                raise ModuleError(
                    f"module {module.name!r} requires a module {required.name!r}, and another one of that name is here"
                )
            todo.append(required)
    for module in found.values():
        for required in module.requires:
            if required.empty and required not in given:
                raise ModuleError(
                    f"module {module.name!r} requires {required.name!r}, which declares nothing: is what it declares "
                    "imported?"
                )
    return found


def _adopt(into: dict[str, T], declared: dict[str, T], what: str) -> None:
    for name, thing in declared.items():
        if name in into:
            raise ModuleError(f"{what} {name}: declared twice")
        into[name] = thing


def _check_upcasts(module: str, kind: EventType[Any]) -> None:
    """There is a way from each version that a record may have to today's."""
    missing = [step for step in range(2, kind.version + 1) if step not in kind.upcasts]
    if missing:
        name = kind.name.removeprefix(f"{module}.")
        declared = " and ".join(f"@{module}.upcast({name!r}, to={step})" for step in missing)
        raise ModuleError(
            f"event {kind.name} has version={kind.version}, and records of older versions could not be read; "
            f"declare {declared}"
        )


def _check_renamed(kind: EventType[Any]) -> None:
    """A field that was renamed is there under its new name, and no other field has its old one."""
    for old, new in kind.called.items():
        if old in kind.fields:
            raise ModuleError(
                f"event {kind.name}: an upcast has renamed={{{old!r}: ...}}, and there is a field {old!r} again; "
                "a wait that matches on the one could not be told from a wait that matches on the other"
            )
        if new not in kind.fields:
            raise ModuleError(
                f"event {kind.name}: an upcast has renamed={{{old!r}: {new!r}}}, and there is no field {new!r}"
                f"{closest(new, kind.fields) or '; what is gone is no renamed field'}"
            )


def _check_former(module: str, name: str, kind: EventType[Any], known: dict[str, EventType[Any]]) -> None:
    """A name that an event had before is no other event's, now or before."""
    other = known.get(name)
    if other is None:
        return
    if other.name == name:
        whose = "its own name" if other is kind else "the name of another event"
    else:
        whose = "there twice" if other is kind else f"a former name of event {other.name}, too"
    raise ModuleError(
        f"event {kind.name}: formerly={name.removeprefix(f'{module}.')!r} is {whose}; a record tells by its name alone "
        "what it holds"
    )
