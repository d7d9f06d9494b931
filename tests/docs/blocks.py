"""The blocks of code in a page, none of them left out.

A block is fenced with three backticks and says its language. One whose first line is a comment with a file's name is
that file. One that is not run has `<!-- not run: REASON -->` in the line above it; `test_pages.py` lists those too.
"""

import re
from pathlib import Path

import msgspec

LANGUAGES = ("python", "console", "toml")

_OPENING = re.compile(r"(?P<fence>`{3,}|~{3,})(?P<language>\S*)")
_NOT_RUN = re.compile(r"<!-- not run: (.+) -->")
_FILE = re.compile(r"# (\w+\.(?:py|toml))")


class Block(msgspec.Struct, frozen=True):
    """A block of code.

    Attributes:
        line: of its first line, from 1.
        language: one of `LANGUAGES`; anything where it is not run.
        text: what stands between the fences.
        not_run: the reason why it is not run.
    """

    line: int
    language: str
    text: str
    not_run: str | None

    @property
    def file(self) -> str | None:
        """The name of the file that it is."""
        found = _FILE.fullmatch(self.text.partition("\n")[0])
        return found[1] if found else None


def blocks(page: Path) -> list[Block]:
    """All blocks of a page, in order.

    Raises:
        ValueError: something in it looks like code and is no block.
    """
    lines = page.read_text(encoding="utf-8").splitlines()
    found: list[Block] = []
    at = 0
    while at < len(lines):
        opening = _OPENING.match(lines[at].lstrip())
        if opening is None:
            if lines[at].startswith(("    ", "\t")) and not lines[at - 1].strip():
                raise ValueError(f"{page}:{at + 1}: an indented block; fence it, and say its language")
            at += 1
            continue
        indent = len(lines[at]) - len(lines[at].lstrip())
        reason = _NOT_RUN.fullmatch(lines[at - 1].strip()) if at else None
        if reason is None and opening["language"] not in LANGUAGES:
            said = opening["language"] or "no language"
            raise ValueError(f"{page}:{at + 1}: a block of {said}; say one of {', '.join(LANGUAGES)}")
        end = next((n for n in range(at + 1, len(lines)) if lines[n].strip() == opening["fence"]), None)
        if end is None:
            raise ValueError(f"{page}:{at + 1}: a block without an end")
        text = "\n".join(line[indent:] for line in lines[at + 1 : end])
        found.append(Block(at + 2, opening["language"], text, reason[1] if reason else None))
        at = end + 1
    return found
