"""A disk that refuses commits, once or for a while: whoever asked is told, nothing is half done, and what must happen
happens by itself when there is room again, once each and in its order.
"""

from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from looms import (
    StoreError,
    StoreFull,
    UnknownRun,
)
from looms.reducers.registry import Registry
from looms.reducers.views import view
from looms.snapshots import heads, removal
from looms.testing import TestClock, runtime
from looms.testing.clock import BEGIN
from looms.testing.runtimes import RuntimeOnTestClock
from tests.actors.logged import logging, said
from tests.crash.audit import audit
from tests.crash.faults import PATIENCE, Faults, full
from tests.crash.killing import check_ledger
from tests.crash.scenario import OPTIONS, REMOVED, STORY
from tests.crash.works import Asked, Mood, Trip, Word, clerk, desk, modules, noted, trip

CODE = Registry(modules)


def broken() -> StoreError:
    """What a disk says that fails otherwise."""
    return StoreError("the disk does not answer, says a test")


def unforeseen() -> Exception:
    """What nobody thinks of: here no memory."""
    return MemoryError("says a test")


async def memory_is_what_is_stored(rt: RuntimeOnTestClock) -> None:
    """Every run in memory is what its records fold to."""
    for run_id, one in audit(Path(rt.path), CODE).items():
        assert await rt.run(run_id).inspect() == view(one.run, one.suspended)


async def test_what_a_caller_is_told_is_not_told_to_the_log_too(store: Path, faults: Faults) -> None:
    with logging() as logged:
        async with runtime(modules, store) as rt:
            run = await rt.start(desk, 0, run_id="d")
            faults.refuse_all()
            with pytest.raises(StoreFull):
                await run.signal(Asked(1, "wait", "x"))
            assert said(logged, "commit failed") == []
            faults.refuse_none()
            await rt.start(desk, 0, run_id="e")
            faults.refuse(2)  # the turn of the run that is signalled: nobody waits for that
            await run.signal(Asked(2, "tell", "e"))
            await rt.clock.advance(5)
            assert [told["run_id"] for told in said(logged, "commit failed")] == ["e"]


@pytest.mark.parametrize("error", [full, broken, unforeseen])
async def test_the_caller_is_told_and_nothing_is_kept(store: Path, faults: Faults, error: Callable[[], Any]) -> None:
    async with runtime(modules, store) as rt:
        run = await rt.start(desk, 0, run_id="d")
        before = await run.inspect()
        faults.refuse_all(error)
        calls: list[Callable[[], Awaitable[Any]]] = [
            lambda: run.signal(Asked(1, "spawn", "x"), key="k"),
            lambda: run.signal(Asked(2, "invoke"), Asked(3, "wait", "x")),
            lambda: rt.start(desk, 0, run_id="e"),
            lambda: rt.publish(Word("x"), key="p", retain=5),
            lambda: run.cancel(),
        ]
        for call in calls:
            with pytest.raises(type(error()), match="says a test"):
                await call()
            assert await run.inspect() == before
            await memory_is_what_is_stored(rt)
        faults.refuse_none()
        receipt = await run.signal(Asked(1, "spawn", "x"), key="k")
        assert (receipt.seq, receipt.duplicate) == (2, False)
        assert (await rt.publish(Word("x"), key="p")).duplicate is False
        await rt.clock.advance(10)
        await memory_is_what_is_stored(rt)
        with pytest.raises(UnknownRun):
            await rt.run("e").inspect()


async def test_whoever_looks_at_a_run_meanwhile_is_answered(store: Path, faults: Faults) -> None:
    async with runtime(modules, store) as rt, anyio.create_task_group() as tasks:
        run = await rt.start(desk, 0, run_id="d")
        before = await run.inspect()
        faults.hold()
        faults.refuse_all()

        async def signals() -> None:
            with pytest.raises(StoreFull):
                await run.signal(Asked(1, "fold"))

        tasks.start_soon(signals)
        await faults.under_way()
        faults.release_in(0.02)
        with anyio.fail_after(PATIENCE):
            assert await run.inspect() == before


async def test_of_a_group_that_fails_once_everybody_goes_through(store: Path, faults: Faults) -> None:
    async with runtime(modules, store) as rt:
        runs = [await rt.start(desk, 0, run_id=f"d{n}") for n in range(5)]
        await rt.clock.advance(0)
        faults.refuse(1)
        async with anyio.create_task_group() as tasks:
            for n, run in enumerate(runs):
                tasks.start_soon(run.signal, Asked(n, "fold"))
                tasks.start_soon(rt.publish, Word("nobody", n))
        assert faults.refused == 1
        assert [(await run.state()).sum for run in runs] == list(range(5))
        await memory_is_what_is_stored(rt)


@pytest.mark.parametrize("error", [full, unforeseen])
@pytest.mark.parametrize("lasting", range(1, 14))
async def test_deadlines_that_came_due_meanwhile_fire_once_each_in_their_order(
    store: Path, faults: Faults, lasting: int, error: Callable[[], Exception]
) -> None:
    clock = TestClock()
    async with runtime(modules, store, clock) as rt:
        for n in (3, 0, 4, 1, 2):
            await rt.start(clerk, 60 + n, run_id=f"s{n}")
    # All of them come due while nothing runs, and then the disk takes nothing for a while.
    await clock.advance(100)
    faults.refuse(*range(1, lasting + 1), error=error)
    async with runtime(modules, store, clock) as rt:
        await clock.advance(60)
        assert faults.refused == lasting
        sleepers = [rt.run(f"s{n}") for n in range(5)]
        for sleeper in sleepers:
            assert (await sleeper.state()).counts == {"TimedOut": 1}
        fired = [turn.run_id async for commit in rt.commits() for turn in commit.turns if turn.first == 2]
        assert fired == [f"s{n}" for n in range(5)]
        await memory_is_what_is_stored(rt)


async def test_one_deadline_that_cannot_be_written_does_not_hold_up_the_others(store: Path, faults: Faults) -> None:
    async with runtime(modules, store) as rt:
        sleepers = [await rt.start(clerk, 60 + n, run_id=f"s{n}") for n in range(5)]
        with rt.view() as reading:
            number = heads.number_of(reading, "s0")
        faults.refuse_those(lambda batch: any(turn.run == number for turn in batch.turns))
        await rt.clock.advance(100)
        assert [(await sleeper.inspect()).seq for sleeper in sleepers] == [1, 2, 2, 2, 2]
        faults.refuse_none()
        await rt.clock.advance(100)
        assert [(await sleeper.inspect()).seq for sleeper in sleepers] == [2, 2, 2, 2, 2]
        await memory_is_what_is_stored(rt)


@pytest.mark.parametrize("error", [full, unforeseen])
@pytest.mark.parametrize("lasting", range(1, 9))
async def test_an_outcome_that_could_not_be_written_is_written_later_and_the_handler_not_called_again(
    store: Path, faults: Faults, ledger: Path, lasting: int, error: Callable[[], Exception]
) -> None:
    async with runtime(modules, store) as rt:
        run = await rt.start(desk, 0, run_id="d")
        await run.signal(Asked(5, "stamp"), Asked(11, "stamp"), Asked(6, "press"))
        # That is written when the call returns; the next commits note that attempts begin, and bring what they bring.
        faults.refuse(*range(1, lasting + 1), error=error)
        await rt.clock.advance(60)
        assert faults.refused == lasting
        assert sorted(noted(ledger)) == [("d:2:0", 1), ("d:3:0", 1), ("d:4:0", 1)]
        assert (await run.state()).counts == {"Asked": 3, "Stamped": 3, "Progressed": 1}
        await memory_is_what_is_stored(rt)


@pytest.mark.parametrize("nth", range(1, 7))
async def test_an_event_on_the_way_that_could_not_be_written_is_written_later_and_once(
    store: Path, faults: Faults, ledger: Path, nth: int
) -> None:
    async with runtime(modules, store) as rt:
        run = await rt.start(desk, 0, run_id="d")
        await run.signal(Asked(2, "stamp"))
        faults.refuse(nth)
        await rt.clock.advance(60)
        assert noted(ledger) == [("d:2:0", 1)]
        assert [record.type async for record in run.events(after=2)] == ["works.progressed"] * 3 + ["works.stamped"]
        await memory_is_what_is_stored(rt)


@pytest.mark.parametrize("error", [full, unforeseen])
@pytest.mark.parametrize("lasting", range(1, 9))
async def test_messages_between_runs_that_could_not_be_taken_are_taken_later(
    store: Path, faults: Faults, lasting: int, error: Callable[[], Exception]
) -> None:
    async with runtime(modules, store) as rt:
        for n in range(3):
            await rt.start(desk, 0, run_id=f"d{n}")
        await rt.start(trip, Trip(7, "wait"), run_id="over")
        await rt.run("over").cancel()
        faults.refuse(*range(2, lasting + 2), error=error)
        # To two that are there, to one that is over, and to nobody: the latter two come back.
        await rt.run("d0").signal(
            Asked(1, "tell", "d1"), Asked(2, "tell", "d2"), Asked(3, "tell", "over"), Asked(4, "lose")
        )
        await rt.clock.advance(60)
        assert faults.refused == lasting
        assert (await rt.run("d0").state()).counts == {"Asked": 4, "SignalFailed": 3}
        assert (await rt.run("d1").state()).counts == {"Told": 2}
        assert (await rt.run("d2").state()).counts == {"Told": 2}
        assert [record.payload["n"] async for record in rt.run("d2").events(after=1)] == [2, 3]
        await memory_is_what_is_stored(rt)


@pytest.mark.parametrize("error", [full, unforeseen])
async def test_what_is_removed_bit_by_bit_is_removed_in_the_end(
    store: Path, faults: Faults, error: Callable[[], Exception]
) -> None:
    async with runtime(modules, store) as rt:
        run = await rt.start(trip, Trip(7, "wait"), run_id="t")
        await run.cancel()
        faults.refuse(2, 3, 4, error=error)
        await run.delete()
        await rt.clock.advance(60)
        assert faults.refused == 3
        with rt.view() as reading:
            assert removal.pending(reading) == []
        await rt.start(trip, Trip(7, "wait"), run_id="t")
        await memory_is_what_is_stored(rt)


async def refused(store: Path, faults: Faults, first: int, lasting: int) -> None:
    """Tell the story, with some commits in a row refused; calls that fail are made again."""
    Mood.bad = False
    faults.refuse(*range(first, first + lasting))
    async with runtime(modules, store, TestClock(), **OPTIONS) as rt:
        for at, step in STORY:
            await rt.clock.advance(max(0, BEGIN + at * 1000 - rt.clock.now()) / 1000)
            for _ in range(lasting + 1):
                try:
                    await step(rt)
                    break
                except StoreError:
                    await memory_is_what_is_stored(rt)
            await rt.clock.advance(0)
        await rt.clock.advance(100)
        assert faults.refused == min(lasting, max(0, faults.commits - first + 1))
        await memory_is_what_is_stored(rt)


@pytest.mark.parametrize("first", range(1, 100, 9))
async def test_a_story_goes_on_after_a_refused_commit(store: Path, faults: Faults, ledger: Path, first: int) -> None:
    await goes_on(store, faults, ledger, first, 1 + first % 4)


@pytest.mark.long
@pytest.mark.parametrize("first", range(1, 100))
@pytest.mark.parametrize("lasting", [1, 3])
async def test_wherever_and_however_long_it_is(
    store: Path, faults: Faults, ledger: Path, first: int, lasting: int
) -> None:
    await goes_on(store, faults, ledger, first, lasting)


async def goes_on(store: Path, faults: Faults, ledger: Path, first: int, lasting: int) -> None:
    with anyio.fail_after(PATIENCE):
        await refused(store, faults, first, lasting)
    found = audit(store, CODE)
    check_ledger(ledger, found, set(REMOVED))
    assert len(noted(ledger)) == len({id for id, _ in noted(ledger)}) + retries(noted(ledger))
    for one in found.values():
        assert not one.inbox
        assert not one.run.effects
        assert not [wait for wait in one.run.waits.by_key.values() if wait.due is not None]


def retries(attempts: list[tuple[str, int]]) -> int:
    return sum(last - 1 for last in Counter(id for id, _ in attempts).values())
