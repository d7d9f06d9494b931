"""No file holds what a merge that was never finished leaves in it."""

import re
import subprocess

import pytest

from tests.house.repository import REPOSITORY

MARKS = re.compile(r"^(?:<{7} |>{7} |={7}$)", re.MULTILINE)


def test_no_file_has_marks_of_a_merge() -> None:
    if not (REPOSITORY / ".git").exists():
        pytest.skip("this is no checkout")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=REPOSITORY, check=True, capture_output=True, text=True)
    files = [REPOSITORY / name for name in listed.stdout.split("\0") if name.endswith((".md", ".py", ".toml"))]
    assert [file.name for file in files if file.is_file() and MARKS.search(file.read_text(encoding="utf-8"))] == []
