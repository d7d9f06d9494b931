"""Running benchmarks, with next to nothing to do: that they run, not what they find."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from benchmarks import raw
from benchmarks.context import ROOT, Context, Failed
from benchmarks.growth import by_runs
from benchmarks.sizes import TINY
from benchmarks.suite import Benchmark, measured
from benchmarks.wake import orders
from tests.benchmarks.failing import grouped


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


def begun(folder: Path, *arguments: str, **how: Any) -> "subprocess.Popen[bytes]":
    """A run that makes its stores, and writes its results, in a folder."""
    given = ["--tiny", "--folder", str(folder), "--output", str(folder / "results.json"), *arguments]
    return subprocess.Popen([sys.executable, "-m", "benchmarks", *given], cwd=ROOT, **how)


def children(process: int) -> list[int]:
    """The processes that a process has begun."""
    if sys.platform != "linux":
        listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, check=True).stdout.splitlines()
        return [int(pid) for pid, parent in map(bytes.split, listed) if int(parent) == process]
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # one that is gone meanwhile
            parent = stat.read_text().rpartition(")")[2].split()[1]
            found += [int(stat.parent.name)] * (int(parent) == process)
    return found


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_whoever_stops_it_gets_what_was_measured_and_nothing_else_is_left(tmp_path: Path, number: int) -> None:
    output = tmp_path / "results.json"
    chosen = ("--only", "in-run waits", "--only", "fairness")
    with begun(tmp_path, *chosen, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as suite:
        while not (output.exists() and (working := children(suite.pid))):
            assert suite.poll() is None
            time.sleep(0.02)
        suite.send_signal(number)
        out, errors = suite.communicate(timeout=60)
    assert suite.returncode == 128 + number
    assert [one["name"] for one in msgspec.json.decode(output.read_bytes())["outcomes"]] == ["in-run waits"]
    assert b"a signal that meets one of" in out
    assert f"stopped by {signal.Signals(number).name}; 1 of 2 benchmarks" in errors.decode()
    assert list(tmp_path.iterdir()) == [output]
    for child in working:
        with pytest.raises(ProcessLookupError):
            os.kill(child, 0)


def test_nobody_has_to_read_what_is_printed(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with begun(tmp_path, "--only", "in-run waits", stdout=writing, stderr=writing) as suite:
        os.close(writing)
        assert suite.wait(60) == 0
    assert list(tmp_path.iterdir()) == [tmp_path / "results.json"]


def test_a_terminal_may_know_ascii_alone(tmp_path: Path) -> None:
    plain = {**os.environ, "PYTHONIOENCODING": "ascii"}
    with begun(tmp_path, "--only", "in-run waits", stdout=subprocess.PIPE, env=plain) as suite:
        out, _ = suite.communicate(timeout=60)
    assert suite.returncode == 0
    assert "##" in out.decode("ascii")


def test_of_a_group_of_errors_the_innermost_is_told(tmp_path: Path) -> None:
    failed = measured(Context(TINY, tmp_path), Benchmark("it", lambda context: context.run(grouped, "it"), 1))
    assert failed.told == "ValueError: no room, not even here"
    assert failed.error is not None
    assert "Traceback" in failed.error


def test_an_error_of_the_suite_itself_ends_one_benchmark_alone(tmp_path: Path) -> None:
    assert measured(Context(TINY, tmp_path), Benchmark("it", lambda _: [][1], 1)).told.startswith("IndexError: ")


def test_what_is_measured_in_rounds_is_measured_in_turn(tmp_path: Path) -> None:
    called: list[str] = []
    measurements = {name: lambda name=name: called.append(name) for name in "ab"}
    Context(TINY, tmp_path).rounds(measurements, 3)
    assert called == list("ababab")


def test_a_store_that_is_shared_stays_as_it_was_made(tmp_path: Path) -> None:
    context = Context(msgspec.structs.replace(TINY, growth_runs=(20,)), tmp_path)
    store = orders(context, 20) / "data.mdb"
    made = store.read_bytes()
    by_runs(context)
    assert store.read_bytes() == made


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
