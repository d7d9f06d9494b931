"""Nothing public goes without a word: each name and field in docs/reference.md, each option in docs/cli.md."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
import typer

import looms
import looms.testing
from looms import Reader, Run, RunReading, Runtime, Store, StoreReading, WorkflowStore
from looms.commands.app import application
from tests.house.repository import REPOSITORY
from tests.house.test_surfaces import INNER

REFERENCE = (REPOSITORY / "docs" / "reference.md").read_text()
CLI = (REPOSITORY / "docs" / "cli.md").read_text()


def words(page: str) -> set[str]:
    """What stands in a page as code, word by word; an option is one with its dashes."""
    code = re.findall(r"```\w*\n(.*?)```|`([^`]+)`", page, re.DOTALL)
    return set(re.findall(r"-{0,2}\w[\w-]*", " ".join(block or span for block, span in code)))


def row(name: str) -> set[str]:
    """The code in the row of the reference that begins with a name."""
    found = re.search(rf"^\| `{name}` \|(.*)$", REFERENCE, re.MULTILINE)
    return words(found[1]) if found else set()


@pytest.mark.parametrize("name", sorted({*looms.__all__, *looms.testing.__all__}))
def test_each_public_name_stands_in_the_reference(name: str) -> None:
    assert name in words(REFERENCE), f"say in docs/reference.md what {name} is"


@pytest.mark.parametrize(
    "cls",
    [
        cls
        for name in looms.__all__
        if isinstance(cls := getattr(looms, name), type) and issubclass(cls, msgspec.Struct) and cls.__struct_fields__
        if name != "Step"  # it stands with `step`
    ],
    ids=lambda cls: cls.__name__,
)
def test_each_field_of_a_public_type_stands_in_its_row(cls: type[msgspec.Struct]) -> None:
    public = {name for name in vars(cls) if isinstance(vars(cls)[name], property)} & {"ok"}
    assert {*cls.__struct_fields__, *public} - row(cls.__name__) == set(), f"docs/reference.md, {cls.__name__}"


@pytest.mark.parametrize(
    ("cls", "handle"),
    [
        (Runtime, "runtime"),
        (Run, "run"),
        (RunReading, "run"),
        (Reader, "reader"),
        (Store, "store"),
        (StoreReading, "store"),
        (WorkflowStore, "store"),
    ],
)
def test_each_public_method_stands_in_the_reference(cls: type, handle: str) -> None:
    wanted = {name for name in dir(cls) if not name.startswith("_")} - INNER
    assert wanted - set(re.findall(rf"`{handle}\.(\w+)", REFERENCE)) == set()


def options(command: Any) -> Iterator[str]:
    """The options of a command, long and short."""
    for parameter in command.params:
        if parameter.param_type_name == "option":
            yield from (*parameter.opts, *parameter.secondary_opts)


@pytest.fixture(scope="module")
def program() -> Any:
    """The command line, as typer makes it of the functions."""
    return typer.main.get_command(application())


def test_each_command_has_its_heading(program: Any) -> None:
    headings = re.findall(r"^###.*$", CLI, re.MULTILINE)
    missing = [name for name in program.commands if not any(re.search(rf"`looms {name}\b", one) for one in headings)]
    assert missing == []


def test_each_option_is_told_of_in_the_section_of_its_command(program: Any) -> None:
    parts = re.split(r"^###? ", CLI, flags=re.MULTILINE)
    everywhere = set(options(program))
    told = words("".join(part for part in parts if not part.startswith("`")))
    assert everywhere - told == set()
    for name, command in program.commands.items():
        own = set(options(command)) - everywhere - {"--help"}
        sections = [part for part in parts if re.search(rf"`looms {name}\b", part.partition("\n")[0])]
        assert own - words("".join(sections)) == set(), f"docs/cli.md does not tell of these, at looms {name}"
