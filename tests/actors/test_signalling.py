"""What runs send each other arrives once, in order, or comes back; and of two endings of a run one counts."""

from pathlib import Path
from typing import Any

import anyio
import pytest

from looms import ReducerError, Run, RunCancelled, RunFinished, RunSuspended, Runtime, UnknownRun
from looms.testing import TestClock, runtime
from tests.actors.desk import log, types
from tests.actors.rows import owned, rows
from tests.actors.scripts import Answered, Do, Told, answers, play, player

MODULES = [play]


async def test_a_signal_to_a_run_that_is_not_there_comes_back_to_the_thread_that_sent_it() -> None:
    async with runtime(MODULES) as rt:
        child = Do(signals=(("nobody", "a"),), wait_for=(answers(),))
        run = await rt.start(player, Do(signals=(("no one", "b"),), spawns=(("c", child),)), run_id="r")
        await rt.clock.advance(0)
        threads = (await run.inspect()).threads
        assert [(name, [*what[:2]]) for name, what, _ in threads["root"].state.seen] == [
            ("SignalFailed", ["no one", "play.answered"])
        ]
        assert [(name, [*what[:2]]) for name, what, _ in threads["root/c"].state.seen] == [
            ("SignalFailed", ["nobody", "play.answered"])
        ]
        assert "no run" in threads["root"].state.seen[0][1][2]
        assert owned(rt) == {"waits": 1, "shapes": 1}


@pytest.mark.parametrize("end", ["complete", "fail", "cancel", "delete"])
async def test_a_signal_to_a_run_that_is_over_comes_back(end: str) -> None:
    async with runtime(MODULES) as rt:
        over = await rt.start(player, Do(), run_id="over")
        if end in ("cancel", "delete"):
            await over.cancel()
        else:
            await over.signal(Told(what=Do(ends=end)))
        if end == "delete":
            await over.delete()
        before = None if end == "delete" else await log(over)
        run = await rt.start(player, Do(signals=(("over", "a"), ("over", "b"))), run_id="r")
        await rt.clock.advance(0)
        assert [(name, what[:2]) for name, what, _ in (await run.state()).seen] == [
            ("SignalFailed", ["over", "play.answered"])
        ] * 2
        if before is not None:
            assert await log(over) == before
        assert owned(rt) == {}


async def test_signals_to_a_run_arrive_in_the_order_in_which_they_were_sent(path: Path, clock: TestClock) -> None:
    async with runtime(MODULES, path, clock, max_resident=1) as rt:
        target = await rt.start(player, Do(), run_id="t")
        sender = await rt.start(player, Do(), run_id="s")
        for n in range(10):
            await sender.signal(Told(what=Do(signals=(("t", f"{n}a"), ("t", f"{n}b")))))
        await clock.advance(0)
        expected = [f"{n}{half}" for n in range(10) for half in "ab"]
        assert [what for _, what, _ in (await target.state()).seen] == expected


async def test_a_run_may_signal_itself() -> None:
    async with runtime(MODULES) as rt:
        run = await rt.start(player, Do(signals=(("r", "a"),)), run_id="r")
        await rt.clock.advance(0)
        assert (await run.state()).seen == (("Answered", "a", None),)
        assert (await log(run))[-1].sender == ("r", 1)


async def test_runs_that_answer_each_other_for_ever_hold_up_nobody(path: Path, clock: TestClock) -> None:
    reduce = player.function

    def echoing(state: Any, event: Any, ctx: Any) -> Any:
        if isinstance(event, Answered) and ctx.run_id in ("ping", "pong"):
            other = "pong" if ctx.run_id == "ping" else "ping"
            return reduce(state, Told(what=Do(signals=((other, "a"),))), ctx)
        return reduce(state, event, ctx)

    player.function = echoing
    try:
        async with Runtime(path, modules=MODULES, clock=clock) as rt:
            for name in ("ping", "pong"):
                await rt.start(player, Do(), run_id=name)
            other = await rt.start(player, Do(), run_id="other")
            await rt.run("ping").signal(Answered(about="a"))
            for n in range(50):
                with anyio.fail_after(10):
                    await other.signal(Answered(about=str(n)))
            assert len((await other.state()).seen) == 50
            await rt.run("ping").cancel()
    finally:
        player.function = reduce


# To a run that is suspended


def failing_on_timeouts() -> Any:
    reduce = player.function

    def raising(state: Any, event: Any, ctx: Any) -> Any:
        if type(event).__name__ == "TimedOut":
            raise LookupError("not yet")
        return reduce(state, event, ctx)

    player.function = raising
    return reduce


async def suspended(rt: Any) -> Run[Any, Any]:
    """A run that is suspended; `failing_on_timeouts` was called before."""
    run: Run[Any, Any] = await rt.start(player, Do(sleeps=(("nap", 1),)), run_id="r")
    await rt.clock.advance(1)
    assert (await run.inspect()).status == "suspended"
    return run


async def test_what_other_runs_send_to_a_suspended_run_waits_in_order_and_callers_are_refused(
    path: Path, clock: TestClock
) -> None:
    reduce = failing_on_timeouts()
    try:
        async with runtime(MODULES, path, clock) as rt:
            run = await suspended(rt)
            sender = await rt.start(player, Do(), run_id="s")
            for n in range(3):
                await sender.signal(Told(what=Do(signals=(("r", f"{n}a"), ("r", f"{n}b")))))
                with pytest.raises(RunSuspended, match="LookupError: not yet"):
                    await run.signal(Answered(about="from outside"), key=f"k{n}")
            await clock.advance(0)
            assert await types(run) == ["looms.started"]
            with pytest.raises(RunSuspended):
                await run.result(timeout=0)
            assert (await sender.state()).seen == ()
    finally:
        player.function = reduce
    async with runtime(MODULES, path, clock, snapshot_every=1) as rt:
        run = rt.run("r")
        assert [summary.status async for summary in rt.runs(definition=player)] == ["suspended", "waiting"]
        await run.resume()
        expected = [f"{n}{half}" for n in range(3) for half in "ab"]
        assert [what for _, what, _ in (await run.state()).seen] == ["nap", *expected]
        assert (await run.signal(Answered(about="from outside"), key="k0")).duplicate is False
        assert owned(rt) == {}


async def test_a_run_that_fails_again_when_it_is_resumed_is_suspended_again() -> None:
    reduce = failing_on_timeouts()
    try:
        async with runtime(MODULES) as rt:
            run = await suspended(rt)
            before = await log(run)
            for _ in range(3):
                await run.resume()
                assert (await run.inspect()).status == "suspended"
            assert await log(run) == before
            player.function = reduce
            await run.resume()
            assert (await run.inspect()).status == "waiting"
            await run.resume()
            assert (await run.state()).seen == (("TimedOut", "nap", None),)
    finally:
        player.function = reduce


async def test_what_waited_for_a_suspended_run_comes_back_to_its_senders_when_the_run_is_cancelled() -> None:
    reduce = failing_on_timeouts()
    try:
        async with runtime(MODULES) as rt:
            run = await suspended(rt)
            sender = await rt.start(player, Do(signals=(("r", "a"),)), run_id="s")
            await rt.clock.advance(0)
            assert (await sender.state()).seen == ()
            await run.cancel("no use")
            await rt.clock.advance(0)
            assert (await run.inspect()).status == "cancelled"
            assert [name for name, _, _ in (await sender.state()).seen] == ["SignalFailed"]
            assert owned(rt) == {}
    finally:
        player.function = reduce


async def test_what_waited_for_room_comes_back_to_its_senders_when_the_run_is_over() -> None:
    async with runtime(MODULES, max_mailbox=1) as rt:
        run = await rt.start(player, Do(wait_for=(answers("other"),)), run_id="r")
        sender = await rt.start(player, Do(signals=(("r", "a"), ("r", "b"), ("r", "c"))), run_id="s")
        await rt.clock.advance(0)
        assert [record.payload["about"] for record in (await run.inspect()).mailbox] == ["a"]
        assert owned(rt) == {"waits": 1, "shapes": 1, "inbox": 2}
        await run.signal(Told(what=Do(ends="complete")))
        await rt.clock.advance(0)
        assert [name for name, _, _ in (await sender.state()).seen] == ["SignalFailed", "SignalFailed"]
        assert owned(rt) == {}


async def test_a_suspended_run_may_be_cancelled_and_deleted_and_leaves_nothing() -> None:
    reduce = failing_on_timeouts()
    try:
        async with runtime(MODULES) as rt:
            run = await suspended(rt)
            await run.cancel()
            await run.delete()
            await rt.clock.advance(0)
            assert rows(rt) == {}
            with pytest.raises(UnknownRun):
                await run.resume()
    finally:
        player.function = reduce


async def test_an_order_to_resume_a_run_that_is_not_suspended_changes_nothing() -> None:
    async with runtime(MODULES) as rt:
        run = await rt.start(player, Do())
        before = await log(run)
        await run.resume()
        await run.signal(Told(what=Do(ends="complete")))
        await run.resume()
        assert len(await log(run)) == len(before) + 1


# One ending


@pytest.mark.parametrize("first", ["cancel", "complete"])
async def test_of_a_cancellation_and_an_end_one_counts_and_the_other_is_told(first: str) -> None:
    async with runtime(MODULES) as rt:
        for n in range(20):
            run = await rt.start(player, Do(), run_id=f"r{n}")
            outcomes: dict[str, str] = {}

            async def attempt(what: str, run: Run[Any, Any] = run, outcomes: dict[str, str] = outcomes) -> None:
                try:
                    if what == "cancel":
                        await run.cancel("enough")
                    else:
                        await run.signal(Told(what=Do(ends="complete")))
                    outcomes[what] = "done"
                except RunFinished:
                    outcomes[what] = "refused"

            async with anyio.create_task_group() as tasks:
                for what in (first, "complete" if first == "cancel" else "cancel"):
                    tasks.start_soon(attempt, what)
            assert sorted(outcomes.values()) == ["done", "refused"]
            status = "cancelled" if outcomes["cancel"] == "done" else "completed"
            assert (await run.inspect()).status == status
            if status == "cancelled":
                with pytest.raises(RunCancelled, match="enough"):
                    await run.result()
                assert await types(run) == ["looms.started", "looms.cancelled"]
            else:
                assert await run.result() is None
                assert await types(run) == ["looms.started", "play.told"]
            before = await log(run)
            await rt.clock.advance(100)
            assert await log(run) == before
        assert {summary.status async for summary in rt.runs()} <= {"cancelled", "completed"}


async def test_a_parent_and_the_log_agree_how_a_child_ended() -> None:
    async with runtime(MODULES) as rt:
        child = Do(wait_for=(answers("a"),))
        run = await rt.start(player, Do(spawns=(("c", child),)))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run.signal, Told(what=Do(cancels=("c",))))
            tasks.start_soon(run.signal, Answered(about="a"))
        told = [(name, what) for name, what, _ in (await run.state()).seen if name.startswith("Child")]
        assert told == [("ChildCancelled", "root/c")]
        assert [record.type for record in await log(run) if record.type.startswith("looms.child")] == [
            "looms.child_cancelled"
        ]


async def test_an_event_that_code_refuses_leaves_no_trace_whoever_is_beside_it() -> None:
    async with runtime(MODULES) as rt:
        run = await rt.start(player, Do(), run_id="r")
        good: list[int | None] = []

        async def send(n: int) -> None:
            if n % 3 == 0:
                with pytest.raises(ReducerError) as refused:
                    await run.signal(Answered(about=str(n)), Told(what=Do(fails=True)), key=f"k{n}")
                assert (refused.value.run_id, refused.value.type) == ("r", "play.told")
                assert isinstance(refused.value.__cause__, LookupError)
            else:
                good.append((await run.signal(Answered(about=str(n)), key=f"k{n}")).seq)

        async with anyio.create_task_group() as tasks:
            for n in range(60):
                tasks.start_soon(send, n)
        records = await log(run)
        assert [record.seq for record in records] == list(range(1, 42))
        assert sorted(seq for seq in good if seq) == list(range(2, 42))
        assert rows(rt) == {"keys": 40}
