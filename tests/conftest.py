"""What every test can ask for, and the time that each may take."""

import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

LIMIT = 120  # seconds for an asynchronous test that is not long: a promise that hangs is a promise broken


@pytest.fixture(scope="module", params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """The event loop that an asynchronous test runs on: each one in turn."""
    backend: str = request.param
    return backend


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
