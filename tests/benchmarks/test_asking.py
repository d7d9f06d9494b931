"""What is refused before anything is measured: in one line, with exit code 2."""

import json
import sys
from pathlib import Path

import pytest

from benchmarks import results
from benchmarks.asking import asked_for
from tests.benchmarks.figures import FULL, RESULTS


def refusal(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """The one line that is said of arguments that cannot be."""
    with pytest.raises(SystemExit) as ended:
        asked_for([str(one) for one in arguments])
    said = capsys.readouterr()
    assert (ended.value.code, said.out, said.err.count("\n")) == (2, "", 1)
    return said.err


def test_folders_and_files_that_cannot_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (file := tmp_path / "file").touch()
    assert "is not there; give a folder" in refusal(capsys, "--folder", tmp_path / "nowhere")
    assert "is no folder that can be written to" in refusal(capsys, "--folder", file)
    assert "is a folder; give a file" in refusal(capsys, "--output", tmp_path)
    assert "cannot be written to" in refusal(capsys, "--output", file / "below.json")


def test_pages_are_written_from_full_results_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "results.json"
    assert "there are no results in" in refusal(capsys, "--readme", path)
    path.write_text("{}")
    assert "has no results that can be read" in refusal(capsys, "--readme", path)
    results.write(RESULTS, path)
    assert "of a part or a quick run" in refusal(capsys, "--readme", path)
    results.write(FULL, path)
    assert asked_for(["--readme", str(path)]).shown == FULL


def test_libraries_that_are_not_there_are_named_with_the_command_that_brings_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "dbos", None)
    monkeypatch.setitem(sys.modules, "eventsourcing", json)  # something that is there
    monkeypatch.setattr(sys, "argv", ["benchmarks", "--quick", "--group", "peers"])
    for arguments in (["--group", "peers"], ["--only", "saves"], ["--only", "peers"]):
        said = refusal(capsys, *arguments)
        assert "dbos: not installed here; uv run --group peers python -m benchmarks --quick --group peers" in said
    monkeypatch.setitem(sys.modules, "dbos", json)
    assert [benchmark.name for benchmark in asked_for(["--only", "peers"]).chosen] == ["steps", "saves"]


def test_names_are_those_that_are_shown() -> None:
    def chosen(*names: str) -> list[str]:
        asked = asked_for([part for name in names for part in ("--only", name)])
        return [benchmark.name for benchmark in asked.chosen]

    for figure in RESULTS.figures:
        assert chosen(figure.benchmark) == [figure.benchmark]
    assert chosen("By runs", "publish", "In-run waits") == ["publish", "in-run waits", "by runs"]
    assert chosen("growth") == ["by runs", "by records", "by waits", "by state"]
