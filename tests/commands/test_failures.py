"""A failure is one message on stderr and an exit code; stdout stays empty, and no traceback is shown."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands.command import HERE, LIMIT, SCRIPT, environment, lines, run, started

APP = ("--app", "shop:modules")


def failed(*args: str | Path, code: int) -> str:
    done = run(*args)
    assert (done.returncode, done.stdout) == (code, "")
    assert "Traceback" not in done.stderr
    told = [line for line in done.stderr.splitlines() if line.startswith("looms: ")]
    assert len(told) == 1, done.stderr
    return told[0]


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (("show", "o9"), "o9"),
        (("show", ""), "1 to 255 bytes"),
        (("show", "x" * 256), "1 to 255 bytes"),
        (("events", "o9"), "o9"),
        (("snapshots", "o9"), "o9"),
        (("replay", "o1", "--to", "99"), "records 1 to 9"),
        (("snapshots", "o1", "--at", "5"), "4, 8"),
        (("start", "shop.ordr", "--input", "{}"), "shop.order"),
    ],
)
@pytest.mark.parametrize("more", [(), ("--json",)])
def test_what_looms_refuses_is_told_with_code_1(
    store: Path, command: tuple[str, ...], told: str, more: tuple[str, ...]
) -> None:
    assert told in failed("--store", store, *APP, *command, *more, code=1)


@pytest.mark.parametrize("command", [("runs",), ("show", "o1"), ("signal", "o1", "shop.noted"), ("delete", "o1")])
def test_a_store_that_is_not_there_is_named_and_not_made(tmp_path: Path, command: tuple[str, ...]) -> None:
    assert "orders.looms" in failed("--store", tmp_path / "orders.looms", *APP, *command, code=1)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_something_else_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "data.mdb").write_bytes(b"something else" * 100)
    failed("--store", tmp_path, "runs", code=1)
    failed("--store", tmp_path, *APP, "start", "shop.order", code=1)
    assert [file.name for file in tmp_path.iterdir()] == ["data.mdb"]


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("runs",), "--store PATH"),
        (("--store", "x.looms", "host"), "--app MODULE:ATTR"),
        (("--store", "x.looms", "--app", "shop:module", "runs"), "did you mean 'modules'?"),
        (("--store", "x.looms", "--app", "shops:modules", "runs"), "there is no module 'shops'"),
        (("--store", "x.looms", "retry", "o1"), "RUN:SEQ:INDEX"),
        (("--store", "x.looms", "replay", "o1"), "which event?"),
    ],
)
def test_what_cannot_be_meant_is_told_with_code_2(args: tuple[str, ...], told: str) -> None:
    assert told in failed(*args, code=2)


@pytest.mark.parametrize(
    "args",
    [
        ("shwo",),
        ("runs", "--limit", "0"),
        ("runs", "--limit", "x"),
        ("runs", "--status", "lost"),
        ("show",),
        ("show", "a", "b"),
        ("runs", "--nope"),
    ],
)
def test_a_wrong_command_line_is_told_with_code_2(store: Path, args: tuple[str, ...]) -> None:
    done = run("--store", store, *args)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Usage: looms" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_payload_that_is_no_json_is_told_with_its_place_and_nothing_is_appended(fresh: Path) -> None:
    at = ("--store", fresh, *APP)
    assert "at byte 9" in failed(*at, "signal", "o1", "shop.noted", "--payload", '{"text": }', code=2)
    assert len(lines(*at, "events", "o1")) == 1


@pytest.mark.parametrize(
    ("type", "payload", "told"),
    [
        ("shop.notd", '{"text": "x"}', "did you mean 'shop.noted'?"),
        ("shop.noted", '{"text": 7}', "$.text"),
        ("shop.noted", "[1]", "shop.noted"),
        ("shop.noted", '{"text": "refuse this"}', "it says so"),
    ],
)
def test_an_event_that_does_not_fit_is_told_and_nothing_is_appended(
    fresh: Path, type: str, payload: str, told: str
) -> None:
    at = ("--store", fresh, *APP)
    assert told in failed(*at, "signal", "o1", type, "--payload", payload, code=1)
    assert len(lines(*at, "events", "o1")) == 1


def test_driving_without_a_host_and_without_the_application_says_what_is_missing(fresh: Path) -> None:
    assert "--app" in failed("--store", fresh, "signal", "o1", "shop.noted", code=1)


def test_output_that_cannot_be_written_is_a_failure(store: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [SCRIPT, "--store", store, "runs", "--json"],
            env=environment(),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=LIMIT,
        )
    assert done.returncode == 1
    assert "No space left" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_interrupt_ends_with_code_130(store: Path) -> None:
    with started("--store", store, *APP, "events", "o1", "--follow", "--json") as command:
        assert command.stdout
        assert command.stderr
        for _ in range(9):
            command.stdout.readline()
        command.send_signal(signal.SIGINT)
        _, stderr = command.communicate(timeout=LIMIT)
    assert command.returncode == 130
    assert "Traceback" not in stderr


INTERRUPTING = """
import os, signal, sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
import looms_command
sys.argv = ["looms", "runs"]
looms_command.main()
"""


@pytest.mark.parametrize("module", ["looms", "anyio", "lmdb", "typer", "looms.commands.verify"])
def test_an_interrupt_while_a_command_begins_is_as_quiet(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTING.format(module=module)],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_an_interrupt_when_a_command_is_over_is_as_quiet() -> None:
    ending = """
import atexit, os, signal, sys
atexit.register(lambda: os.kill(os.getpid(), signal.SIGINT))
import looms_command
sys.argv = ["looms", "--version"]
looms_command.main()
"""
    done = subprocess.run(
        [sys.executable, "-c", ending], env=environment(), capture_output=True, text=True, timeout=LIMIT
    )
    assert (done.returncode, done.stderr) == (130, "")


def test_an_interrupt_that_the_shell_has_taken_away_stays_so() -> None:
    """A script's `looms ... &` is started so: the Ctrl-C is for the script."""
    done = subprocess.run(
        ["sh", "-c", f"trap '' INT; exec '{sys.executable}' -c \"$1\"", "sh", INTERRUPTING.format(module="typer")],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert done.returncode == 2
    assert "which store?" in done.stderr


def test_without_typer_it_says_what_to_install() -> None:
    hide = "import sys; sys.modules['typer'] = None; from looms.commands import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", hide], env=environment(), cwd=HERE, capture_output=True, text=True, timeout=LIMIT
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "pip install 'looms[cli]'" in done.stderr
    assert "Traceback" not in done.stderr
