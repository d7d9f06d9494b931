"""Each example is typed, as the script that it is: its modules know each other by their plain names."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.examples.folders import EXAMPLES, ROOT


@pytest.mark.long
@pytest.mark.parametrize("main", sorted(EXAMPLES.glob("*/main.py")), ids=lambda main: main.parent.name)
def test_an_example_passes_strict_type_checks(main: Path) -> None:
    folder = main.parent
    command = [sys.executable, "-m", "mypy", "--strict", *map(str, sorted(folder.glob("*.py")))]
    environment = {**os.environ, "MYPYPATH": str(folder)}
    ran = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stdout + ran.stderr
