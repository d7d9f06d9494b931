"""Every example of docs/cli.md is run, in order, and prints what stands there; `...` stands for anything."""

import re
import shlex
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, OutputChecker
from pathlib import Path

import pytest

from tests.commands.command import run
from tests.house.repository import REPOSITORY

PAGE = REPOSITORY / "docs" / "cli.md"


def examples() -> list[tuple[str, str]]:
    """The commands of the page, each with what it prints."""
    blocks = re.findall(r"^```console\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    found = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", "".join(blocks), re.MULTILINE)
    return [(command, printed) for command, printed in found]


def test_the_examples_print_what_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    settings = {"COLUMNS": "100"}
    for command, printed in examples():
        program, *args = shlex.split(command, comments=True)
        if program == "export":
            settings |= dict(setting.split("=") for setting in args)
            continue
        assert program == "looms"
        done = run(*args, **settings)
        assert (done.returncode != 0) == command.endswith("# fails"), (command, done.stderr)
        told = done.stderr if done.returncode else done.stdout
        assert OutputChecker().check_output(printed, told, ELLIPSIS | NORMALIZE_WHITESPACE), (command, told)


def test_the_page_describes_each_command_that_there_is() -> None:
    page = PAGE.read_text()
    for command in re.findall(r"^  (\w+) ", run("--help").stdout.partition("Commands:")[2], re.MULTILINE):
        assert re.search(rf"^###.*`looms {command}\b", page, re.MULTILINE), command


def test_there_are_examples() -> None:
    assert len(examples()) > 15
