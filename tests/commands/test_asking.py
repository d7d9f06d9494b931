"""Before something is lost a person is asked, and may walk away from the question."""

import os
import pty
import select
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.commands.command import LIMIT, SCRIPT, environment, lines, run

PRUNE = ("prune", "--finished-older", "0s")
FORCE = ("delete", "o1", "--force")


def asked(*command: str | Path, key: bytes) -> tuple[int, str]:
    """How a command ended in a terminal, and what it said, when a key is pressed at its question."""
    mine, its = pty.openpty()
    process = subprocess.Popen(
        [SCRIPT, *command], stdin=its, stdout=its, stderr=its, env=environment(TERM="dumb"), start_new_session=True,
        preexec_fn=_own_terminal,
    )  # fmt: skip
    os.close(its)
    said, pressed, until = b"", False, time.monotonic() + LIMIT
    try:
        while time.monotonic() < until:
            if not select.select([mine], [], [], 0.1)[0]:
                if process.poll() is not None:
                    break
                continue
            try:
                data = os.read(mine, 10_000)
            except OSError:
                break
            said += data
            if not pressed and b"[y/N]" in said:
                pressed = True
                os.write(mine, key)
        return process.wait(LIMIT), said.decode()
    finally:
        process.kill()
        process.wait()
        os.close(mine)


def _own_terminal() -> None:
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def closed(fresh: Path) -> Path:
    """A store with a run that is over."""
    for args in (("start", "shop.order", "--run-id", "c1", "--input", '{"order_id": "c1"}'), ("cancel", "c1")):
        done = run("--store", fresh, "--app", "shop:modules", *args)
        assert done.returncode == 0, done.stderr
    return fresh


@pytest.mark.parametrize("command", [PRUNE, FORCE])
def test_a_ctrl_c_at_a_question_ends_the_command_at_once(closed: Path, command: tuple[str, ...]) -> None:
    code, said = asked("--store", closed, *command, key=b"\x03")
    assert code == 130, said
    assert "Traceback" not in said
    assert {one["run_id"] for one in lines("--store", closed, "runs")} == {"o1", "c1"}


def test_a_sound_run_that_is_not_over_is_not_forced_out_unasked(fresh: Path) -> None:
    done = run("--store", fresh, *FORCE)
    assert done.returncode == 2
    assert "Nothing is wrong with o1, which is waiting: " in done.stderr
    assert "Say --yes" in done.stderr
    code, said = asked("--store", fresh, *FORCE, key=b"n\r")
    assert code == 0
    assert "nothing was deleted" in said
    assert [one["run_id"] for one in lines("--store", fresh, "runs")] == ["o1"]
    assert run("--store", fresh, *FORCE, "--yes").returncode == 0
    assert lines("--store", fresh, "runs") == []


def test_a_run_that_is_over_is_forced_out_without_a_question(closed: Path) -> None:
    assert run("--store", closed, "delete", "c1", "--force").returncode == 0
