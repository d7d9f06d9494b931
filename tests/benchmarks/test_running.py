"""Running benchmarks, with next to nothing to do: that they run, not what they find."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from benchmarks import raw
from benchmarks.context import ROOT, Context, Failed
from benchmarks.sizes import TINY


def run(*arguments: str) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run([sys.executable, "-m", "benchmarks", *arguments], cwd=ROOT, capture_output=True, check=False)


def test_one_benchmark_runs_from_the_command_line_to_its_results(tmp_path: Path) -> None:
    output = tmp_path / "results.json"
    ended = run("--only", "wake", "--tiny", "--json", "--folder", str(tmp_path), "--output", str(output))
    assert ended.returncode == 0, ended.stderr.decode()
    assert ended.stdout == output.read_bytes()
    found = msgspec.json.decode(ended.stdout)
    assert (found["sizes"], found["complete"], [one["name"] for one in found["outcomes"]]) == ("tiny", False, ["wake"])
    figures = found["outcomes"][0]["figures"]
    assert {figure["at_most"] for figure in figures} == {1.5, 2.0, None}
    assert all(figure["value"] > 0 for figure in figures)
    assert list(tmp_path.iterdir()) == [output]  # the stores are gone


def test_an_unknown_benchmark_is_refused_with_the_names_there_are() -> None:
    ended = run("--only", "wakes")
    assert ended.returncode == 2
    assert b"there is no benchmark 'wakes'; one of: wake, signals" in ended.stderr


def test_a_measurement_that_raises_is_an_error_that_says_what_it_said(tmp_path: Path) -> None:
    with pytest.raises(Failed, match=r"raw: [\s\S]*is no number of bytes"):
        Context(TINY, tmp_path).run(raw.one_row, "raw", path=tmp_path / "raw", size=-1, count=1)


@pytest.mark.parametrize("size", [0, 1, 5, 11, 12, 13, 100, 267, 268, 70_000])
def test_raw_writes_as_many_bytes_as_it_is_told(size: int) -> None:
    encode = raw.value(size)
    made = [encode(n) for n in (1, 2, 1_000_000)]
    assert {len(one) for one in made} == {size}
    if size > 4:
        assert len(set(made)) == 3  # LMDB is not shown the same bytes again and again


def test_raw_knows_what_was_written_between_two_stores(tmp_path: Path) -> None:
    for name, rows in (("before", {b"a": b"1", b"b": b"2"}), ("after", {b"a": b"1", b"c": b"33"})):
        (tmp_path / name).mkdir()
        with raw.opened(tmp_path / name) as environment:
            table = environment.open_db(b"table")
            other = environment.open_db(b"other")
            with environment.begin(write=True) as txn:
                txn.cursor(table).putmulti(sorted(rows.items()))
                txn.put(b"k", name.encode(), db=other)
    assert raw.written(tmp_path / "before", tmp_path / "after") == [
        raw.Row("other", "again", b"k", 5),
        raw.Row("table", "gone", b"b", 0),
        raw.Row("table", "new", b"c", 2, last=True),
    ]
