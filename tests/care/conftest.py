"""A store with something of everything, made once."""

from pathlib import Path

import anyio
import pytest

from tests.care.stores import copied, fill


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The path of such a store, closed; not to be changed."""
    folder = tmp_path_factory.mktemp("care")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKS_LEDGER", str(folder / "ledger"))
        anyio.run(fill, folder / "store.looms")
    return folder / "store.looms"


@pytest.fixture
def store(filled: Path, tmp_path: Path) -> Path:
    """A copy of it, to be damaged."""
    return copied(filled, tmp_path / "store.looms")


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The effects of `works` note their attempts here."""
    monkeypatch.setenv("WORKS_LEDGER", str(tmp_path / "ledger"))
