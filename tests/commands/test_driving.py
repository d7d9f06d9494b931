"""Commands that drive runs do what the API does: through the running host where there is one, else by themselves."""

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.commands.command import LIMIT, lines, run, started

APP = ("--app", "shop:modules")


@pytest.fixture(params=["through the host", "by itself"])
def driven(request: pytest.FixtureRequest, fresh: Path) -> Iterator[tuple[str | Path, ...]]:
    """A store to drive, with a host that runs or without; what to say to `looms` about it."""
    if request.param == "by itself":
        yield ("--store", fresh, *APP)
        return
    with hosting(fresh):
        yield ("--store", fresh)  # the application is the host's affair


@contextmanager
def hosting(store: Path) -> Iterator[subprocess.Popen[str]]:
    """`looms host` on a store, ready."""
    with started("--store", store, *APP, "host", "--json") as host:
        assert host.stdout
        assert json.loads(host.stdout.readline())["event"] == "opened"
        try:
            yield host
        finally:
            host.send_signal(signal.SIGTERM)
            host.communicate(timeout=LIMIT)


def test_a_run_is_started_signalled_and_published_to(driven: tuple[str | Path, ...]) -> None:
    order = '{"order_id": "o2"}'
    assert lines(*driven, "start", "shop.order", "--input", order, "--run-id", "o2") == [{"run_id": "o2"}]
    assert lines(*driven, "signal", "o2", "shop.noted", "--payload", '{"text": "gift"}', "--key", "k") == [
        {"seq": 2, "duplicate": False}
    ]
    assert lines(*driven, "signal", "o2", "shop.noted", "--payload", '{"text": "gift"}', "--key", "k") == [
        {"seq": 2, "duplicate": True}
    ]
    paid = '{"order_id": "o2", "amount": 40}'
    assert lines(*driven, "publish", "shop.paid", "--payload", paid) == [{"runs": ["o2"], "duplicate": False}]
    assert lines(*driven, "publish", "shop.paid", "--payload", paid) == [{"runs": [], "duplicate": False}]
    log = lines(*driven, "events", "o2")
    assert [record["type"] for record in log[:3]] == ["looms.started", "shop.noted", "shop.paid"]


def test_a_second_start_is_refused_or_is_the_same_run(driven: tuple[str | Path, ...]) -> None:
    again = ("start", "shop.order", "--input", '{"order_id": "o1"}', "--run-id", "o1")
    done = run(*driven, *again)
    assert (done.returncode, done.stdout) == (1, "")
    assert "o1" in done.stderr
    assert "say --exists return" in done.stderr
    assert lines(*driven, *again, "--exists", "return") == [{"run_id": "o1", "existed": True}]
    assert run(*driven, *again, "--exists", "return").stdout == "o1 was there already: nothing was started\n"
    assert len(lines(*driven, "events", "o1")) == 1


def test_a_run_without_an_id_gets_one(driven: tuple[str | Path, ...]) -> None:
    ((made,),) = [row.values() for row in lines(*driven, "start", "shop.order", "--input", '{"order_id": "x"}')]
    assert [row["run_id"] for row in lines(*driven, "runs")] == ["o1", made]


def test_a_payload_may_come_from_stdin(driven: tuple[str | Path, ...]) -> None:
    done = run(*driven, "--json", "signal", "o1", "shop.noted", "--payload", "-", stdin='{"text": "ü ☃"}')
    assert json.loads(done.stdout) == {"seq": 2, "duplicate": False}
    assert lines(*driven, "events", "o1")[1]["payload"] == {"text": "ü ☃"}


def test_an_event_is_kept_for_a_run_that_is_not_there_yet(driven: tuple[str | Path, ...]) -> None:
    early = ("signal", "o7", "shop.noted", "--payload", '{"text": "early"}', "--retain", "600")
    assert lines(*driven, *early) == [{"seq": None, "duplicate": False}]
    assert "o7" in run(*driven, *early).stdout
    assert lines(*driven, "start", "shop.order", "--input", '{"order_id": "o7"}', "--run-id", "o7")
    assert [record["type"] for record in lines(*driven, "events", "o7")][1] == "shop.noted"


def test_what_the_host_refuses_is_told_as_the_error_that_it_is(driven: tuple[str | Path, ...]) -> None:
    for args, told in [
        (("signal", "o9", "shop.noted", "--payload", '{"text": "x"}'), "o9"),
        (("signal", "o1", "shop.notd", "--payload", "{}"), "shop.noted"),
        (("signal", "o1", "shop.noted", "--payload", '{"text": 7}'), "$.text"),
        (("signal", "o1", "shop.noted", "--payload", '{"text": "refuse this"}'), "it says so"),
        (("start", "shop.ordr"), "shop.order"),
        (("delete", "o1"), "o1"),
        (("resume", "o9"), "o9"),
    ]:
        done = run(*driven, *args)
        assert (done.returncode, done.stdout) == (1, ""), done.stderr
        assert told in done.stderr
        assert "Traceback" not in done.stderr
    assert len(lines(*driven, "events", "o1")) == 1


def test_a_run_is_cancelled_and_deleted(driven: tuple[str | Path, ...]) -> None:
    assert lines(*driven, "cancel", "o1", "--reason", "customer left") == [
        {"run_id": "o1", "status": "cancelled", "error": "customer left"}
    ]
    assert lines(*driven, "delete", "o1") == [{"run_id": "o1"}]
    assert lines(*driven, "runs") == []
    assert "holds no runs yet" in run(*driven, "runs").stdout


@pytest.mark.parametrize("odd", ["  two blanks", "../x", "a:b/c", "-x", "ü☃", "line\nbreak"])
def test_a_run_of_an_odd_id_is_driven_like_any_other(fresh: Path, odd: str) -> None:
    at = ("--store", fresh, *APP, "--json")
    place = json.dumps({"order_id": odd})
    assert json.loads(run(*at, "start", "shop.order", "--input", place, f"--run-id={odd}").stdout) == {"run_id": odd}
    done = run(*at, "signal", "--payload", '{"text": "x"}', "--", odd, "shop.noted")
    assert json.loads(done.stdout) == {"seq": 2, "duplicate": False}
    assert json.loads(run(*at, "cancel", "--", odd).stdout)["status"] == "cancelled"


def test_an_effect_is_settled_and_tried_by_hand(fresh: Path) -> None:
    at = ("--store", fresh, *APP)
    lines(*at, "signal", "o1", "shop.paid", "--payload", '{"order_id": "o1", "amount": 40}')
    ((effect,),) = [row["effects"] for row in lines(*at, "show", "o1")]
    assert lines(*at, "retry", effect["id"]) == [{"run_id": "o1", "effect_id": effect["id"]}]
    settled = ("settle", effect["id"], "shop.packed", "--payload", '{"parcel": "by hand"}')
    assert lines(*at, *settled) == [{"run_id": "o1", "effect_id": effect["id"]}]
    (shown,) = lines(*at, "show", "o1")
    assert (shown["effects"], list(shown["threads"])) == ([], ["root"])
    done = run(*at, *settled)
    assert (done.returncode, effect["id"] in done.stderr) == (1, True)


def test_a_run_is_forked(driven: tuple[str | Path, ...]) -> None:
    assert run(*driven, "signal", "o1", "shop.paid", "--payload", '{"order_id": "o1", "amount": 4}').returncode == 0
    told = lines(*driven, "fork", "o1", "--at", "2", "--run-id", "f")
    assert told == [{"run_id": "f", "forked_from": ["o1", 3], "held": ["f:3:0"]}]
    (shown,) = lines(*driven, "show", "f")
    assert (shown["forked_from"], shown["status"]) == (["o1", 3], "waiting")
    assert "fork of o1 at 3" in run(*driven, "show", "f").stdout
    said = run(*driven, "fork", "o1", "--at", "2", "--run-id", "f2").stdout
    assert said.startswith("f2 is a fork of o1 at 3, which followed from 2 in the same turn\nheld, until looms retry")
    (again,) = lines(*driven, "fork", "f", "--at", "1")
    assert again["run_id"] not in ("o1", "f")
    refused = run(*driven, "fork", "o1", "--at", "1", "--run-id", "f")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "looms: run f exists: a shop.order, waiting; choose another --run-id\n" in refused.stderr
    assert lines(*driven, "retry", "f:3:0") == [{"run_id": "f", "effect_id": "f:3:0"}]
    (now,) = lines(*driven, "fork", "o1", "--at", "3", "--redispatch", "--run-id", "g")
    assert now["held"] == []


def test_what_is_told_to_people_says_what_happened(fresh: Path) -> None:
    at = ("--store", fresh, *APP)
    note = ("signal", "o1", "shop.noted", "--payload", '{"text": "x"}', "--key", "k")
    told = [
        run(*at, *command).stdout
        for command in (
            note,
            note,
            ("publish", "shop.paid", "--payload", '{"order_id": "o9", "amount": 1}'),
            ("publish", "shop.paid", "--payload", '{"order_id": "o1", "amount": 1}'),
            ("cancel", "o1"),
            ("delete", "o1"),
        )
    ]
    assert told == [
        "recorded in o1 at 2\n",
        "o1 has this key already, at 2: nothing was appended\n",
        "nobody waits for it\n",
        "taken by o1\n",
        "o1 is cancelled\n",
        "o1 is deleted\n",
    ]


def test_starting_in_a_store_that_is_not_there_makes_it_and_says_so(tmp_path: Path) -> None:
    done = run("--store", tmp_path / "new.looms", *APP, "start", "shop.order", "--input", '{"order_id": "o1"}')
    assert done.returncode == 0
    assert "is a new store" in done.stderr


@pytest.mark.parametrize(
    ("definition", "input"),
    [("shop.odrer", '{"order_id": "o1"}'), ("shop.order", '{"order_id": 1}'), ("shop.order", "{")],
)
def test_a_start_that_is_refused_makes_no_store(tmp_path: Path, definition: str, input: str) -> None:
    done = run("--store", tmp_path / "typo.looms", *APP, "start", definition, "--input", input)
    assert done.returncode in (1, 2)
    assert "looms: " in done.stderr
    assert not (tmp_path / "typo.looms").exists()
