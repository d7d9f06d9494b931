"""Joint turns: a function in a commit changes several runs, or none; who raises, or is gone, harms nobody else."""

from pathlib import Path
from typing import Any

import anyio
import pytest

from looms import Event, Module, Reduced, RunExists, Runtime, Started, State
from looms.actors.joint import Joint
from looms.actors.letters import letter_of
from looms.actors.service import Service
from looms.reducers.items import Delivery
from looms.testing import runtime

pytestmark = pytest.mark.anyio

bank = Module("bank")


@bank.event("moved")
class Moved(Event):
    cents: int


class Account(State):
    cents: int = 0


@bank.reducer("account", state=Account)
def account(state: Account, event: Started[int] | Moved) -> Reduced[Account]:
    if isinstance(event, Started):
        return Account(event.input)
    if state.cents + event.cents < 0:
        raise ValueError("there is not so much")
    return Account(state.cents + event.cents)


def moves(rt: Runtime, run_id: str, cents: int) -> Any:
    """Let an account take a movement."""

    def move(joint: Joint) -> None:
        cell = joint.cell(run_id)
        assert cell is not None
        joint.take(cell, Delivery((letter_of(Moved(cents), rt.code),), to_caller=True))

    return move


async def cents(rt: Runtime) -> dict[str, int]:
    return {name: (await rt.run(name).state()).cents for name in ("a", "b")}


async def accounts(rt: Runtime) -> None:
    for name in ("a", "b"):
        await rt.start(account, 10, run_id=name)


async def test_all_of_it_is_in_one_commit_and_it_sees_what_it_has_done() -> None:
    async with runtime([bank]) as rt:
        await accounts(rt)
        before = [commit.number async for commit in rt.commits()][-1]

        def transfer(joint: Joint) -> list[int]:
            moves(rt, "a", -4)(joint)
            moves(rt, "b", 4)(joint)
            cells = [joint.cell(name) for name in ("a", "b")]
            return [cell.run.root.state.cents for cell in cells if cell is not None]

        assert await Service(rt.host).joint(transfer).call.result() == [6, 14]
        [commit] = [commit async for commit in rt.commits(after=before)]
        assert {turn.run_id for turn in commit.turns} == {"a", "b"}


async def test_what_raises_midway_changes_nothing_and_the_others_in_its_group_go_on(path: Path) -> None:
    async with runtime([bank], path=path) as rt:
        await accounts(rt)
        outcomes: list[Any] = []

        def too_much(joint: Joint) -> None:
            moves(rt, "a", 4)(joint)
            moves(rt, "b", -40)(joint)

        def spoilt(joint: Joint) -> None:
            moves(rt, "a", 4)(joint)
            raise ZeroDivisionError

        def spoilt_at_once(joint: Joint) -> None:
            raise GeneratorExit("whatever it is")

        async def asks(do: Any) -> None:
            try:
                await Service(rt.host).joint(do).call.result()
                outcomes.append("done")
            except BaseException as error:  # noqa: BLE001 - that is what is looked at
                outcomes.append(type(error).__name__)

        async with anyio.create_task_group() as tasks:
            for do in (moves(rt, "a", 1), too_much, moves(rt, "b", 2), spoilt, spoilt_at_once, moves(rt, "a", 1)):
                tasks.start_soon(asks, do)
            tasks.start_soon(rt.run("b").signal, Moved(3))
        assert sorted(outcomes) == ["GeneratorExit", "ReducerError", "ZeroDivisionError", *["done"] * 3]
        assert await cents(rt) == {"a": 12, "b": 15}
    async with runtime([bank], path=path) as rt:
        assert await cents(rt) == {"a": 12, "b": 15}


async def test_it_begins_runs_and_what_begins_in_vain_is_not_there() -> None:
    async with runtime([bank]) as rt:
        await accounts(rt)

        def begin(joint: Joint) -> str:
            cell = joint.begin(account.name, "c", account.pack_input(5)[0])
            joint.take(cell, Delivery((letter_of(Moved(1), rt.code),), to_caller=True))
            return cell.run.run_id

        def in_vain(joint: Joint) -> None:
            joint.begin(account.name, "d", account.pack_input(5)[0])
            moves(rt, "a", -40)(joint)

        assert await Service(rt.host).joint(begin).call.result() == "c"
        with pytest.raises(Exception, match="there is not so much"):
            await Service(rt.host).joint(in_vain).call.result()
        assert [run.run_id async for run in rt.runs()] == ["a", "b", "c"]
        assert (await rt.run("c").state()).cents == 6
        await rt.start(account, 1, run_id="d")
        with pytest.raises(RunExists):
            await rt.start(account, 1, run_id="c")


async def test_nothing_is_done_for_whoever_is_gone_before_its_turn() -> None:
    async with runtime([bank]) as rt:
        await accounts(rt)
        turn = Service(rt.host).joint(moves(rt, "a", 1))
        turn.call.unheard = True  # as who waits for it says when he is cancelled
        await rt.host.committer.until_idle()
        assert await cents(rt) == {"a": 10, "b": 10}
