"""The demo shows what Looms promises, on whatever it prints to, and tells when it is not so."""

import json
import shlex
from pathlib import Path
from typing import Any

import anyio
import pytest

from looms.demo.bank import Bank
from looms.demo.order import Approved, Charge, Charged, Item, Order, PlaceOrder, Rejected, order, shipment
from looms.demo.story import NotAsPromised, story
from looms.reducers.instructions import Step, complete, fail
from looms.reducers.lifecycle import ChildCompleted, Started, TimedOut
from tests.commands.command import run

STEPS = ["placed", "killed", "recovered", "parked", "approved", "shipped", "replayed", "snapshots", "done"]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    done = run("demo", "--json", "--keep", tmp_path_factory.mktemp("demo") / "kept")
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_each_step_is_a_line_of_json(told: list[Any]) -> None:
    assert [step["step"] for step in told] == STEPS
    assert told[-1]["seconds"] < 30


def test_the_bank_was_asked_three_times_under_one_id_and_charged_once(told: list[Any]) -> None:
    (recovered,) = [step["shown"] for step in told if step["step"] == "recovered"]
    calls = recovered["the bank's books"]
    assert [call["did"] for call in calls] == ["was busy", "charged", "had charged before"]
    assert {call["key"] for call in calls} == {"order-1001:1:0"}
    assert [record["type"] for record in recovered["the log"]] == [
        "looms.started",
        "payments.charged",
    ]


def test_the_commands_that_it_names_can_be_run(told: list[Any]) -> None:
    for command in told[-1]["next"]:
        program, *args = shlex.split(command)
        assert program == "looms"
        done = run(*args)
        assert done.returncode == 0, done.stderr
        assert done.stdout


def test_for_people_it_is_plain_text_in_a_pipe(tmp_path: Path) -> None:
    done = run("demo", COLUMNS="80", TMPDIR=str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    for number in range(1, len(STEPS)):
        assert f"{number}. " in done.stdout
    (kept,) = tmp_path.glob("looms-demo-*")
    assert f"--store {kept}/orders.looms --app looms.demo:modules show order-1001\n" in done.stdout


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    done = run("demo", "--keep", tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "not empty" in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["mine"]


@pytest.fixture
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bank that takes each attempt for a new one."""

    async def charge(self: Bank, cents: int, *, idempotency_key: str) -> str:
        return await honest(self, cents, idempotency_key=f"{idempotency_key} again {len(self.calls())}")

    honest = Bank.charge
    monkeypatch.setattr(Bank, "charge", charge)
    monkeypatch.setenv("LOOMS_DEMO_BANK", "")


def test_what_is_not_as_promised_is_an_error(tmp_path: Path, forgetful: None) -> None:
    with pytest.raises(NotAsPromised):
        anyio.run(story, tmp_path, lambda step: None)


def test_its_order_can_be_tested_by_calling_it() -> None:
    """What a user's unit test of a reducer looks like: no runtime, no store."""
    items = (Item(name="warp", cents=700), Item(name="weft", cents=300))
    placed = order(Order(), Started(input=PlaceOrder(order_id="o1", items=items)))
    assert isinstance(placed, Step)
    assert placed.instructions[0].effect == "payments.charge"  # type: ignore[union-attr]
    assert placed.instructions[0].request == Charge(order_id="o1", cents=1_000)  # type: ignore[union-attr]

    charged = order(placed.state, Charged(order_id="o1", receipt="r1"))
    assert isinstance(charged, Step)
    assert (charged.state.status, charged.state.receipt) == ("charged", "r1")

    rejected = order(charged.state, Rejected(order_id="o1", reason="too dear"))
    assert isinstance(rejected, Step)
    assert rejected.instructions == (fail("too dear"),)
    expired = order(charged.state, TimedOut(wait="approval"))
    assert isinstance(expired, Step)
    assert expired.instructions == (fail("nobody approved within 2 days"),)

    approved = order(charged.state, Approved(order_id="o1", by="Ada"))
    assert isinstance(approved, Step)
    assert approved.instructions[0].definition == shipment.name  # type: ignore[union-attr]
    shipped = order(approved.state, ChildCompleted(thread="root/shipment", output="parcel"))
    assert isinstance(shipped, Step)
    assert shipped.instructions == (complete({"receipt": "r1", "tracking": "parcel"}),)
