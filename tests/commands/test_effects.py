"""`looms effects`: what was asked for and has no outcome yet."""

from pathlib import Path

import anyio
import msgspec
import pytest

import looms
from looms import OutstandingEffect, Reader
from looms.commands import effects
from looms.commands.plain import plain
from tests.commands.command import lines, run
from tests.commands.shop import Pack, modules, parcel
from tests.commands.test_tables import printed

APP = ("--app", "shop:modules")
SAYS = {"run_id": "p1", "effect_id": "p1:1:0", "effect": "shop.pack", "attempts": 0, "running": False, "held": False}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with two parcels that nobody has packed: no host has run yet."""
    path = tmp_path / "orders.looms"
    for name in ("p1", "p2"):
        started = run("--store", path, *APP, "start", "shop.parcel", "--run-id", name, "--input", '{"order_id": "o"}')
        assert started.returncode == 0, started.stderr
    return path


def test_effects_are_the_apis_effects(store: Path) -> None:
    async def read() -> list[object]:
        async with Reader(store) as reader:
            return [plain(effect) async for effect in reader.effects()]

    told = lines("--store", store, "effects")
    assert told == anyio.run(read)
    assert [effect["run_id"] for effect in told] == ["p1", "p2"]
    assert told[0].items() >= SAYS.items()
    assert lines("--store", store, "effects", "p2") == told[1:]


def test_people_see_a_table(store: Path) -> None:
    told = run("--store", store, "effects").stdout.splitlines()
    assert told[0].split("  ")[0] == "id"
    assert told[1].split() == ["p1:1:0", "shop.pack", "0", "when", "a", "host", "runs"]
    assert len(told) == 3


def test_people_are_not_told_that_something_runs_where_no_host_does(tmp_path: Path) -> None:
    row = OutstandingEffect("p1", "p1:1:0", "shop.pack", 1, True, False, 1, None, None, None)
    later = msgspec.structs.replace(row, running=False, due=1 << 45)
    held = msgspec.structs.replace(later, held=True)

    def told(one: OutstandingEffect, hosted: bool) -> str:
        return printed(effects.listed([one], header=False, hosted=hosted), width=80)[0].split("1  ")[-1]

    assert [told(row, hosted) for hosted in (True, False)] == ["running", "when a host runs"]
    for one in (later, held):
        assert told(one, True) == told(one, False) != "when a host runs"


def test_an_effect_that_is_settled_is_no_longer_there(store: Path) -> None:
    run("--store", store, *APP, "settle", "p1:1:0", "shop.packed", "--payload", '{"parcel": "by hand"}')
    assert [effect["run_id"] for effect in lines("--store", store, "effects")] == ["p2"]
    assert run("--store", store, "effects", "p1").stdout == "It has no effects outstanding.\n"


def test_it_works_beside_a_host_and_without_the_application(store: Path) -> None:
    with looms.open(store, modules=modules) as runtime:
        runtime.start(parcel, Pack("o3"), run_id="p3").result(timeout=30)
        for name in ("p1", "p2"):
            runtime.run(name).result(timeout=30)
        assert run("--store", store, "effects").stdout == "No effects are outstanding.\n"


def test_a_run_that_there_is_not_is_told(store: Path) -> None:
    refused = run("--store", store, "effects", "nobody")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "no run 'nobody'" in refused.stderr


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["runs", "--status", "faild"], "'faild'; give one of running, waiting, suspended, completed, failed"),
        (["runs", "--status", "faild"], "did you mean 'failed'?"),
        (["start", "shop.parcel", "--exists", "maybe"], "'maybe'; give one of error, return"),
    ],
)
def test_a_word_that_cannot_be_is_refused_with_those_that_can(store: Path, command: list[str], message: str) -> None:
    refused = run("--store", store, *APP, *command)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert message in refused.stderr


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["events", "p1", "--type", "looms.stared"], "did you mean 'looms.started'?"),
        (["events", "p1", "--type", "shop.noteed", *APP], "did you mean 'shop.noted'?"),
        (["runs", "--definition", "shop.parcels"], "did you mean 'shop.parcel'?"),
        (["runs", "--definition", "shop.ordre", *APP], "did you mean 'shop.order'?"),
    ],
)
def test_a_name_that_nothing_has_is_told_with_the_closest(store: Path, command: list[str], message: str) -> None:
    assert message in run("--store", store, *command).stdout
