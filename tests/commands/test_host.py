"""`looms host` runs what the store holds until it is told to stop, and readers follow it."""

import json
import signal
import time
from pathlib import Path

import pytest

import looms
from looms.commands.host import MOST
from tests.commands.command import LIMIT, lines, run, started
from tests.commands.kennel import dog, kennel
from tests.commands.test_driving import APP, hosting


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_host_tells_what_it_does_and_stops_when_it_is_told(fresh: Path, number: signal.Signals) -> None:
    with started("--store", fresh, *APP, "host", "--json") as host:
        assert host.stdout
        opened = json.loads(host.stdout.readline())
        host.send_signal(number)
        stdout, stderr = host.communicate(timeout=LIMIT)
    assert host.returncode == 0, stderr
    assert opened == {
        "event": "opened",
        "store": str(fresh),
        "pid": host.pid,
        "runs": {"running": 0, "waiting": 1, "suspended": 0},
    }
    assert [json.loads(line)["event"] for line in stdout.splitlines()] == ["stopping", "stopped"]
    assert "Traceback" not in stderr


def test_a_host_tells_people_the_same(fresh: Path) -> None:
    with started("--store", fresh, *APP, "host") as host:
        assert host.stdout
        opened = host.stdout.readline()
        host.send_signal(signal.SIGINT)
        stdout, _ = host.communicate(timeout=LIMIT)
    assert "0 running, 1 waiting, 0 suspended" in opened
    assert "stopping, on SIGINT" in stdout


def test_a_host_counts_only_so_many_runs_before_it_serves(tmp_path: Path) -> None:
    with looms.open(tmp_path / "many.looms", modules=[kennel], durability="relaxed") as runtime:
        for n in range(MOST + 1):
            runtime.start(dog, run_id=f"d{n}")
    with started("--store", tmp_path / "many.looms", "--app", "kennel:modules", "host") as host:
        assert host.stdout
        opened = host.stdout.readline()
        host.send_signal(signal.SIGINT)
        host.communicate(timeout=LIMIT)
    assert f"0 running, {MOST} or more waiting, 0 suspended" in opened


@pytest.mark.parametrize("how", ["option", "environment"])
def test_a_host_lets_go_of_what_is_older_than_it_is_told(fresh: Path, how: str) -> None:
    lines("--store", fresh, *APP, "cancel", "o1")
    ages = "finished=0s, failed=forever"
    args, more = (("--retention", ages), {}) if how == "option" else ((), {"LOOMS_RETENTION": ages})
    with started("--store", fresh, *APP, "host", "--json", *args, **more) as host:
        assert host.stdout
        assert json.loads(host.stdout.readline())["retention"] == {
            "finished": 0.0,
            "failed": None,
            "keep_every": 10_000,
        }
        deadline = time.monotonic() + LIMIT
        while lines("--store", fresh, "runs"):
            assert time.monotonic() < deadline
        host.send_signal(signal.SIGINT)
        host.communicate(timeout=LIMIT)


def test_a_host_may_be_told_how_large_the_store_may_grow(fresh: Path) -> None:
    done = run("--store", fresh, *APP, "host", "--map-size", "1kB")
    assert (done.returncode, done.stdout) == (1, "")
    assert "map_size=1000; give the bytes" in done.stderr
    noted = ("signal", "o1", "shop.noted", "--payload", "-", "--map-size", "2MiB")
    long = json.dumps({"text": "x" * 300_000})
    codes = [run("--store", fresh, *APP, *noted, stdin=long).returncode for _ in range(8)]
    assert (codes[0], codes[-1]) == (0, 1)
    assert (fresh / "data.mdb").stat().st_size <= 2 << 20
    told = run("--store", fresh, *APP, "--map-size", "1MiB", "cancel", "o1")
    assert "is smaller than the store" in told.stderr
    assert lines("--store", fresh, *APP, "cancel", "o1")[0]["status"] == "cancelled"


def test_a_second_host_is_told_who_has_the_store(fresh: Path) -> None:
    with hosting(fresh) as host:
        done = run("--store", fresh, *APP, "host")
        assert (done.returncode, done.stdout) == (1, "")
        assert str(host.pid) in done.stderr


def test_a_host_runs_the_effects_that_were_left_outstanding(fresh: Path) -> None:
    lines("--store", fresh, *APP, "signal", "o1", "shop.paid", "--payload", '{"order_id": "o1", "amount": 40}')
    assert len(lines("--store", fresh, "show", "o1")[0]["effects"]) == 1
    with hosting(fresh), started("--store", fresh, "events", "o1", "--follow", "--json") as following:
        assert following.stdout
        for line in following.stdout:
            if json.loads(line)["type"] == "looms.child_completed":
                break
        following.send_signal(signal.SIGINT)


def test_a_log_is_followed_as_it_grows(fresh: Path) -> None:
    at = ("--store", fresh)
    with hosting(fresh), started(*at, "events", "o1", "--follow", "--json") as following:
        assert following.stdout
        assert json.loads(following.stdout.readline())["seq"] == 1
        for number in (2, 3):
            lines(*at, "signal", "o1", "shop.noted", "--payload", '{"text": "x"}')
            assert json.loads(following.stdout.readline())["seq"] == number
        lines(*at, "cancel", "o1")
        following.communicate(timeout=LIMIT)
    assert following.returncode == 0  # the run is over, so its log is
