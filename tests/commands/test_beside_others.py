"""What takes care of a store beside somebody else who has it: through the host, or it is told who that is."""

import json
import os
from pathlib import Path

import pytest

from looms.snapshots.store import Store
from tests.commands.command import run
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
