"""Many at once: each gets its own answer, nobody holds up the event loop, and whoever gives up leaves things whole."""

import random
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from looms import Receipt, Run, RunExists, Runtime
from looms.testing import TestClock, runtime
from tests.actors.rows import owned
from tests.actors.scripts import Answered, Do, Told, answers, play, player
from tests.looms.shop import MODULES, OPEN, Paid, calls, ledger, log, till


async def test_with_room_for_one_run_in_memory_many_work_all_the_same(path: Path, clock: TestClock) -> None:
    asked = Do(wait_for=(answers("a", id="a", timeout=60),), sleeps=(("nap", 30),))
    async with runtime([play], path, clock, max_resident=1, snapshot_every=2) as rt:
        runs = [await rt.start(player, asked, run_id=f"r{n}") for n in range(60)]
        assert len(rt.host.cells) == 1
        async with anyio.create_task_group() as tasks:
            for n, run in enumerate(runs):
                tasks.start_soon(run.signal, Told(what=Do(signals=((f"r{(n + 1) % 60}", "b"),))))
        await clock.advance(30)
        assert len(rt.host.cells) == 1
        assert sorted((await rt.publish(Answered(about="a"))).runs) == sorted(run.id for run in runs)
        for run in runs:
            assert (await run.state()).seen == (("TimedOut", "nap", None), ("Answered", "a", "a"))
            assert [record.payload["about"] for record in (await run.inspect()).mailbox] == ["b"]
        assert len(rt.host.cells) == 1
        assert owned(rt) == {}


async def test_with_room_for_few_runs_concurrent_signals_are_each_counted_once(path: Path, clock: TestClock) -> None:
    async with runtime(MODULES, path, clock, max_resident=2, snapshot_every=3) as rt:
        runs = [await rt.start(till, OPEN) for _ in range(20)]
        receipts: dict[str, list[Receipt]] = {run.id: [] for run in runs}

        async def pay(run: Run[Any, Any]) -> None:
            receipts[run.id].append(await run.signal(Paid()))

        async with anyio.create_task_group() as tasks:
            for _ in range(20):
                for run in runs:
                    tasks.start_soon(pay, run)
        for run in runs:
            assert sorted(receipt.seq or 0 for receipt in receipts[run.id]) == list(range(2, 22))
            assert (await run.state()).payments == 20
        assert len(rt.host.cells) <= 2


async def test_of_many_starts_under_one_id_one_is_the_run_and_is_unharmed() -> None:
    async with runtime(MODULES) as rt:
        outcomes: list[str] = []

        async def start(n: int) -> None:
            try:
                run = await rt.start(till, OPEN, run_id="t1")
                outcomes.append("started")
                await run.signal(Paid(amount=100))
            except RunExists as error:
                outcomes.append(str(error))
            assert (await rt.start(till, OPEN, run_id="t1", exists="return")).id == "t1"

        async with anyio.create_task_group() as tasks:
            for n in range(50):
                tasks.start_soon(start, n)
        assert outcomes.count("started") == 1
        assert sum("a shop.till" in outcome for outcome in outcomes) == 49
        assert (await rt.run("t1").state()).total == 100
        assert [summary.seq async for summary in rt.runs()] == [2]


# Given up


@pytest.mark.parametrize("seed", range(3))
async def test_callers_that_give_up_leave_a_store_that_is_whole(path: Path, clock: TestClock, seed: int) -> None:
    chance = random.Random(seed)
    acknowledged = 0
    async with runtime(MODULES, path, clock, snapshot_every=7) as rt:
        runs = [await rt.start(till, OPEN, run_id=f"t{n}") for n in range(3)]

        async def pay(n: int) -> None:
            nonlocal acknowledged
            run = runs[n % 3]
            with anyio.CancelScope() as scope:
                if chance.random() < 0.5:
                    tasks.start_soon(give_up, scope, chance.randrange(6))
                await run.signal(Paid(), key=f"k{n}")
                acknowledged += 1

        async def give_up(scope: anyio.CancelScope, after: int) -> None:
            for _ in range(after):
                await anyio.lowlevel.checkpoint()
            scope.cancel()

        async with anyio.create_task_group() as tasks:
            for n in range(300):
                tasks.start_soon(pay, n)
                if chance.random() < 0.2:
                    await anyio.lowlevel.checkpoint()
        await clock.advance(0)
        recorded = sum([(await run.state()).payments for run in runs])
        assert acknowledged <= recorded <= 300
        for run in runs:
            records = await log(run)
            assert [record.seq for record in records] == list(range(1, len(records) + 1))
            keys = [record.key for record in records[1:]]
            assert len(set(keys)) == len(keys)
            assert (await run.replay_to(len(records))).after == await run.inspect()
        # Whoever tries again, with the same key, is counted once.
        for n in range(300):
            await runs[n % 3].signal(Paid(), key=f"k{n}")
        assert sum([(await run.state()).payments for run in runs]) == 300
    async with runtime(MODULES, path, clock) as rt:
        assert sum([(await rt.run(f"t{n}").state()).payments for n in range(3)]) == 300


async def test_every_call_may_be_given_up_at_once() -> None:
    async with runtime(MODULES) as rt:
        run = await rt.start(till, OPEN, run_id="t1")
        for name, call in every_call(rt).items():
            with anyio.CancelScope() as scope:
                scope.cancel()
                await call()
            assert scope.cancelled_caught, f"{name} did not let others have a turn"
        await rt.clock.advance(0)
        assert (await run.signal(Paid())).seq is not None
        records = await log(run)
        assert [record.seq for record in records] == list(range(1, len(records) + 1))


def every_call(rt: Runtime) -> dict[str, Callable[[], Awaitable[Any]]]:
    run = rt.run("t1")

    async def all_of(items: Any) -> list[Any]:
        return [item async for item in items]

    return {
        "signal": lambda: run.signal(Paid()),
        "publish": lambda: rt.publish(Paid()),
        "start": lambda: rt.start(till, OPEN, run_id="t1", exists="return"),
        "inspect": run.inspect,
        "state": run.state,
        "replay_to": lambda: run.replay_to(1),
        "project": lambda: run.project(ledger),
        "events": lambda: all_of(run.events()),
        "no events": lambda: all_of(run.events(after=10_000)),
        "snapshots": lambda: all_of(run.snapshots()),
        "runs": lambda: all_of(rt.runs()),
        "no runs": lambda: all_of(rt.runs(status="failed")),
        "commits": lambda: all_of(rt.commits()),
        "no commits": lambda: all_of(rt.commits(after=10_000)),
        "resume": run.resume,
        "result": lambda: run.result(timeout=5),
    }


async def test_every_call_in_a_loop_lets_others_have_their_turn() -> None:
    async with runtime(MODULES) as rt:
        await rt.start(till, OPEN, run_id="t1")
        turns = 0

        async def others() -> None:
            nonlocal turns
            while True:
                turns += 1
                await anyio.lowlevel.checkpoint()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(others)
            for name, call in every_call(rt).items():
                if name == "result":
                    continue
                before = turns
                for _ in range(10):
                    await call()
                assert turns - before >= 9, f"{name} did not let others have a turn"
            await rt.run("t1").cancel()
            before = turns
            for _ in range(10):
                with pytest.raises(Exception, match="cancelled"):
                    await rt.run("t1").result()
            assert turns - before >= 9
            tasks.cancel_scope.cancel()


# Growth


async def test_the_last_of_many_signals_costs_no_more_than_the_first(path: Path, clock: TestClock) -> None:
    async with runtime(MODULES, path, clock, durability="relaxed") as rt:
        run = await rt.start(till, OPEN, run_id="t1")

        async def cost(signals: int) -> int:
            before = len(calls)
            for _ in range(signals):
                await run.signal(Paid())
            return len(calls) - before

        first = await cost(100)
        for _ in range(50):
            await run.signal(*(Paid() for _ in range(200)))
        assert first == await cost(100) == 100
    async with runtime(MODULES, path, clock, max_resident=1) as rt:
        run, other = rt.run("t1"), await rt.start(till, OPEN)
        for _ in range(5):
            await other.signal(Paid())
            before = len(calls)
            await run.signal(Paid())
            assert len(calls) - before <= 257


async def test_an_old_state_is_shown_without_folding_all_that_was_before(path: Path, clock: TestClock) -> None:
    async with runtime(MODULES, path, clock, durability="relaxed", snapshot_every=64) as rt:
        run = await rt.start(till, OPEN, run_id="t1")
        for _ in range(100):
            await run.signal(*(Paid() for _ in range(50)))
        for seq in (2, 63, 64, 65, 2_500, 4_999, 5_001):
            before = len(calls)
            replay = await run.replay_to(seq)
            assert replay.after.state.payments == seq - 1
            assert len(calls) - before <= 64 + 50
