"""What takes care of a store beside somebody else who has it: through the host, or it is told who that is."""

import json
import os
from pathlib import Path

import pytest

from looms.snapshots import requests
from looms.snapshots.lock import PROTOCOL
from looms.snapshots.store import Store
from tests.commands.command import lines, run
from tests.commands.test_driving import APP


@pytest.fixture
def exported(fresh: Path, tmp_path: Path) -> Path:
    file = tmp_path / "o1.jsonl"
    assert run("--store", fresh, "export", "o1", "-o", file).returncode == 0
    return file


def test_who_has_the_store_and_serves_nobody_is_told(fresh: Path, exported: Path) -> None:
    assert run("--store", fresh, *APP, "cancel", "o1").returncode == 0
    commands: list[tuple[str | Path, ...]] = [
        ("import", exported, "--run-id-prefix", "x/"),
        ("prune", "--finished-older", "0s", "--yes"),
        (*APP, "start", "shop.order", "--input", '{"order_id": "o2"}'),
        (*APP, "host"),
    ]
    with Store(fresh, serves=False):  # as an import or a prune has it
        for command in commands:
            done = run("--store", fresh, *command)
            assert (done.returncode, done.stdout) == (1, ""), command
            assert f"in use by process {os.getpid()}" in done.stderr
            assert "try again" in done.stderr
            assert "--app" not in done.stderr
    done = run("--store", fresh, "import", exported, "--run-id-prefix", "x/", "--json")
    assert json.loads(done.stdout)["runs"] == 1


@pytest.mark.parametrize("protocol", [PROTOCOL + 1, 0, None])
def test_a_host_of_another_version_is_asked_nothing(fresh: Path, exported: Path, protocol: int | None) -> None:
    commands: list[tuple[str | Path, ...]] = [
        (*APP, "start", "shop.order", "--input", '{"order_id": "o2"}'),
        ("cancel", "o1"),
        ("import", exported, "--run-id-prefix", "x/"),
    ]
    with Store(fresh) as store:
        signed = json.loads((fresh / "lock").read_bytes())
        if protocol is None:  # as it was before there was one
            del signed["protocol"]
        else:
            signed["protocol"] = protocol
        with (fresh / "lock").open("r+b") as file:
            file.write(json.dumps(signed).encode().ljust(1_024))
        for command in commands:
            done = run("--store", fresh, *command)
            assert (done.returncode, done.stdout) == (1, ""), command
            assert f"the host (process {os.getpid()} on " in done.stderr
            assert "is Looms of another version" in done.stderr
            assert "Traceback" not in done.stderr
            with store.view() as view:
                assert requests.waiting(view) == []
    assert [one["run_id"] for one in lines("--store", fresh, "runs")] == ["o1"]
