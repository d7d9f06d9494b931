"""Files of exports: whole or not there, with nothing left of those that were killed, and told of by their names."""

import io
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from looms import InvalidInput
from looms.export_files import ExportFile


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@contextmanager
def room(size: int) -> Iterator[None]:
    """Let no file get larger, as on a disk that is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
@pytest.mark.parametrize("lines", [1, 2_000])
def test_a_disk_that_is_full_is_told_with_the_files_name(tmp_path: Path, name: str, lines: int) -> None:
    with pytest.raises(OSError, match=name) as raised, room(10), ExportFile(tmp_path / name) as file:  # noqa: PT012
        file.write([os.urandom(500) for _ in range(lines)])
        file.finish(1, 1)
    assert raised.value.filename == str(tmp_path / name)
    assert names(tmp_path) == []


def test_what_a_killed_archive_left_is_removed_by_the_next_one_in_its_folder(tmp_path: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    alive = f"looms-2026-01-02T030405Z.jsonl.gz.{os.getppid()}.part"
    mine = "looms-mine.jsonl.gz.1.part"
    for name in (alive, mine, f"looms-2026-01-02T030405Z.jsonl.gz.{dead.pid}.part"):
        (tmp_path / name).write_text("half")
    with ExportFile(tmp_path / "looms-2027-01-02T030405Z.jsonl.gz") as file:
        file.finish(0, 0)
    assert names(tmp_path) == sorted([alive, mine, "looms-2027-01-02T030405Z.jsonl.gz"])


def test_a_stream_of_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="binary"):
        ExportFile(io.StringIO())  # type: ignore[arg-type]
    with (tmp_path / "a").open("w") as text, pytest.raises(InvalidInput, match="binary"):
        ExportFile(text)  # type: ignore[arg-type]


def test_what_a_killed_export_left_is_removed_by_the_next_one_of_that_name(tmp_path: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    alive = f"a[1].jsonl.{os.getppid()}.part"
    others = [alive, f"b.jsonl.{dead.pid}.part", "a[1].jsonl.x.part", f"xa[1].jsonl.{dead.pid}.part"]
    for name in (*others, f"a[1].jsonl.{dead.pid}.part"):
        (tmp_path / name).write_text("half")
    with ExportFile(tmp_path / "a[1].jsonl") as file:
        assert names(tmp_path) == sorted([*others, f"a[1].jsonl.{os.getpid()}.part"])
        with pytest.raises(FileExistsError, match=r"a.1..jsonl'"):
            ExportFile(tmp_path / "a[1].jsonl")  # and does not write over the other one's
        file.finish(0, 0)
    assert names(tmp_path) == sorted([*others, "a[1].jsonl"])
