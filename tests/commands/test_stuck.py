"""What an operator finds who is called because nothing goes on: which run it is, and how the others go on."""

import json
import subprocess
from pathlib import Path

import pytest

from looms.snapshots import stuck
from tests.commands.command import LIMIT, lines, run, started

APP = ("--app", "spinning:modules")
SPIN = ("signal", "s 1", "wheels.turned", "--payload", '{"spins": true}')


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "spinning.looms"
    for run_id in ("s 1", "other"):
        assert run("--store", path, *APP, "start", "wheels.wheel", "--run-id", run_id).returncode == 0
    return path


def stuck_host(store: Path, *options: str) -> "tuple[subprocess.Popen[str], subprocess.Popen[str]]":
    """A host that is stuck, and who has sent what it is stuck in."""
    host = started("--store", store, *APP, "host", *options)
    assert host.stdout is not None
    assert host.stderr is not None
    assert "opened" in host.stdout.readline()
    sender = started("--store", store, *SPIN)
    while "does not return" not in host.stderr.readline():
        pass
    return host, sender


@pytest.mark.long
def test_a_host_that_is_stuck_is_told_of_everywhere_and_ends_where_that_is_wanted(store: Path) -> None:
    host, sender = stuck_host(store, "--exit-when-stuck", "2s")
    _, errors = host.communicate(timeout=30)
    assert host.returncode == 70
    assert "looms host ends: reducer wheels.wheel of run s 1" in errors
    assert stuck.now(str(store)) is None
    _, refused = sender.communicate(timeout=30)
    assert "no host is running" in refused

    host, sender = stuck_host(store)
    for command in (("runs",), ("stats",), ("effects",), ("show", "other")):
        done = run("--store", store, *command)
        assert done.returncode == 0
        assert "serves nobody: reducer wheels.wheel" in done.stderr, command
        assert 'looms show "s 1"' in done.stderr
    shown = run("--store", store, *APP, "show", "s 1")
    assert shown.returncode == 0
    assert "reducer wheels.wheel of run s 1, on wheels.turned at seq 2 (spinning)" in shown.stdout.replace("\n", " ")
    assert ", in wheel\n" in shown.stdout
    (plain,) = lines("--store", store, "show", "s 1")
    assert (plain["seq"], plain["stuck"]["pid"], plain["stuck"]["seq"]) == (1, host.pid, 2)
    assert "stuck" not in lines("--store", store, "show", "other")[0]
    host.kill()
    host.communicate()
    _, waited = sender.communicate(timeout=30)
    assert "serves nobody: reducer wheels.wheel" in waited

    done = run("--store", store, *APP, "signal", "other", "wheels.turned", "--payload", "{}", "--json")
    assert json.loads(done.stdout)["seq"] == 2
    (plain,) = lines("--store", store, "show", "s 1")
    assert plain["status"] == "suspended"
    assert "as 1 before it" in plain["error"]
    assert run("--store", store, *APP, "resume", "s 1").returncode == 0
    assert lines("--store", store, "show", "s 1")[0]["status"] == "waiting"


@pytest.mark.long
def test_a_host_ends_though_a_handler_blocks_its_thread(tmp_path: Path) -> None:
    store = tmp_path / "hanging.looms"
    calling = ("--store", store, "--app", "hanging:modules")
    assert run(*calling, "start", "calls.caller", "--run-id", "c").returncode == 0
    with started(*calling, "host", "--json") as host:
        assert host.stdout is not None
        assert json.loads(host.stdout.readline())["event"] == "opened"
        while not lines("--store", store, "effects")[0]["running"]:
            pass
        assert "running for" in run("--store", store, "effects").stdout
        host.terminate()
        stdout, stderr = host.communicate(timeout=LIMIT)
    assert host.returncode == 0, stderr
    assert json.loads(stdout.splitlines()[-1])["left"] == {"calls.call": 1}
    assert lines("--store", store, "effects")[0]["attempts"] == 1
