"""What the tests of the runtime ask for: a store's path, a clock that they move, what the log is told."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from looms.testing import TestClock
from tests.actors.logged import Logged, logging


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a store may be."""
    return tmp_path / "test.looms"


@pytest.fixture
def clock() -> TestClock:
    """A clock for several runtimes, one after the other."""
    return TestClock()


@pytest.fixture
def logged() -> Iterator[Logged]:
    """What a host tells the application's log."""
    with logging() as entries:
        yield entries
