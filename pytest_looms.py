"""pytest's fixtures for tests of what is built on Looms; pytest finds them wherever Looms is installed.

It stands beside the package, not in it, and imports nothing of it until a fixture is asked for: the projects of an
environment that do not use it pay nothing for it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from looms.testing import Runtimes, TestClock


@pytest.fixture
def looms_clock() -> TestClock:
    """The clock of this test; `await looms_clock.advance(60)` moves it."""
    from looms.testing import TestClock

    return TestClock()


@pytest.fixture
def looms_store(tmp_path: Path) -> Path:
    """Where this test's store is; nothing is there yet."""
    return tmp_path / "test.looms"


@pytest.fixture
def looms_runtime(request: pytest.FixtureRequest) -> Runtimes:
    """Opens runtimes on this test's store and clock: `rt = await looms_runtime([shop])`. The test's end closes them."""
    if "anyio_backend" not in request.fixturenames:
        pytest.fail(
            "looms_runtime needs anyio's pytest plugin to run the test: mark it with @pytest.mark.anyio, or set "
            'anyio_mode = "auto" in pytest\'s configuration. Elsewhere: async with looms.testing.runtime(...)',
            pytrace=False,
        )
    runtimes: Runtimes = request.getfixturevalue("_looms_runtimes")
    return runtimes


@pytest.fixture
async def _looms_runtimes(looms_store: Path, looms_clock: TestClock) -> AsyncIterator[Runtimes]:
    from looms.testing import Runtimes

    async with Runtimes(looms_store, looms_clock) as runtimes:
        yield runtimes
