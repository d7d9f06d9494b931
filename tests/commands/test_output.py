"""Output arrives whole, through every kind of pipe; colour is for terminals."""

import os
import pty
import subprocess
from pathlib import Path
from threading import Thread

import anyio
import pytest

from looms import Runtime
from looms.commands.output import Output
from tests.commands.command import LIMIT, SCRIPT, environment, started
from tests.commands.shop import Noted, PlaceOrder, modules, order

LONG = "#" * 300_000


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a run whose log has records larger than any pipe, and one with many small ones."""
    path = tmp_path_factory.mktemp("long") / "orders.looms"

    async def fill() -> None:
        async with Runtime(path, modules=modules) as runtime:
            run = await runtime.start(order, PlaceOrder(order_id="o1"), run_id="o1")
            await run.signal(*[Noted(text=LONG) for _ in range(4)])
            run = await runtime.start(order, PlaceOrder(order_id="o2"), run_id="o2")
            await run.signal(*[Noted(text="short") for _ in range(300)])

    anyio.run(fill)
    return path


@pytest.mark.parametrize("more", [(), ("--json",)])
@pytest.mark.parametrize("blocking", [True, False])
def test_a_large_log_arrives_whole_through_a_pipe(long: Path, more: tuple[str, ...], blocking: bool) -> None:
    readable, writable = os.pipe()
    os.set_blocking(writable, blocking)
    with subprocess.Popen([SCRIPT, "--store", long, "events", "o1", *more], env=environment(), stdout=writable) as it:
        os.close(writable)
        with open(readable, "rb") as pipe:
            data = pipe.read()
        assert it.wait(LIMIT) == 0
    assert data.count(b"#") == 4 * len(LONG)
    assert data.endswith(b"\n")


def test_a_descriptor_that_takes_nothing_for_a_while_gets_all_in_the_end() -> None:
    readable, writable = os.pipe()
    os.set_blocking(writable, False)

    def write() -> None:
        output = Output(writable, json=True)
        output.line(LONG)
        output.flush()
        os.close(writable)

    writing = Thread(target=write)
    writing.start()
    with open(readable, "rb") as pipe:
        assert len(pipe.read()) == len(LONG) + 3
    writing.join(LIMIT)


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_a_reader_who_has_enough_ends_the_command_quietly(long: Path, more: tuple[str, ...]) -> None:
    with started("--store", long, "events", "o1", *more) as command:
        assert command.stdout
        assert command.stderr
        command.stdout.read(10)
        command.stdout.close()
        assert command.stderr.read() == ""
        assert command.wait(LIMIT) == 141


@pytest.mark.parametrize("command", ["events o2", "replay o2 --step"])
@pytest.mark.parametrize("more", [(), ("--json",)])
def test_it_ends_quietly_in_the_midst_of_many_small_lines_too(long: Path, command: str, more: tuple[str, ...]) -> None:
    with started("--store", long, *command.split(), *more) as running:
        assert running.stdout
        assert running.stderr
        running.stdout.readline()
        running.stdout.close()
        assert running.stderr.read() == ""
        assert running.wait(LIMIT) == 141


def test_a_command_without_a_stdout_is_told_so(store: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", f"'{SCRIPT}' --store '{store}' runs >&-"],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("looms: ")


def on_a_terminal(*args: str | Path, **more: str) -> str:
    """What a command prints on a terminal."""
    ours, its = pty.openpty()
    with subprocess.Popen(
        [SCRIPT, *args], env=environment(TERM="xterm-256color", **more), stdin=its, stdout=its, stderr=its
    ) as command:
        os.close(its)
        printed = b""
        try:
            while data := os.read(ours, 1 << 16):
                printed += data
        except OSError:
            pass  # the other end is closed: on Linux that is an error
        assert command.wait(LIMIT) == 0
    os.close(ours)
    return printed.decode()


def test_a_terminal_gets_colour_unless_it_is_not_wanted(store: Path) -> None:
    assert "\x1b[" in on_a_terminal("--store", store, "runs")
    assert "\x1b[" not in on_a_terminal("--store", store, "runs", NO_COLOR="1")
    assert "\x1b[" not in on_a_terminal("--help", NO_COLOR="1")
    assert "\x1b[" not in on_a_terminal("--store", store, "runs", "--json")


def test_long_work_shows_how_far_it_is_on_a_terminal_and_nowhere_else(store: Path, tmp_path: Path) -> None:
    args = ("--store", store, "export", "--output")
    assert "exporting" in on_a_terminal(*args, tmp_path / "1.jsonl")
    assert "exporting" not in on_a_terminal(*args, tmp_path / "2.jsonl", NO_COLOR="1")
    assert "exporting" not in on_a_terminal(*args, tmp_path / "3.jsonl", "--json")
    assert "exporting" not in on_a_terminal("--store", store, "export")
    done = subprocess.run([SCRIPT, *args, tmp_path / "4.jsonl"], env=environment(), capture_output=True, timeout=LIMIT)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_pipe_gets_no_colour_even_where_some_force_it(store: Path) -> None:
    for args in (("--store", store, "runs"), ("--help",), ("nope",)):
        done = subprocess.run(
            [SCRIPT, *args],
            env=environment(FORCE_COLOR="1", GITHUB_ACTIONS="true", PY_COLORS="1"),
            capture_output=True,
            text=True,
            timeout=LIMIT,
        )
        assert done.stdout + done.stderr
        assert "\x1b[" not in done.stdout + done.stderr
