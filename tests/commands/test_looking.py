"""What the command line shows is what the API returns, and stdout holds nothing else."""

import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from looms import Reader
from looms.commands.plain import plain, plain_record, plain_replay, plain_run
from tests.commands.command import lines, run
from tests.commands.conftest import ODD
from tests.commands.shop import NOISE, modules

APP = ("--app", "shop:modules")


def read(store: Path, what: Callable[[Reader], Awaitable[Any]]) -> Any:
    """What the API says, as it looks after a way through JSON."""

    async def reading() -> Any:
        async with Reader(store, modules=modules) as reader:
            return await what(reader)

    return msgspec.json.decode(msgspec.json.encode(anyio.run(reading)))


def test_runs_are_the_apis_summaries(store: Path) -> None:
    async def summaries(reader: Reader) -> Any:
        return [plain(summary) async for summary in reader.runs()]

    told = lines("--store", store, *APP, "runs")
    assert told == read(store, summaries)
    assert [row["run_id"] for row in told] == ["o1", "o2", *ODD]


def test_runs_are_picked_by_definition_and_status_and_limited(store: Path) -> None:
    at = ("--store", store, "runs")
    assert [row["run_id"] for row in lines(*at, "--limit", "1")] == ["o1"]
    assert lines(*at, "--definition", "shop.parcel") == []
    assert lines(*at, "--status", "failed") == []
    assert len(lines(*at, "--status", "waiting", "--definition", "shop.order")) == 2 + len(ODD)


def test_a_run_is_the_apis_run_state(store: Path) -> None:
    async def inspected(reader: Reader) -> Any:
        return plain_run(await reader.run("o1").inspect())

    (told,) = lines("--store", store, *APP, "show", "o1")
    assert told == read(store, inspected)
    assert told["state"]["counts"] == {"6": "bg=="}  # keys and bytes that JSON does not have


def test_a_log_is_the_apis_records_without_their_events(store: Path) -> None:
    async def records(reader: Reader) -> Any:
        return [plain_record(record) async for record in reader.run("o2").events()]

    told = lines("--store", store, *APP, "events", "o2")
    assert told == read(store, records)
    assert all("event" not in record for record in told)


def test_a_log_is_cut_by_seq_and_by_type(store: Path) -> None:
    at = ("--store", store, "events", "o1")
    assert [record["seq"] for record in lines(*at, "--from", "3", "--to", "4")] == [3, 4]
    assert [record["seq"] for record in lines(*at, "--type", "looms.started")] == [1]
    assert len(lines(*at, "--type", "looms.started", "--type", "shop.noted")) == 9
    assert lines(*at, "--type", "shop.lost") == []


def test_a_replay_is_the_apis_replay(store: Path) -> None:
    async def replays(reader: Reader) -> Any:
        return [plain_replay(await reader.run("o2").replay_to(seq)) for seq in (1, 2)]

    told = [lines("--store", store, *APP, "replay", "o2", "--to", seq)[0] for seq in ("1", "2")]
    assert told == read(store, replays)
    assert told[0]["before"] is None
    assert (told[1]["before"]["state"]["paid"], told[1]["after"]["state"]["paid"]) == (0, 40)


def test_snapshots_are_the_apis_snapshots_and_each_can_be_read(store: Path) -> None:
    async def snapshots(reader: Reader) -> Any:
        return [plain(snapshot) async for snapshot in reader.run("o1").snapshots()]

    told = lines("--store", store, *APP, "snapshots", "o1")
    assert told == read(store, snapshots)
    assert [snapshot["seq"] for snapshot in told] == [4, 8]
    (held,) = lines("--store", store, *APP, "snapshots", "o1", "--at", "8")
    assert (held["seq"], len(held["state"]["notes"])) == (8, 7)


def test_stdout_holds_json_lines_whatever_the_application_prints(store: Path) -> None:
    done = run("--store", store, *APP, "show", "o1", "--json")
    assert NOISE not in done.stdout
    assert done.stdout.count("\n") == 1
    assert done.stderr.count(NOISE) >= 3  # three ways, at the import alone


def test_stdout_for_people_is_the_commands_own_too(store: Path) -> None:
    assert NOISE not in run("--store", store, *APP, "show", "o1").stdout


def test_a_store_can_be_read_without_its_application(store: Path) -> None:
    at = ("--store", store)
    with_app, without = (lines(*at, *more, "events", "o2") for more in (APP, ()))
    assert without == with_app
    (held,) = lines(*at, "snapshots", "o1", "--at", "8")
    assert held["state"]["notes"] == [f"note {number}" for number in range(1, 8)]
    (shown,) = lines(*at, "show", "o1")
    assert (shown["state"], shown["status"], shown["waits"][0]["id"]) == (None, "waiting", "payment")
    assert "--app" in run(*at, "show", "o1").stdout
    (replay,) = lines(*at, "replay", "o1", "--to", "2")
    assert replay["record"]["payload"] == {"text": "note 1"}


@pytest.mark.parametrize("odd", [odd for odd in ODD if "\0" not in odd])
def test_a_run_of_an_odd_id_can_be_shown(store: Path, odd: str) -> None:
    done = run("--store", store, "--json", "show", "--", odd)
    assert done.returncode == 0, done.stderr
    assert msgspec.json.decode(done.stdout)["run_id"] == odd


def test_an_id_that_no_shell_can_pass_on_is_given_as_json(store: Path) -> None:
    (shown,) = lines("--store", store, "show", "--quoted", r'"a\u0000b"')
    assert shown["run_id"] == "a\0b"
    done = run("--store", store, "show", "--quoted", "o1")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no JSON string" in done.stderr


def test_a_list_for_people_has_a_line_for_each_run_and_obeys_no_id(store: Path) -> None:
    shown = run("--store", store, "runs").stdout
    assert len(shown.splitlines()) == 1 + 2 + len(ODD)
    assert "\x1b" not in shown
    assert "\\x1b[31mred" in shown


@pytest.mark.parametrize("width", ["80", "200"])
@pytest.mark.parametrize(
    "command", [("runs",), ("show", "o1"), ("events", "o2"), ("replay", "o1", "--to", "3"), ("snapshots", "o1")]
)
def test_what_people_see_fits_their_width_and_has_no_blanks_at_line_ends(
    store: Path, command: tuple[str, ...], width: str
) -> None:
    done = run("--store", store, *APP, *command, COLUMNS=width)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    for line in done.stdout.splitlines():
        assert len(line) <= int(width)
        assert line == line.rstrip()


def test_where_there_is_nothing_it_says_what_to_do(store: Path, fresh: Path) -> None:
    assert "looms start" not in run("--store", store, "runs", "--status", "failed").stdout
    assert "failed" in run("--store", store, "runs", "--status", "failed").stdout
    assert "did you mean 'shop.order'?" in run("--store", store, *APP, "runs", "--definition", "shop.ordr").stdout
    assert "No snapshots yet" in run("--store", fresh, "snapshots", "o1").stdout
    assert "No such events" in run("--store", fresh, "events", "o1", "--type", "shop.lost").stdout


def test_the_settings_may_stand_behind_the_command_in_the_environment_or_in_a_file(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = lines("runs", "--store", store, *APP)
    assert lines("runs", LOOMS_STORE=str(store), LOOMS_APP="shop:modules") == told
    (tmp_path / "pyproject.toml").write_text(f'[tool.looms]\nstore = "{store}"\napp = "shop:modules"\n')
    monkeypatch.chdir(tmp_path)
    assert lines("runs") == told


def test_the_current_folder_is_imported_from(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kiosk.py").write_text("from shop import modules\n")
    monkeypatch.chdir(tmp_path)
    (shown,) = lines("--store", store, "--app", "kiosk:modules", "show", "o1")
    assert shown["state"]["status"] == "placed"


def test_the_help_names_every_command() -> None:
    told = run("--help").stdout
    for command in ("demo", "host", "runs", "show", "events", "replay", "snapshots", "start", "signal", "publish"):
        assert re.search(rf"^  {command} ", told, re.MULTILINE)
    assert "Usage: looms show" in run("show", "--help").stdout
    assert run("--version").stdout.startswith("looms 0.")


def test_code_that_is_missing_is_named_by_those_that_show_runs_with_other_code(store: Path) -> None:
    done = run("--store", store, "--app", "kennel:modules", "show", "o1")
    assert done.returncode == 0
    assert "module shop is not in kennel:modules" in done.stdout
    assert "without --app" not in done.stdout
    done = run("--store", store, "--app", "kennel:modules", "runs")
    assert "suspended" in done.stdout
    assert "shop.order is not in kennel:modules: with that code its runs are suspended" in done.stderr
    assert run("--store", store, "--app", "shop:modules", "runs").stderr.count("suspended") == 0
