"""A folder and a store for each test of the disk."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from looms.snapshots.store import Store


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a store may be made; nothing is there yet."""
    return tmp_path / "store.looms"


@pytest.fixture
def store(folder: Path) -> Iterator[Store]:
    """A new store, open for writing."""
    with Store(folder) as store:
        yield store
