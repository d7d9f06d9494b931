"""System calls: what a process asks of the system, in which order, and having the system refuse it.

By strace(1), on processes that the tests started.
"""

import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

PATIENCE = 30  # seconds until strace has taken hold of a process, or let go of it

_LINE = re.compile(r"(?P<thread>\d+) +(?:<\.\.\. (?P<resumed>\w+) resumed>(?P<rest>.*)|(?P<name>\w+)\((?P<begun>.*))$")
_UNFINISHED = " <unfinished ...>"


class Made(msgspec.Struct):
    """A system call that was made.

    Attributes:
        name: which one.
        text: its arguments and its result, as strace writes them; descriptors with their paths.
        begun: its place among all beginnings and ends of calls.
        ended: the place of its end; None when the process was over before.
    """

    thread: int
    name: str
    text: str
    begun: int
    ended: int | None = None

    @property
    def path(self) -> str:
        """The file of its first argument, a descriptor; or "" where that is none."""
        found = re.match(r"\d+<([^>]*)>", self.text)
        return found[1] if found else ""

    @property
    def injected(self) -> bool:
        """Whether the system was not asked at all, and the call refused."""
        return self.text.endswith("(INJECTED)")


def needs_strace() -> str:
    """Return where strace is.

    Raises:
        Failed: it is not installed.
    """
    found = shutil.which("strace")
    if found is None:
        pytest.fail("this test looks at system calls: install strace (apt-get install strace)")
    return found


def tracing(calls: Sequence[str], into: Path, *, whole: bool = False) -> list[str]:
    """What to put before a command, so that the calls of these names are noted that it and its children make.

    Args:
        calls: the names.
        into: where they are noted; read it by `made`.
        whole: with all that is written, not only its beginning.
    """
    more = ["-v", "-x", "-s", "1000000"] if whole else ["-s", "200"]
    return [needs_strace(), "-f", "-y", *more, "-o", str(into), "-e", "trace=" + ",".join(calls)]


def traced(command: Sequence[str], calls: Sequence[str], into: Path, *, cwd: Path) -> list[Made]:
    """Run a program to its end, and return the calls of these names that it and its children made."""
    line = [*tracing(calls, into), *command]
    done = subprocess.run(line, capture_output=True, text=True, cwd=cwd, timeout=2 * PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    return made(into)


@contextmanager
def refusing(pid: int, call: str, error: str, when: str, into: Path, *, paths: Sequence[Path] = ()) -> Iterator[None]:
    """Have the system refuse some calls of a process that is there, with all of its threads.

    Args:
        pid: the process.
        call: the name of the call.
        error: what is said instead of doing it: "EIO".
        when: which ones, counted in each thread: "3", "3+".
        into: where the calls are noted; read it by `made` when this is over.
        paths: only those on these files.
    """
    line = [needs_strace(), "-f", "-y", "-p", str(pid), "-o", str(into), "-e", f"trace={call}"]
    line += ["-e", f"inject={call}:error={error}:when={when}"]
    for path in paths:
        line += ["-P", str(path)]
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True) as tracer:
        assert tracer.stderr is not None
        try:
            while "attached" not in (said := tracer.stderr.readline()):
                assert tracer.poll() is None, f"strace does not take hold of process {pid}: {said}"
            yield
        finally:
            tracer.terminate()
            tracer.wait(PATIENCE)


def made(noted: Path) -> list[Made]:
    """Return the calls that strace has noted, in the order in which they began."""
    calls: list[Made] = []
    open_calls: dict[tuple[str, str], Made] = {}
    for place, line in enumerate(noted.read_text(errors="replace").splitlines()):
        found = _LINE.match(line)
        if found is None:
            continue  # a signal, or the end of a process
        thread, name = found["thread"], found["resumed"] or found["name"]
        if found["resumed"]:
            call = open_calls.pop((thread, name))
            call.text += found["rest"]
            call.ended = place
            continue
        call = Made(int(thread), name, found["begun"].removesuffix(_UNFINISHED), place)
        calls.append(call)
        if found["begun"].endswith(_UNFINISHED):
            open_calls[thread, name] = call
        else:
            call.ended = place
    return calls
