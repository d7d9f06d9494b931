"""Running code where no event loop is in sight, though one runs around it.

Workflows are played on the loop's thread. What asks for a loop there (a sleep, a task, a cancel scope) would get the
host's own, and could cancel the task that commits for everybody: so the loop is out of sight meanwhile, and asking for
it raises as it does in any plain function.
"""

import asyncio
import sys
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def off_loop(function: Callable[..., T], *args: Any) -> T:
    """Call a function with no event loop in sight."""
    loop = asyncio._get_running_loop()
    if loop is not None:
        asyncio._set_running_loop(None)
        try:
            return function(*args)
        finally:
            asyncio._set_running_loop(loop)
    trio = sys.modules.get("trio._core._run_context")
    if trio is None:
        return function(*args)
    here = vars(trio.GLOBAL_RUN_CONTEXT)  # of this thread; there is no public way to set it aside
    aside = dict(here)
    here.clear()
    try:
        return function(*args)
    finally:
        here.update(aside)
