"""What a page says is held against what comes of it: a page that is wrong fails, and so does one that hides code."""

from pathlib import Path
from types import ModuleType

import anyio
import pytest

from tests.docs.blocks import blocks
from tests.docs.playing import play


@pytest.fixture
def page(tmp_path: Path) -> Path:
    return tmp_path / "page.md"


async def played(page: Path, *code: str, language: str = "python") -> int:
    return await played_text(page, "".join(f"```{language}\n{one}\n```\n" for one in code))


async def played_text(page: Path, text: str) -> int:
    await anyio.Path(page).write_text(text)
    return await play(page, page.parent, ModuleType("page"))


RIGHT = [
    "1 + 1  # -> 2",
    "[1,\n 2]  # -> [1, 2]",
    "[1, 2]\n# -> [1,\n#     2]",
    "[1, 2]  # -> [1, ...]",
    "print('one')\nprint('two')  # -> two",
    "for n in range(2):\n    print(n)\n# -> 0\n# -> 1",
    "for n in range(2):\n    n // 1  # -> ...",
    "1 / 0  # raises ZeroDivisionError: division by zero",
    "def f():\n    return\nf(1)\n# raises TypeError: f() takes 0 positional arguments\n# but 1 was given",
    "import anyio\nawait anyio.sleep(0)  # -> None",
    "import anyio\nwith anyio.CancelScope() as scope:\n    await anyio.sleep(0)\n    scope.cancel_called  # -> False",
]


@pytest.mark.parametrize("code", RIGHT)
async def test_what_a_page_says_rightly_holds(page: Path, code: str) -> None:
    assert await played(page, code)


WRONG = [
    "1 + 1  # -> 3",
    "1 + 1\n# -> 3",
    "'a'  # -> a",
    "print('one')  # -> two",
    "for n in range(2):\n    print(n)\n# -> 0",
    "for n in range(2):\n    n  # -> 0",
    "1 / 1  # raises ZeroDivisionError: division by zero",
    "1 / 0  # raises ZeroDivisionError: something else",
    "1 / 0  # raises ValueError: division by zero",
]


@pytest.mark.parametrize("code", WRONG)
async def test_what_a_page_says_wrongly_fails(page: Path, code: str) -> None:
    with pytest.raises(AssertionError, match="the page says"):
        await played(page, code)


async def test_what_raises_and_is_not_said_to_fails(page: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        await played(page, "1 / 0  # -> 1")


async def test_something_said_of_nothing_fails(page: Path) -> None:
    with pytest.raises(ValueError, match=r"page\.md:4: nothing that -> '2' is said of"):
        await played(page, "1 + 1\n\n# -> 2")


async def test_blocks_share_their_names_and_their_folder(page: Path) -> None:
    assert await played(page, "two = 2", "two + two  # -> 4") == 1
    file = "```python\n# two.py\nprint(2)\n```\n```console\n$ python two.py\n2\n```\n"
    assert await played_text(page, file) == 1


async def test_a_file_that_nobody_uses_fails(page: Path) -> None:
    with pytest.raises(AssertionError, match=r"nobody uses two\.py"):
        await played(page, "# two.py\nprint(2)")


async def test_commands_print_and_end_as_the_page_says(page: Path) -> None:
    commands = "$ export A=1\n$ echo one \\\n    two\none two\n$ false # fails\n$ sleep 600 > /dev/null &"
    assert await played(page, commands, "$ echo $A $B\n1", language="console") == 5


@pytest.mark.parametrize(
    ("commands", "told"),
    [
        ("$ echo one\ntwo", "the page says"),
        ("$ echo one", "the page says"),
        ("$ true\n$ false\n$ true", r"\$ false succeeded, or failed, unlike"),
        ("$ true # fails", r"\$ true # fails succeeded"),
    ],
)
async def test_commands_that_do_otherwise_fail(page: Path, commands: str, told: str) -> None:
    with pytest.raises(AssertionError, match=told):
        await played(page, commands, language="console")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("```\n1 + 1\n```\n", "a block of no language"),
        ("```sh\nls\n```\n", "a block of sh"),
        ("~~~sh\nls\n~~~\n", "a block of sh"),
        ("```python\n1 + 1\n", "without an end"),
        ("so:\n\n    1 + 1\n", "an indented block"),
    ],
)
def test_code_that_would_not_be_run_is_refused(page: Path, text: str, told: str) -> None:
    page.write_text(text)
    with pytest.raises(ValueError, match=told):
        blocks(page)


def test_a_block_is_not_run_for_a_reason_alone(page: Path) -> None:
    page.write_text("<!-- not run: it ends the world -->\n```sh\nrm\n```\n- a list\n  ```python\n  1 + 1\n  ```\n")
    assert [(block.not_run, block.line, block.text) for block in blocks(page)] == [
        ("it ends the world", 3, "rm"),
        (None, 7, "1 + 1"),
    ]
