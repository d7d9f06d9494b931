"""What every test can ask for."""

import pytest


@pytest.fixture(scope="module", params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """The event loop that an asynchronous test runs on: each one in turn."""
    backend: str = request.param
    return backend
