"""A command that the database ends by a signal says what that means, and ends by that signal all the same."""

import signal
import subprocess
import sys

import pytest

DYING = """
import ctypes, os, signal
from pathlib import Path
from looms.commands.fatal import told_of_damage
with told_of_damage(lambda: Path("here.looms")):
    pass
if {within}:
    with told_of_damage(lambda: Path("here.looms")):
        {end}
{end}
"""


def died(end: str, *, within: bool) -> subprocess.CompletedProcess[str]:
    code = DYING.format(end=end, within=within)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("end", "number"),
    [
        ("os.abort()", signal.SIGABRT),
        ("ctypes.string_at(0)", signal.SIGSEGV),
    ],
)
def test_what_the_signal_means_is_said_before_the_process_ends(end: str, number: int) -> None:
    done = died(end, within=True)
    assert done.returncode == -number
    assert "here.looms: the database ended this process" in done.stderr
    assert "Restore a backup" in done.stderr


def test_nothing_is_said_of_what_is_none_of_the_commands_doing() -> None:
    done = died("os.abort()", within=False)
    assert done.returncode == -signal.SIGABRT
    assert done.stderr == ""
