"""`looms init` makes a project that runs, whose tests pass, and that a strict type checker and a linter leave alone."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.commands.command import environment, run
from tests.house.repository import REPOSITORY

BIN = Path(sys.executable).parent
NAMES = ["pyproject.toml", "my_desk.py", "test_my_desk.py", "README.md", ".gitignore"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def tool(*command: str, folder: Path) -> str:
    """What a program of this environment says of a project; it must be content."""
    given = {name: value for name, value in environment().items() if name not in ("PYTHONPATH", "PYTEST_ADDOPTS")}
    path = f"{BIN}{os.pathsep}{given['PATH']}"
    done = subprocess.run(command, cwd=folder, env={**given, "PATH": path}, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_a_new_project_runs_and_its_tests_pass(here: Path) -> None:
    made = run("init", "my-desk")
    assert made.returncode == 0, made.stderr
    assert "cd my-desk" in made.stdout
    project = here / "my-desk"
    assert sorted(file.name for file in project.iterdir()) == sorted(NAMES)
    settings = tomllib.loads((project / "pyproject.toml").read_text())
    assert settings["tool"]["uv"]["sources"]["looms"] == {"path": str(REPOSITORY), "editable": True}  # as it is here
    assert "6 passed" in tool("pytest", "-q", "-p", "no:cacheprovider", folder=project)
    for line in made.stdout.splitlines():
        if "looms start" in line:
            tool("bash", "-c", line.strip().removeprefix("uv run "), folder=project)
    assert "waits for my_desk.approved" in tool("looms", "show", "r1", folder=project)
    payload = '{"request_id": "r1", "by": "Ada"}'
    assert tool("looms", "publish", "my_desk.approved", "--payload", payload, folder=project) == "taken by r1\n"
    assert (project / "my-desk.looms").is_dir()


@pytest.mark.long
def test_linters_and_a_strict_type_checker_are_content(here: Path) -> None:
    run("init", "my-desk")
    project = here / "my-desk"
    tool("ruff", "check", "--isolated", "--select", "I,F,E,B,UP,RUF,SIM,PT", ".", folder=project)
    tool("ruff", "format", "--isolated", "--check", ".", folder=project)
    types = ["mypy", "--strict", "--cache-dir", str(here / "cache"), "my_desk.py", "test_my_desk.py"]
    tool("env", f"MYPYPATH={REPOSITORY}", *types, folder=project)


def test_it_says_for_programs_what_it_made(here: Path) -> None:
    (here / "sub").mkdir()
    assert json.loads(run("init", "sub/my-desk", "--json").stdout) == {"path": "sub/my-desk", "files": NAMES}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "no project's name"),
        ("..", "no project's name"),
        ("1st", "no project's name"),
        ("my desk", "no project's name"),
        ("desk.py", "no project's name"),
        ("größe", "no project's name"),
        ("desk-", "no project's name"),
        ("class", "a word or a module of Python itself"),
        ("test", "a package 'test' is installed"),
        ("json", "a word or a module of Python itself"),
        ("looms", "a package 'looms' is installed"),
        ("pytest", "a package 'pytest' is installed"),
        ("there", "there exists already"),
        ("a-file", "a-file exists already"),
        ("no/where", "no is no folder"),
    ],
)
def test_a_name_that_cannot_be_is_refused_and_nothing_is_made(name: str, message: str, here: Path) -> None:
    (here / "there").mkdir()
    (here / "a-file").touch()
    refused = run("init", name)
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
    assert message in refused.stderr
    assert sorted(file.name for file in here.iterdir()) == ["a-file", "there"]
