"""`looms stats`, `check` and `backup` from a terminal."""

import json
from pathlib import Path

import pytest

from looms.snapshots.packing import u64
from looms.snapshots.store import Store
from looms.snapshots.tables import KEYS, LISTING, LOG, SHAPES, TIMERS, WAITS
from tests.care.stores import flipped, put, rows_of
from tests.commands.command import lines, run


def test_stats_is_one_object(store: Path) -> None:
    (found,) = lines("stats", "--store", store, "--top", "2")
    assert found["records"] == found["runs"]["waiting"] + found["records"] - found["runs"]["waiting"]
    assert len(found["largest"]) == 2
    assert {table["table"] for table in found["sizes"]["tables"]} >= {"log", "runs", "keys"}
    shown = run("stats", "--store", store)
    assert shown.returncode == 0
    assert "largest runs" in shown.stdout
    assert "█" in shown.stdout


def test_a_sound_store_is_sound(store: Path) -> None:
    checked = run("check", "--store", store)
    assert (checked.returncode, checked.stderr) == (0, "")
    assert checked.stdout.endswith("nothing is wrong\n")
    (summary,) = lines("check", "--store", store, "o1")
    assert (summary["ok"], summary["runs"]) == (True, 1)


def test_what_is_wrong_is_told_and_repaired(fresh: Path) -> None:
    for table in (WAITS, KEYS):
        for key, _ in rows_of(fresh, table):
            put(fresh, table, key, None)
    checked = run("check", "--store", fresh)
    assert checked.returncode == 1
    assert "run o1" in checked.stdout
    assert "looms check --repair" in checked.stdout
    told = [json.loads(line) for line in run("check", "--store", fresh, "--json").stdout.splitlines()]
    assert told[-1]["findings"] == len(told) - 1 == told[-1]["repairable"] > 0
    assert {finding["table"] for finding in told[:-1]} == {"waits"}
    repaired = run("check", "--store", fresh, "--repair")
    assert repaired.returncode == 0
    assert "repaired" in repaired.stdout
    assert run("check", "--store", fresh).returncode == 0


def test_the_row_is_told_in_words(fresh: Path) -> None:
    for table in (LISTING, SHAPES, TIMERS):
        for key, value in rows_of(fresh, table):
            put(fresh, table, key, None)
            put(fresh, table, key.replace(b"shop.", b"ship.") if table is not TIMERS else u64(3_000) + key[8:], value)
    told = run("check", "--store", fresh).stdout
    assert "listing  definition ship.order status waiting run 1  " in told
    assert "shapes  type ship.paid digest " in told
    assert "timers  due 1970-01-01 00:00:03 UTC run 1 seq 1 index 0  " in told
    assert "\\x" not in told


def test_what_cannot_be_repaired_is_said(fresh: Path) -> None:
    key, value = next(iter(rows_of(fresh, LOG)))
    put(fresh, LOG, key, flipped(value, 5))
    for args in ((), ("--repair",)):
        checked = run("check", "--store", fresh, *args)
        assert checked.returncode == 1
        assert "record 1 is lost" in checked.stdout
        assert "cannot be repaired" in checked.stdout
        assert checked.stderr == ""


@pytest.mark.parametrize(
    ("args", "code", "says"),
    [
        (("check", "nobody"), 1, "there is no run 'nobody'"),
        (("check", "--repair", "o1"), 2, "--repair is for the store as a whole"),
        (("backup", "."), 1, "there is something already"),
        (("backup", "no/such/folder"), 1, "No such file"),
    ],
)
def test_what_is_refused_says_why(fresh: Path, args: tuple[str, ...], code: int, says: str) -> None:
    done = run(*args, "--store", fresh)
    assert (done.returncode, done.stdout) == (code, "")
    assert says in done.stderr


def test_a_repair_beside_a_host_is_refused(fresh: Path) -> None:
    with Store(fresh):
        done = run("check", "--repair", "--store", fresh)
    assert done.returncode == 1
    assert "in use" in done.stderr


def test_a_copy_is_a_store(store: Path, tmp_path: Path) -> None:
    (made,) = lines("backup", "--store", store, tmp_path / "copy.looms")
    assert made["path"] == str(tmp_path / "copy.looms")
    assert lines("runs", "--store", tmp_path / "copy.looms") == lines("runs", "--store", store)
