"""Running the command line as a user does: as a process of its own."""

import json
import os
import socket
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SCRIPT = Path(sys.executable).with_name("looms")
LIMIT = 60  # seconds
UNSET = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "GITHUB_ACTIONS")


def environment(**more: str) -> dict[str, str]:
    """What a command finds in its environment: the application's folder, and nothing of this test run's settings."""
    kept = {name: value for name, value in os.environ.items() if name not in UNSET and not name.startswith("LOOMS_")}
    return {**kept, "PYTHONPATH": os.fspath(HERE), **more}


def run(*args: str | Path, stdin: str | bytes = "", **more: str) -> subprocess.CompletedProcess[str]:
    """Run `looms` to its end: a fork of a process that has imported it (see `forks.py`)."""
    with tempfile.TemporaryFile() as input, tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        input.write(stdin if isinstance(stdin, bytes) else stdin.encode())
        input.seek(0)
        words = [os.fspath(arg) for arg in args]
        request = {"args": words, "environment": environment(**more), "folder": os.getcwd()}
        descriptors = [file.fileno() for file in (input, output, errors)]
        asking, _ = forks()
        socket.send_fds(asking, [json.dumps(request).encode()], descriptors)
        code = int(asking.recv(100))
        printed = []
        for file in (output, errors):
            file.seek(0)
            printed.append(file.read().decode())
        return subprocess.CompletedProcess(words, code, *printed)


@cache
def forks() -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """Where to ask for a command, and whom; the process ends when this one's end of the socket does."""
    mine, its = socket.socketpair()
    mine.settimeout(LIMIT)
    process = subprocess.Popen(
        [sys.executable, HERE / "forks.py", str(its.fileno())],
        pass_fds=[its.fileno()],
        env=environment(),
        stdout=subprocess.DEVNULL,
    )
    its.close()
    return mine, process


def lines(*args: str | Path, **more: str) -> list[Any]:
    """The JSON lines of a command that goes well."""
    done = run(*args, "--json", **more)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def started(*args: str | Path, **more: str) -> subprocess.Popen[str]:
    """Start `looms`, for one who reads along."""
    return subprocess.Popen(
        [SCRIPT, *args],
        env=environment(**more),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
