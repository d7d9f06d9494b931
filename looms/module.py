"""Modules as applications declare them: with what is built on the kernel's pieces beside the pieces themselves."""

from collections.abc import Callable, Coroutine, Iterator
from typing import Any, Protocol, TypeVar, overload

from looms.reducers import modules
from looms.reducers.events import EventType
from looms.reducers.state import State
from looms.stores.definition import declare
from looms.workflows.context import Workflow
from looms.workflows.definition import WorkflowDefinition

S = TypeVar("S", bound=State)
I = TypeVar("I")  # noqa: E741 - the input
O = TypeVar("O")  # noqa: E741 - the output


class Declaring(Protocol):
    """Makes a workflow of an ``async def``."""

    @overload
    def __call__(self, function: Callable[[Workflow], Coroutine[Any, Any, O]]) -> WorkflowDefinition[None, O]: ...
    @overload
    def __call__(self, function: Callable[[Workflow, I], Coroutine[Any, Any, O]]) -> WorkflowDefinition[I, O]: ...


class Module(modules.Module):
    __doc__ = modules.Module.__doc__

    def workflow(self, name: str, *, version: int = 1) -> Declaring:
        """Declare a workflow: an ``async def`` of a context and perhaps an input, that survives its process.

        Args:
            name: its name in this module.
            version: raise it when journals that are stored no longer hold.

        Raises:
            ModuleError: the name is taken, it is no such function, or a type cannot be stored.
        """
        full = self._declare(name, "workflow", self.definitions)

        def decorate(function: Callable[..., Any]) -> WorkflowDefinition[Any, Any]:
            made: WorkflowDefinition[Any, Any] = WorkflowDefinition(
                full, function, version=version, events=lambda: _events(self)
            )
            self.definitions[full] = made
            return made

        return decorate

    def store(self, name: str) -> Callable[[type[S]], type[S]]:
        """Declare a class of states as a store: state that many share, and that outlives them.

        Args:
            name: its name in this module.

        Raises:
            ModuleError: the name is taken, the class is a store already, or it cannot be stored.
        """
        full = self._declare(name, "store", self.definitions)

        def decorate(cls: type[S]) -> type[S]:
            self.definitions[full] = declare(full, cls)
            return cls

        return decorate


def _events(module: modules.Module) -> Iterator[EventType[Any]]:
    """The events of a module, and of those that it requires."""
    todo, seen = [module], {module.name}
    while todo:
        one = todo.pop()
        yield from one.events.values()
        todo += [required for required in one.requires if required.name not in seen]
        seen |= {required.name for required in one.requires}
