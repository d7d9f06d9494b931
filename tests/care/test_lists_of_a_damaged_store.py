"""What is damaged in a list, or an export of all, is told, and keeps nothing else back."""

import re
from pathlib import Path

import pytest

import looms
from looms import Reader
from looms.commands.app import run as looms_command
from looms.snapshots.tables import EFFECTS, IDS, INBOX, KEYS, LOG, RETAINED, RUNS, Table
from tests.care.stores import flipped, modules, put, rows_of


def damage(store: Path, table: Table, key: bytes) -> None:
    put(store, table, key, flipped(dict(rows_of(store, table))[key], 11))


@pytest.mark.parametrize("status", [None, "waiting"])
async def test_a_run_whose_head_is_damaged_stands_in_the_lists_as_that(store: Path, status: str | None) -> None:
    async with Reader(store) as reader:
        before = [one async for one in reader.runs(status=status)]
    damage(store, RUNS, dict(rows_of(store, IDS))[b"guest"][:8])
    async with Reader(store) as reader:
        now = [one async for one in reader.runs(status=status)]
        (told,) = [one for one in now if one.damage is not None]
        assert (told.run_id, told.definition, told.status) == ("guest", "house.guest", "damaged")
        assert "checksum" in (told.damage or "")
        assert [one for one in now if one is not told] == [one for one in before if one.run_id != "guest"]
        assert [one.run_id async for one in reader.runs(limit=3)] == [one.run_id for one in before][:3] or status


@pytest.mark.parametrize("table", [RUNS, LOG, EFFECTS, INBOX], ids=lambda table: table.name)
async def test_an_export_passes_over_a_run_whatever_of_it_is_damaged(store: Path, tmp_path: Path, table: Table) -> None:
    number = dict(rows_of(store, IDS))[b"fork" if table is EFFECTS else b"away" if table is INBOX else b"guest"][:8]
    run_id = {EFFECTS: "fork", INBOX: "away"}.get(table, "guest")
    rows = rows_of(store, table)
    keys = [key for key, value in rows if (b"Ada" in value if table is LOG else key[:8] == number)]
    damage(store, table, keys[0])
    async with Reader(store) as reader:
        count = len([1 async for _ in reader.runs()])
        done = await reader.export_runs(tmp_path / "all.jsonl")
        assert (done.incomplete, done.runs) == ((run_id,), count - 1)
        alone = await reader.export_runs(tmp_path / "one.jsonl", run_ids=[run_id, "one"])
        assert (alone.incomplete, alone.runs) == ((run_id,), 1)
    async with looms.Runtime(tmp_path / "other.looms", modules=modules) as rt:
        assert (await rt.import_runs(tmp_path / "all.jsonl")).runs == count - 1


async def test_an_export_leaves_out_what_belongs_to_no_run_and_is_damaged(store: Path, tmp_path: Path) -> None:
    publication = next(key for key, _ in rows_of(store, KEYS) if key[:8] == bytes(8))
    kept = rows_of(store, RETAINED)
    damage(store, KEYS, publication)
    damage(store, RETAINED, next(iter(kept))[0])
    async with Reader(store) as reader:
        done = await reader.export_runs(tmp_path / "all.jsonl")
    assert done.incomplete == ()
    assert done.passed_over == ("kept event 1", f"publication key {publication[8:].decode()}")
    lines = (tmp_path / "all.jsonl").read_text()
    assert lines.count('"line":"kept"') == 1
    assert lines.count('"line":"publication"') == 2


async def test_a_run_that_is_damaged_cannot_be_exported_by_an_id_that_leads_nowhere(
    store: Path, tmp_path: Path
) -> None:
    damage(store, IDS, b"guest")
    async with Reader(store) as reader:
        assert (await reader.export_runs(tmp_path / "one.jsonl", run_ids=["guest"])).incomplete == ("guest",)


async def test_an_effect_whose_row_is_damaged_is_named_and_the_others_are_told(store: Path) -> None:
    async with Reader(store) as reader:
        before = [one async for one in reader.effects()]
    (key, _), *_ = rows_of(store, EFFECTS)
    damage(store, EFFECTS, key)
    async with Reader(store) as reader:
        now = [one async for one in reader.effects()]
        (told,) = [one for one in now if one.damage is not None]
        assert "checksum" in (told.damage or "")
        assert [one.effect_id for one in now] == [one.effect_id for one in before]
        assert [one for one in now if one is not told] == [one for one in before if one.effect_id != told.effect_id]
        assert [one async for one in reader.effects(told.run_id)] == [one for one in now if one.run_id == told.run_id]


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_the_command_names_an_effect_that_is_damaged_and_goes_on(
    store: Path, capfd: pytest.CaptureFixture[str], options: list[str]
) -> None:
    (key, _), *others = rows_of(store, EFFECTS)
    damage(store, EFFECTS, key)
    assert looms_command(["--store", str(store), "effects", *options]) == 1
    told = capfd.readouterr()
    listed = [line for line in told.out.splitlines() if re.match(r"\S+:\d+:\d+ |{", line)]
    assert len(listed) == 1 + len(others)  # an error that is long is told on more lines
    assert "is damaged: its checksum" in told.err or "its checksum" in told.out


def test_the_commands_go_on_and_say_what_is_damaged(
    store: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    damage(store, RUNS, dict(rows_of(store, IDS))[b"guest"][:8])
    assert looms_command(["--store", str(store), "runs"]) == 0
    told = capfd.readouterr()
    assert "damaged" in told.out
    assert "guest is damaged: its checksum" in told.err
    assert looms_command(["--store", str(store), "export", "-o", str(tmp_path / "all.jsonl")]) == 1
    assert "1 of the runs could not be exported whole" in capfd.readouterr().err
    assert (tmp_path / "all.jsonl").exists()
