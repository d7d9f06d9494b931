"""Small programs that a test runs beside itself: another process at the same store."""

import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PATIENCE = 60  # seconds, far more than anything here takes
ROOT = Path(__file__).parents[2]  # where `tests` can be imported


@contextmanager
def program(source: str, *arguments: str | Path) -> Iterator["subprocess.Popen[str]"]:
    """Run Python source in a process of its own, its input and output in pipes; it is killed at the end."""
    command = [sys.executable, "-c", textwrap.dedent(source), *map(str, arguments)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, cwd=ROOT
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def line(process: "subprocess.Popen[str]") -> str:
    """Return the next line that a program prints, without its end; an empty one when it is over."""
    assert process.stdout is not None
    return process.stdout.readline().rstrip("\n")


def say(process: "subprocess.Popen[str]", text: str = "") -> None:
    """Give a program a line to read."""
    assert process.stdin is not None
    process.stdin.write(text + "\n")
    process.stdin.flush()


def output(source: str, *arguments: str | Path) -> str:
    """Run a program to its end, and return what it printed; its failure is ours."""
    command = [sys.executable, "-c", textwrap.dedent(source), *map(str, arguments)]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=PATIENCE, cwd=ROOT).stdout
