"""An example is a folder of scripts: it is run as its README says, and its modules are imported as it imports them."""

import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.examples.folders import EXAMPLES, ROOT, Load, RunExample


@pytest.fixture
def load(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Load]:
    """Import a module of the example that the test file names as `EXAMPLE`; afterwards its plain name is free again."""
    folder = EXAMPLES / request.module.EXAMPLE
    before = set(sys.modules)
    monkeypatch.syspath_prepend(folder)
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if Path(getattr(sys.modules[name], "__file__", None) or "/").parent == folder:
            del sys.modules[name]


@pytest.fixture
def run_example(request: pytest.FixtureRequest) -> RunExample:
    """Run its main.py, as a user does; wide enough that no table wraps."""
    main = EXAMPLES / request.module.EXAMPLE / "main.py"

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1", "PYTHONUTF8": "1"}
        command = [sys.executable, str(main), *map(str, arguments)]
        return subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=300)

    return run
