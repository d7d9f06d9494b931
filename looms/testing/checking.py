"""Checking the declarations of an application: what would be refused later, or never noticed."""

from collections.abc import Iterable, Iterator
from types import FunctionType
from typing import Any

from looms.reducers.annotations import called
from looms.reducers.definitions import Definition
from looms.reducers.effects import Effect
from looms.reducers.errors import LoomsError, ModuleError, UnknownEvent
from looms.reducers.events import Event, event_type
from looms.reducers.givens import items, refused
from looms.reducers.instructions import Invoke, Step
from looms.reducers.lifecycle import RUNTIME_EVENTS, Started
from looms.reducers.messages import told
from looms.reducers.modules import Module
from looms.reducers.registry import Registry
from looms.reducers.wait_checks import check_wait
from looms.reducers.wire import to_wire
from looms.testing.naming import things
from looms.testing.purity import impurities
from looms.testing.stories import Reducer, stories
from looms.testing.watching import Impure, watched
from looms.workflows.definition import WorkflowDefinition


def check_module(modules: Module | Iterable[Module]) -> None:
    """Check an application's modules for what would be refused later, or would bite.

    That is: modules that do not fit together; reducers and projections that are not pure (``assert_pure``), or that
    use what is declared in modules that theirs does not require; reducers that raise on every start; instructions that
    would be refused when they are decided, such as a wait for an event that the reducer does not handle, a deadline
    without ``TimedOut``, a request that does not fit its effect; and effects whose answer the reducer that asks for
    them does not handle.

    Of workflows it is only looked at what they use; whether they replay, ``assert_replays`` tells of a run of one.

    What reducers decide is found by calling them with made-up events, so what only a certain value leads to may not be
    found. What an effect answers with is read from its annotation.

    Args:
        modules: one module, with those that it requires; or all of an application's.

    Raises:
        AssertionError: there is something; the message has a line for each.
        InvalidInput: it was given something else.
    """
    right = "a module, or a list of modules, such as [payments, orders]"
    given = [modules] if isinstance(modules, Module) else list(items("modules", modules, right))
    for one in given:
        if not isinstance(one, Module):
            refused("modules", modules, right)
    if len(given) == 1:
        given = _with_required(given[0])
    found = list(dict.fromkeys(_findings(given)))
    if found:
        raise AssertionError("\n".join(found))


def _with_required(module: Module) -> list[Module]:
    """A module, and all that it requires."""
    found = {module.name: module}
    todo = [module]
    while todo:
        for required in todo.pop().requires:
            if found.setdefault(required.name, required) is required and required not in todo:
                todo.append(required)
    return list(found.values())


def _findings(modules: list[Module]) -> Iterator[str]:
    try:
        code = Registry(modules)
    except ModuleError as error:
        yield str(error)
        return
    for module in modules:
        reducers: list[Reducer] = [*module.definitions.values(), *module.projections.values()]
        for reducer in reducers:
            if not isinstance(reducer, WorkflowDefinition):
                yield from (f"{reducer.name} is not pure: {found}" for found in impurities(reducer))
            yield from _beyond(module, reducer, code)
        for definition in module.definitions.values():
            if not isinstance(definition, WorkflowDefinition):
                yield from _decided(definition, code)


def _beyond(module: Module, reducer: Reducer, code: Registry) -> Iterator[str]:
    """What a reducer uses of modules that its own does not require."""
    near = {one.name for one in _with_required(module)}
    names = {event_type(cls).name for cls in reducer.handles} | {thing.name for thing in _declared(reducer)}
    for owner in code.modules.values():
        theirs = names & {*owner.events, *owner.effects, *owner.definitions}
        if theirs and owner.name not in near:
            yield f"{reducer.name} uses {', '.join(sorted(theirs))}; name {owner.name} in requires= of {module.name}"


def _declared(reducer: Reducer) -> Iterator[Any]:
    """The effects, definitions and events that a reducer's code names."""
    function = called(reducer.__wrapped__)
    plain = getattr(function, "__func__", function)
    if not isinstance(plain, FunctionType):
        return
    for thing, _, _, _ in things(plain):
        if isinstance(thing, Effect | Definition):
            yield thing
        elif isinstance(thing, type) and issubclass(thing, Event):
            try:
                kind = event_type(thing)
            except UnknownEvent:
                continue
            if kind not in RUNTIME_EVENTS:
                yield kind


def _decided(definition: Definition[Any, Any, Any], code: Registry) -> Iterator[str]:
    """What a reducer decides that would be refused, and what it asks for and does not hear of."""
    effects = {thing.name for thing in _declared(definition) if isinstance(thing, Effect)}
    starts: list[str] = []
    begun = False
    for state, event in stories(definition):
        try:
            with watched():
                answer = definition(state, event)
        except Impure:
            begun = begun or isinstance(event, Started)
            continue
        except Exception as error:  # noqa: BLE001 - made-up events need not make sense to it
            starts += [told(error)] if isinstance(event, Started) else []
            continue
        begun = begun or isinstance(event, Started)
        where = f"{definition.name}, on {type(event).__name__}"
        now = answer.state if isinstance(answer, Step) else answer
        if type(now) is not definition.state:
            yield f"{where}: it answers with a {type(now).__name__} instead of a {definition.state.__name__}"
            continue
        for instruction in answer.instructions if isinstance(answer, Step) else ():
            if isinstance(instruction, Invoke):
                effects.add(instruction.effect)
            try:
                to_wire(instruction, code, definition)
                check_wait(instruction, definition, code)
            except (LoomsError, TypeError) as error:
                yield f"{where}: {error}"
    if starts and not begun:
        yield f"{definition.name} raises on every start that was tried: {starts[0]}"
    for name in sorted(effects & set(code.effects)):
        yield from _unheard(definition, code.effects[name])


def _unheard(definition: Definition[Any, Any, Any], effect: Effect[Any]) -> Iterator[str]:
    for cls in sorted(effect.answers - definition.handles - {Event}, key=lambda cls: cls.__name__):
        yield (
            f"{definition.name} invokes {effect.name}, which answers with {cls.__name__}, and does not handle it; "
            "it would stay in the mailbox: name it in the annotation of the event parameter"
        )
