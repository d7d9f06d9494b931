"""Whoever stops a run that has an end is told what was done so far, and that it is not all."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.long
@pytest.mark.parametrize(("bounds", "code"), [(("--seconds", "600"), 130), ((), 0)])
def test_a_ctrl_c_ends_it_with_what_was_done(bounds: tuple[str, ...], code: int) -> None:
    command = [sys.executable, "-m", "tests.simulation", "--json", "--workers", "1", *bounds]
    with subprocess.Popen(
        command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        assert process.stdout is not None
        assert '"seed":0' in process.stdout.readline()
        os.killpg(process.pid, signal.SIGINT)
        done, said = process.communicate()
    assert '"failures":0' in done.splitlines()[-1]
    assert ("stopped before the end" in said) is bool(bounds)
    assert process.returncode == code, said
