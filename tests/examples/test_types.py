"""The main.py of each example is typed too: mypy over everything leaves them out, since they share a name."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.examples.folders import EXAMPLES, ROOT


@pytest.mark.long
@pytest.mark.parametrize("main", sorted(EXAMPLES.glob("*/main.py")), ids=lambda main: main.parent.name)
def test_an_example_passes_strict_type_checks(main: Path) -> None:
    command = [sys.executable, "-m", "mypy", "--strict", str(main)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stdout + ran.stderr
