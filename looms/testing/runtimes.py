"""A runtime for a test."""

import os
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import ExitStack, asynccontextmanager
from typing import Any

from looms.reducers.effects import Effect
from looms.reducers.errors import ModuleError, closest
from looms.reducers.givens import refused
from looms.reducers.modules import Module
from looms.reducers.registry import Registry
from looms.runtime import Runtime
from looms.testing.clock import TestClock

Handlers = Mapping[Effect[Any], Callable[..., Any]]


class RuntimeOnTestClock(Runtime):
    """A runtime whose time a test moves: ``await runtime.clock.advance(60)``."""

    clock: TestClock


@asynccontextmanager
async def runtime(
    modules: Iterable[Module],
    path: str | os.PathLike[str] | None = None,
    clock: TestClock | None = None,
    *,
    effects: Handlers | None = None,
    **options: Any,
) -> AsyncIterator[RuntimeOnTestClock]:
    """A runtime on a clock that the test moves.

    Args:
        modules: the modules.
        path: the store's folder; a temporary one without. With the same path and clock it opens the store again.
        clock: the clock; a new one without.
        effects: handlers to call instead of the effects' own, in this runtime only. They take what those take, and
            are tried, timed out and limited as those are.
        options: as for ``Runtime``.

    Raises:
        ModuleError: one of ``effects`` is of none of the modules, or its handler is none.
        InvalidInput: something that cannot be.
    """
    with ExitStack() as stack:
        if path is None:
            path = os.path.join(stack.enter_context(tempfile.TemporaryDirectory(prefix="looms-")), "test.looms")
        if not isinstance(clock, TestClock | None):
            refused("clock", clock, "a TestClock, which the test moves")
        clock = clock or TestClock()
        made = RuntimeOnTestClock(path, modules=modules, clock=clock, **options)
        replace_handlers(made.code, {} if effects is None else effects)
        async with made as opened:
            yield opened


def replace_handlers(code: Registry, handlers: Handlers) -> None:
    """Have other handlers called for some effects; all else about these stays.

    Raises:
        ModuleError: an effect that is not there, or a handler that is none.
    """
    if not isinstance(handlers, Mapping):
        refused("effects", handlers, "a dict of handlers, by the effects that they stand in for")
    for effect, handler in handlers.items():
        if not isinstance(effect, Effect):
            raise ModuleError(f"effects: {effect!r} is not an effect; give one as @module.effect left it")
        if code.effects.get(effect.name) is not effect:
            raise ModuleError(
                f"effects: {effect.name} is an effect of no module here{closest(effect.name, code.effects)}"
            )
        made: Effect[Any] = Effect(
            effect.name, handler, retry=effect.retry, timeout=effect.timeout, concurrency=effect.concurrency
        )
        made.requests, made.answers = effect.requests, effect.answers
        code.effects[effect.name] = made
