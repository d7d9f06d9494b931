"""A runtime for a test."""

import os
import tempfile
from collections.abc import AsyncIterator, Iterable
from contextlib import ExitStack, asynccontextmanager
from typing import Any

from looms.reducers.modules import Module
from looms.runtime import Runtime
from looms.testing.clock import TestClock


class RuntimeOnTestClock(Runtime):
    """A runtime whose time a test moves: ``await runtime.clock.advance(60)``."""

    clock: TestClock


@asynccontextmanager
async def runtime(
    modules: Iterable[Module],
    path: str | os.PathLike[str] | None = None,
    clock: TestClock | None = None,
    **options: Any,
) -> AsyncIterator[RuntimeOnTestClock]:
    """A runtime on a clock that the test moves.

    Args:
        modules: the modules.
        path: the store's folder; a temporary one without. With the same path and clock it opens the store again.
        clock: the clock; a new one without.
        options: as for ``Runtime``.
    """
    with ExitStack() as stack:
        if path is None:
            path = os.path.join(stack.enter_context(tempfile.TemporaryDirectory(prefix="looms-")), "test.looms")
        clock = clock or TestClock()
        async with RuntimeOnTestClock(path, modules=modules, clock=clock, **options) as opened:
            yield opened
