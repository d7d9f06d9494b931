"""What the README and the documentation show is run, and does what they say."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.docs.blocks import blocks
from tests.docs.playing import play

ROOT = Path(__file__).parents[2]
ELSEWHERE = {"cli.md"}  # tests/commands/test_documentation.py runs it
PAGES = [ROOT / "README.md", *(page for page in sorted((ROOT / "docs").glob("*.md")) if page.name not in ELSEWHERE)]

NOT_RUN = {
    "README.md": ["continuous integration runs these two itself, in a fresh clone"],
    "guarantees.md": ["it runs until it is told to stop"],
    "performance.md": ["it takes a while", "it would set the collector of who runs it"],
}
"""The reasons of all blocks that are not run."""


def played() -> list[tuple[Path, str]]:
    """Each page with an event loop: both where its Python runs here, one where it is mostly files and commands."""
    found = []
    for page in PAGES:
        files = any(block.file for block in blocks(page))
        here = any(block.language == "python" and not block.file for block in blocks(page))
        found += [(page, backend) for backend in (("asyncio", "trio") if here and not files else ("asyncio",))]
    return found


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A module for a page's Python, in an empty folder, whose modules are forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    found = sys.modules["page"] = ModuleType("page")
    yield found
    for name in set(sys.modules) - before:
        if name == "page" or Path(getattr(sys.modules[name], "__file__", None) or "/").parent == tmp_path:
            del sys.modules[name]


@pytest.mark.parametrize(
    ("page", "anyio_backend"),
    played(),
    indirect=["anyio_backend"],
    ids=lambda given: given.name if isinstance(given, Path) else given,
)
async def test_a_page_does_what_it_says(page: Path, anyio_backend: str, tmp_path: Path, module: ModuleType) -> None:
    await play(page, tmp_path, module)


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
            target, _, heading = link.partition("#")
            if "://" not in target:
                there = page.parent / target if target else page
                assert there.exists(), f"{page.name} links to {link}"
                assert not heading or heading in headings(there), f"{page.name} links to {link}"


def headings(page: Path) -> set[str]:
    """The headings of a page, as links name them."""
    found = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in found}


def test_no_block_is_left_out_but_those_with_a_reason() -> None:
    reasons = {page.name: [block.not_run for block in blocks(page) if block.not_run] for page in PAGES}
    assert {name: given for name, given in reasons.items() if given} == NOT_RUN
