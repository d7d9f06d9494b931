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
@pytest.mark.parametrize("half", [0, 1])
def test_a_moment_of_fuzzing_finds_nothing(half: int) -> None:
    names = LED[half::2]
    done = fuzz("--each", "1", *(word for name in names for word in ("--target", name)), "--json")
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one for one in found if one["finding"] is not None] == [], done.stderr
    assert sorted(one["target"] for one in found) == sorted(names)
    assert all(one["executions"] > 0 for one in found)
    assert done.returncode == 0


def test_one_input_can_be_tried_again(tmp_path: Path) -> None:
    (tmp_path / "input").write_bytes(b"ax")
    done = fuzz("--target", "argument", "--input", tmp_path / "input")
    assert done.returncode == 0, done.stderr
    assert "refused: UsageError: --finished-older 'x' is no age" in done.stdout
