"""What tests of crashes and faults can ask for."""

from pathlib import Path

import pytest

from tests.crash.faults import Faults, install
from tests.crash.works import LEDGER, Mood

pytest.register_assert_rewrite("tests.crash.audit", "tests.crash.killing")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Where a store may be made."""
    return tmp_path / "store.looms"


@pytest.fixture(autouse=True)
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file in which effects note their attempts."""
    monkeypatch.setenv(LEDGER, str(tmp_path / "ledger"))
    monkeypatch.setattr(Mood, "bad", False)
    return tmp_path / "ledger"


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> Faults:
    """What the stores of this test's runtimes refuse."""
    return install(monkeypatch)
