"""Whoever waits for something is woken when it comes: nothing between the look and the wait is lost, nobody polls."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from looms import (
    Commit,
    InvalidInput,
    LoomsError,
    Module,
    Reader,
    Record,
    Reduced,
    Run,
    RunCancelled,
    RunFailed,
    RunSuspended,
    Runtime,
    Started,
    State,
    TimedOut,
    UnknownRun,
    sleep,
    step,
)
from looms.actors.followers import Followers, NextCommit
from looms.snapshots.view import View
from looms.testing import TestClock, runtime
from tests.actors.scripts import Do, Told, play, player
from tests.looms.shop import MODULES, OPEN, Closed, Paid, log, order, tell, till

SOON = 20  # seconds, for what should take a few milliseconds on a busy machine


class CountingRuntime(Runtime):
    looks = 0

    def view(self) -> View:
        self.looks += 1
        return super().view()


class CountingReader(Reader):
    looks = 0

    def view(self) -> View:
        self.looks += 1
        return super().view()


async def test_a_log_is_followed_to_the_end_of_its_run() -> None:
    seen: list[Record] = []
    async with runtime(MODULES) as rt:
        run = await rt.start(till, OPEN)
        with anyio.fail_after(SOON):
            async with anyio.create_task_group() as tasks:
                for _ in range(3):
                    tasks.start_soon(tell, run.events(after=1, follow=True), seen.append)
                await run.signal(Paid(), Paid())
                await run.signal(Paid())
                await run.signal(Closed())
        assert sorted(record.seq for record in seen) == sorted([2, 3, 4, 5] * 3)
        assert [record.seq async for record in run.events(after=4, follow=True)] == [5]
        assert [record.seq async for record in run.events(after=5, follow=True)] == []


@pytest.mark.parametrize("end", ["cancelled", "failed"])
async def test_whoever_follows_hears_of_every_end(end: str) -> None:
    seen: list[Record] = []
    async with runtime([play]) as rt:
        run = await rt.start(player, Do())
        with anyio.fail_after(SOON):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(tell, run.events(follow=True), seen.append)
                await anyio.wait_all_tasks_blocked()
                await (run.cancel() if end == "cancelled" else run.signal(Told(what=Do(ends="fail"))))
        last = "looms.cancelled" if end == "cancelled" else "play.told"
        assert [record.type for record in seen] == ["looms.started", last]
        await run.delete()
        with pytest.raises(UnknownRun):
            await anext(run.events(after=2, follow=True))


async def test_a_run_that_took_the_id_of_the_one_that_is_followed_is_another_one() -> None:
    async with runtime([play]) as rt:
        run = await rt.start(player, Do(), run_id="r")
        events = run.events(follow=True)
        assert (await anext(events)).seq == 1
        await run.cancel()
        await run.delete()
        await rt.start(player, Do(ends="complete"), run_id="r")
        with pytest.raises(UnknownRun):
            await anext(events)


async def test_a_suspended_run_is_followed_until_it_is_over(path: Path, clock: TestClock) -> None:
    seen: list[Record] = []
    async with runtime([play], path, clock) as rt:
        run = await rt.start(player, Do(sleeps=(("nap", 1),)), run_id="r")
        reduce = player.function

        def raising(state: Any, event: Any, ctx: Any) -> Any:
            raise LookupError("not yet")

        with anyio.fail_after(SOON):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(tell, run.events(follow=True), seen.append)
                player.function = raising
                try:
                    await clock.advance(1)
                finally:
                    player.function = reduce
                with pytest.raises(RunSuspended):
                    await run.result()
                await run.resume()
                await run.signal(Told(what=Do(ends="complete")))
        assert [record.type for record in seen] == ["looms.started", "looms.timed_out", "play.told"]


async def test_a_part_of_a_log_is_read_and_bounds_that_are_none_are_refused() -> None:
    async with runtime(MODULES) as rt:
        run = await rt.start(till, OPEN)
        await run.signal(*(Paid() for _ in range(600)))
        for after, to in (
            (0, 1),
            (0, 601),
            (599, 601),
            (300, 302),
            (601, None),
            (255, 257),
            (5, 5),
            (0, 10_000),
        ):
            expected = list(range(after + 1, min(to or 601, 601) + 1))
            assert [record.seq async for record in run.events(after, to=to)] == expected
            assert [record.seq async for record in run.events(after, to=min(to or 601, 601), follow=True)] == expected
        bad: Any
        for bad in (-1, 1.5, "1", True):
            with pytest.raises(InvalidInput, match="after"):
                await anext(run.events(bad))
            with pytest.raises(InvalidInput, match="to"):
                await anext(run.events(to=bad))
            with pytest.raises(InvalidInput, match="after"):
                await anext(rt.commits(after=bad))


async def test_commits_are_followed_in_order_without_gaps_and_tell_of_every_record() -> None:
    seen: list[Commit] = []

    async def follow(rt: Runtime) -> None:
        async for commit in rt.commits(follow=True):
            seen.append(commit)
            if any(turn.last >= 20 for turn in commit.turns):
                return

    async with runtime(MODULES) as rt:
        with anyio.fail_after(SOON):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(follow, rt)
                runs = [await rt.start(till, OPEN) for _ in range(3)]
                for _ in range(19):
                    for run in runs:
                        await run.signal(Paid())
        assert [commit.number for commit in seen] == list(range(1, len(seen) + 1))
        told = {
            (turn.run_id, seq) for commit in seen for turn in commit.turns for seq in range(turn.first, turn.last + 1)
        }
        assert {(runs[0].id, seq) for seq in range(1, 21)} <= told


async def test_a_follower_may_leave_and_costs_nothing_then() -> None:
    async with runtime(MODULES) as rt:
        run = await rt.start(till, OPEN)
        for _ in range(10):
            async for record in run.events(follow=True):
                if record.seq == 1:
                    break
            with anyio.move_on_after(0):
                await anext(run.events(after=100, follow=True))
            with anyio.CancelScope() as scope:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(run.result)
                    await anyio.wait_all_tasks_blocked()
                    scope.cancel()
        await run.signal(Closed())
        assert await run.result() == 0


async def test_in_ten_thousand_rounds_no_wake_up_is_lost(path: Path) -> None:
    pairs, rounds = 25, 400
    late: list[float] = []

    async def follow(run: Run[Any, Any], sent: list[float]) -> None:
        async for record in run.events(after=1, follow=True):
            if record.type == "shop.closed":
                return
            late.append(time.perf_counter() - sent[record.seq - 2])

    async def send(run: Run[Any, Any], sent: list[float]) -> None:
        for _ in range(rounds):
            await run.signal(Paid())
            sent.append(time.perf_counter())
        await run.signal(Closed())

    async def waiting(run: Run[Any, Any]) -> None:
        assert await run.result() == rounds

    with anyio.fail_after(60):
        async with Runtime(path, modules=MODULES, durability="relaxed") as rt, anyio.create_task_group() as tasks:
            for _ in range(pairs):
                run, sent = await rt.start(till, OPEN), Sent()
                for task, *arguments in ((follow, run, sent), (send, run, sent), (waiting, run)):
                    tasks.start_soon(task, *arguments)
    assert len(late) == pairs * rounds
    assert sorted(late)[len(late) // 2] < 0.1


class Sent(list[float]):
    """When each event was acknowledged; one that is seen before that is not late."""

    def __getitem__(self, at: Any) -> Any:
        return super().__getitem__(at) if at < len(self) else time.perf_counter()


async def test_two_who_answer_each_other_never_wait_for_nothing(path: Path) -> None:
    rounds = 500

    async def player_of(mine: Run[Any, Any], other: Run[Any, Any], begins: bool) -> None:
        if begins:
            await other.signal(Paid())
        async for record in mine.events(after=1, follow=True):
            await other.signal(Paid())
            if record.seq > rounds:
                return

    with anyio.fail_after(60):
        async with Runtime(path, modules=MODULES, durability="relaxed") as rt:
            a, b = [await rt.start(till, OPEN) for _ in range(2)]
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(player_of, a, b, True)
                tasks.start_soon(player_of, b, a, False)
            assert (await a.state()).payments >= rounds


async def test_results_are_told_to_all_who_wait_and_time_out_by_the_callers_clock() -> None:
    results: list[Any] = []

    async def wait_for(run: Run[Any, Any]) -> None:
        results.append(await run.result(timeout=SOON))

    async with runtime(MODULES) as rt:
        run = await rt.start(till, OPEN)
        for timeout in (0, -1, 0.01):
            with pytest.raises(TimeoutError, match=run.id):
                await run.result(timeout=timeout)
        async with anyio.create_task_group() as tasks:
            for _ in range(100):
                tasks.start_soon(wait_for, run)
            await anyio.wait_all_tasks_blocked()
            await run.signal(Paid(amount=7), Closed())
        assert results == [7] * 100
        for waited in (0, 0.01, None):
            assert await run.result(timeout=waited) == 7


async def test_a_result_says_how_else_a_run_ended() -> None:
    async with runtime([play]) as rt:
        failed = await rt.start(player, Do(ends="fail"))
        cancelled = await rt.start(player, Do())
        await cancelled.cancel("the customer left")
        with pytest.raises(RunFailed, match="as it was told") as told:
            await failed.result()
        assert told.value.reason == "as it was told"
        with pytest.raises(RunCancelled, match="the customer left") as left:
            await cancelled.result(timeout=0)
        assert left.value.reason == "the customer left"


late = Module("late")


@late.reducer("late", state=State)
def raises_when_it_is_time(state: State, event: Started[None] | TimedOut) -> Reduced[State]:
    if isinstance(event, TimedOut):
        raise RuntimeError("no time")
    return step(state, sleep(10))


async def test_whoever_waits_for_a_result_hears_of_every_way_in_which_a_run_comes_to_rest() -> None:
    heard: dict[str, str] = {}

    async def wait_for(run: Run[Any, Any], so: str) -> None:
        try:
            await run.result(timeout=SOON)
        except (LoomsError, TimeoutError) as error:
            heard[so] = type(error).__name__

    async with anyio.create_task_group() as tasks, runtime([play, late]) as rt:
        runs: dict[str, Run[Any, Any]] = {}
        for so in ("failed", "cancelled", "deleted", "closed"):
            runs[so] = await rt.start(player, Do())
        runs["suspended"] = await rt.start(raises_when_it_is_time)
        for so, run in runs.items():
            tasks.start_soon(wait_for, run, so)
        await anyio.wait_all_tasks_blocked()
        await runs["failed"].signal(Told(Do()))
        await anyio.wait_all_tasks_blocked()
        assert heard == {}
        await runs["failed"].signal(Told(Do(ends="fail")))
        await runs["cancelled"].cancel("the customer left")
        await runs["deleted"].delete(force=True)
        await rt.clock.advance(10)
        await anyio.wait_all_tasks_blocked()
        assert "closed" not in heard
    assert heard == {
        "failed": "RunFailed",
        "cancelled": "RunCancelled",
        "deleted": "UnknownRun",
        "suspended": "RunSuspended",
        "closed": "RuntimeClosed",
    }


async def test_a_commit_wakes_whoever_waits_for_its_run_and_only_the_last_one_whoever_waits_for_its_rest() -> None:
    followers = Followers()
    commit, rest = followers.next_of("a"), followers.rest_of("a")
    woken: list[str] = []

    async def wait_for(what: NextCommit, name: str) -> None:
        await what.wait()
        woken.append(name)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait_for, commit, "commit")
        tasks.start_soon(wait_for, rest, "rest")
        await anyio.wait_all_tasks_blocked()
        followers.tell(["a"])
        await anyio.wait_all_tasks_blocked()
        assert woken == ["commit"]
        followers.tell_rest(["b"])
        await anyio.wait_all_tasks_blocked()
        assert woken == ["commit"]
        followers.tell_rest(["a"])
    assert woken == ["commit", "rest"]


# Without looking


@pytest.mark.parametrize("who", ["a runtime", "a reader"])
async def test_whoever_waits_does_not_look_until_something_comes(path: Path, who: str) -> None:
    async with CountingRuntime(path, modules=MODULES) as rt:
        run = await rt.start(till, OPEN, run_id="t1")
        other = await rt.start(till, OPEN, run_id="t2")
        async with CountingReader(path, modules=MODULES) as reader:
            source = rt if who == "a runtime" else reader
            seen: list[Record] = []
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(tell, source.run("t1").events(follow=True), seen.append)
                for n in range(2, 5):
                    with anyio.fail_after(SOON):
                        while len(seen) < n - 1:  # noqa: ASYNC110 - until it has caught up
                            await anyio.sleep(0.001)
                    await anyio.sleep(0.05)
                    before = source.looks
                    await anyio.sleep(0.1)
                    assert source.looks == before
                    await other.signal(Paid())
                    if who == "a runtime":
                        await anyio.wait_all_tasks_blocked()
                        assert source.looks == before
                    await run.signal(Paid() if n < 4 else Closed())


@contextmanager
def follower(path: Path, run_id: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "tests.looms.follower", os.fspath(path), run_id]
    root = Path(__file__).parents[2]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


async def test_another_process_is_woken_and_looks_once_for_each_commit(path: Path) -> None:
    async with Runtime(path, modules=MODULES) as rt:
        run = await rt.start(till, OPEN, run_id="t1")
        with follower(path, "t1") as process:
            stdout = process.stdout
            assert stdout is not None

            async def line() -> list[str]:
                with anyio.fail_after(SOON):
                    return (await anyio.to_thread.run_sync(stdout.readline, abandon_on_cancel=True)).split()

            assert await line() == ["ready"]
            assert (await line())[:2] == ["1", "looms.started"]
            await anyio.sleep(0.1)
            looks, late = [], []
            for n in range(2, 22):
                await run.signal(Paid() if n < 21 else Closed())
                sent = time.time()
                seq, _, at, looked = await line()
                assert seq == str(n)
                late.append(float(at) - sent)
                looks.append(int(looked))
            assert await line() == ["over"]
            assert looks[-1] - looks[0] <= 3 * len(looks)
            assert sorted(late)[len(late) // 2] < 1
        assert len(await log(run)) == 21


async def test_a_reader_that_is_there_before_the_host_is_told_when_the_host_comes(path: Path) -> None:
    async with Runtime(path, modules=MODULES) as rt:
        await rt.start(order, OPEN, run_id="o1")
    seen: list[Record] = []
    with anyio.fail_after(SOON):
        async with Reader(path, modules=MODULES) as reader, anyio.create_task_group() as tasks:
            tasks.start_soon(tell, reader.run("o1").events(follow=True), seen.append)
            await anyio.wait_all_tasks_blocked()
            async with Runtime(path, modules=MODULES) as rt:
                await rt.run("o1").signal(Paid())
    assert [record.type for record in seen] == ["looms.started", "shop.paid"]
