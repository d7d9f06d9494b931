"""The fuzzer that is led by coverage runs every target for a moment, where it is installed, and a finding is told."""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.fuzz.entry_points import ALL

ROOT = Path(__file__).parents[2]
LED = [entry.name for entry in ALL if not entry.slow] if find_spec("atheris") else []


def fuzz(*args: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.fuzz", *args], capture_output=True, text=True, cwd=ROOT, check=False
    )


@pytest.mark.long
@pytest.mark.parametrize("name", LED)
def test_a_moment_of_fuzzing_finds_nothing(name: str) -> None:
    done = fuzz("--seconds", "1", "--target", name, "--json")
    found = json.loads(done.stdout)
    assert found["finding"] is None, f"{found}: {Path(found['input']).read_bytes()!r}"
    assert found["executions"] > 0


def test_one_input_can_be_tried_again(tmp_path: Path) -> None:
    (tmp_path / "input").write_bytes(b"ax")
    done = fuzz("--target", "argument", "--input", tmp_path / "input")
    assert done.returncode == 0, done.stderr
    assert "refused: UsageError: --finished-older 'x' is no age" in done.stdout
