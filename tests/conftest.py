"""What every test can ask for, and the time that each may take."""

import functools
import inspect
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

FEW = 3  # files
LIMIT = 120  # seconds for an asynchronous test that is not long: a promise that hangs is a promise broken

# Hundreds of processes are started here, and where no bytecode may be kept, each would compile all that it imports.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


@pytest.fixture(scope="module", params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """The event loop that an asynchronous test runs on: each one in turn."""
    backend: str = request.param
    return backend


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """How many processes share the tests: one for each core, but none where a few are done before those have begun."""
    named = [Path(argument.partition("::")[0]) for argument in config.args]
    few = all(path.suffix == ".py" for path in named) and len(named) <= FEW
    return 0 if few or config.option.keyword else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put a limit on each asynchronous test."""
    for item in items:
        if isinstance(item, pytest.Function) and not any(item.iter_markers("long")):
            item.obj = limited(item.obj) if inspect.iscoroutinefunction(item.obj) else item.obj


def limited(test: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    """A test that fails when it takes too long."""

    @functools.wraps(test)
    async def wrapper(*args: Any, **kwargs: Any) -> None:
        with anyio.fail_after(LIMIT):
            await test(*args, **kwargs)

    return wrapper
