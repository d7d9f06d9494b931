"""A fork has the past of another run, byte for byte, and a future of its own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import looms
from looms import (
    InvalidInput,
    Module,
    RunExists,
    SeqOutOfRange,
    UnknownRun,
)
from looms.testing import runtime
from looms.testing.runtimes import RuntimeOnTestClock
from tests.looms.desk import MODULES, Asked, Helping, Mood, Said, at_desk, begin, store
from tests.looms.shop import log, nothing_changes, types


@pytest.fixture(autouse=True)
def good_mood() -> None:
    Mood.bad, Mood.begun = False, []


@asynccontextmanager
async def nothing_changes_in_lists(rt: RuntimeOnTestClock) -> AsyncIterator[None]:
    async def listed() -> Any:
        return [one async for one in rt.runs()], [one async for one in rt.commits()]

    before = await listed()
    yield
    assert await listed() == before


async def test_the_past_is_the_same_in_every_part(path: Path) -> None:
    """Also what reducers were told of where they run: else a state would depend on which run's snapshot it is from."""
    async with store(path, snapshot_every=3) as rt:
        run = await begin(rt, Asked("make", 1), Asked("wait", 2), Asked("wait", 3), Asked("spawn", 4))
        past = await log(run)
        for at in range(1, len(past) + 1):
            fork = await run.fork(at, f"f{at}")
            there = await log(fork)
            assert there == past[: len(there)]
            seen, then = await fork.inspect(), (await run.replay_to(len(there))).after
            assert (seen.state, seen.waits, seen.mailbox) == (then.state, then.waits, then.mailbox)
            assert seen.threads == then.threads
            assert seen.forked_from == ("d", len(there))
            await fork.signal(Asked("note"))
            assert (await fork.state()).where[-2:] == ("d", fork.id)
        assert await log(run) == past
        assert (await run.inspect()).forked_from is None


async def test_what_followed_in_the_same_turn_belongs_to_the_event(path: Path) -> None:
    async with store(path) as rt:
        run = await begin(rt, Asked("spawn", -1))
        assert await types(run) == ["looms.started", "desk.asked", "looms.started", "desk.said"]
        for at in (2, 3, 4):
            fork = await run.fork(at)
            assert (await fork.inspect()).seq == 4
            assert (await fork.inspect()).threads["root/helper"].state == Helping(started=True)
        assert (await (await run.fork(1)).inspect()).seq == 1


async def test_the_events_of_one_signal_can_be_parted(path: Path) -> None:
    async with store(path) as rt:
        run = await begin(rt)
        await run.signal(Asked("note", 1), Asked("note", 2), Asked("note", 3), key="all")
        fork = await run.fork(3)
        receipt = await fork.signal(Asked("note", 1), key="all")
        assert (receipt.seq, receipt.duplicate) == (3, True)


async def test_keys_of_the_past_are_known_and_later_ones_are_not(path: Path) -> None:
    async with store(path) as rt:
        run = await begin(rt, Asked("note", 0), Asked("note", 1))
        fork = await run.fork(2)
        assert (await fork.signal(Asked("note", 0), key="k0")).duplicate
        assert (await fork.signal(Asked("note", 1), key="k1")) == looms.Receipt(3, False)


async def test_both_wait_and_a_published_event_reaches_both(path: Path) -> None:
    async with store(path) as rt:
        run = await begin(rt, Asked("wait", 7))
        fork = await run.fork(2)
        assert sorted((await rt.publish(Said("7"))).runs) == sorted(["d", fork.id])
        assert (await fork.state()).said == ("7",)
        assert (await fork.inspect()).waits == ()


async def test_deadlines_come_at_their_time_and_what_is_past_at_once(path: Path) -> None:
    async with store(path) as rt:
        run = await begin(rt, Asked("wait", 1))
        await rt.clock.advance(30)
        early = await run.fork(2)
        await rt.clock.advance(29)
        assert (await early.state()).said == ()
        await rt.clock.advance(1)
        assert (await early.state()).said == ("nobody: w1",)
        await rt.clock.advance(1_000)
        late = await run.fork(2)
        await rt.clock.advance(0)
        assert (await late.state()).said == ("nobody: w1",)
        assert (await log(late))[2].at == rt.clock.now()


async def test_a_cancellation_that_was_under_way_goes_on(path: Path) -> None:
    async with store(path) as rt:
        run = await begin(rt, Asked("wait", 1))
        await run.cancel("enough")
        fork = await run.fork(3)
        assert (await fork.inspect()).status == "cancelled"
        assert (await (await run.fork(2)).inspect()).status == "waiting"


async def test_an_event_that_is_kept_for_whoever_waits_is_for_a_forks_wait_too(path: Path) -> None:
    async with store(path) as rt:
        run = await begin(rt, Asked("wait", 1))
        await run.signal(Said("1"))
        await rt.publish(Said("1"), retain=100)
        await rt.run("f").signal(Asked("note"), retain=100)
        fork = await run.fork(2, "f")
        assert (await fork.state()).said == ("1",)
        assert await types(fork) == ["looms.started", "desk.asked", "desk.said", "desk.asked"]


async def test_mail_of_the_past_is_there(path: Path) -> None:
    async with store(path) as rt:
        run = await begin(rt, Asked("wait", 1))
        await run.signal(Said("2"))
        fork = await run.fork(3)
        assert (await fork.inspect()).mailbox == (await run.inspect()).mailbox != ()
        await fork.signal(Asked("wait", 2))
        assert (await fork.state()).said == ("2",)
        assert (await fork.inspect()).mailbox == ()


async def test_nothing_is_sent_again(path: Path) -> None:
    async with store(path) as rt:
        other = await begin(rt, run_id="other")
        run = await begin(rt, Asked("tell", 1))
        await rt.clock.advance(0)
        before = await log(other)
        await run.fork(2)
        await rt.clock.advance(0)
        assert await log(other) == before


@pytest.mark.parametrize("end", ["complete", "fail"])
async def test_a_run_that_is_over_can_be_forked_before_its_end_and_at_it(path: Path, end: str) -> None:
    async with store(path) as rt:
        run = await begin(rt, Asked("note", 1), Asked(end))
        fork = await run.fork(2)
        assert (await fork.inspect()).status == "waiting"
        await fork.signal(Asked("complete", 5))
        assert await fork.result() == 5
        whole = await run.fork(3)
        assert (await whole.inspect()).status == (await run.inspect()).status
        assert (await whole.inspect()).error == (await run.inspect()).error
        await whole.delete()


async def test_a_suspended_run_can_be_forked(path: Path) -> None:
    async with store(path) as rt:
        run = await begin(rt)
        Mood.bad = True
        await run.signal(Asked("make", 1))
        await rt.clock.advance(0)
        assert (await run.inspect()).status == "suspended"
        fork = await run.fork(2)
        assert (await fork.inspect()).status == "waiting"
        assert (await fork.inspect()).error is None
        await fork.signal(Asked("note"))


async def test_an_id_is_made_where_none_is_given(path: Path) -> None:
    async with store(path) as rt:
        run = await begin(rt)
        first, second = await run.fork(1), await run.fork(1)
        assert first.id != second.id


async def test_what_cannot_be_changes_nothing(path: Path) -> None:
    async with store(path) as rt:
        run = await begin(rt, Asked("note", 1))
        refused: list[tuple[Any, str, Any]] = [
            (SeqOutOfRange, "seq 3: run d has records 1 to 2", {"at": 3}),
            (SeqOutOfRange, "seq -1", {"at": -1}),
            (SeqOutOfRange, "seq True", {"at": True}),
            (SeqOutOfRange, "seq '1'", {"at": "1"}),
            (RunExists, "run d exists: a desk.desk, waiting; choose another run_id$", {"at": 1, "run_id": "d"}),
            (InvalidInput, "run id", {"at": 1, "run_id": ""}),
            (InvalidInput, "effects='drop'; give 'hold' or 'redispatch'", {"at": 1, "effects": "drop"}),
        ]
        async with nothing_changes(rt):
            for error, message, given in refused:
                with pytest.raises(error, match=message):
                    await run.fork(**given)
            with pytest.raises(UnknownRun, match="nobody"):
                await rt.run("nobody").fork(1)


async def test_a_past_that_todays_code_cannot_fold_is_told(path: Path) -> None:
    async with store(path) as rt:
        run = await begin(rt, Asked("note"), Asked("make", 1))
    Mood.bad = True
    async with runtime(MODULES, path) as rt:
        run = rt.run("d")
        async with nothing_changes_in_lists(rt):
            with pytest.raises(looms.ReducerError, match=r"cannot fold desk\.made at seq 4"):
                await run.fork(4)
        assert (await (await run.fork(3)).inspect()).status == "waiting"
    Mood.bad = False


async def test_a_run_whose_code_is_away_can_be_forked_and_waits_for_it(path: Path) -> None:
    async with store(path) as rt:
        await begin(rt, Asked("wait", 1))
    other = Module("other")
    async with runtime([other], path) as rt:
        fork = await rt.run("d").fork(2, "f")
        assert (await fork.inspect()).status == "suspended"
    async with store(path) as rt:
        await rt.publish(Said("1"))
        assert (await rt.run("f").state()).said == ("1",)


async def test_a_fork_is_listed_followed_and_deleted_like_any_other(path: Path) -> None:
    async with store(path) as rt:
        run = await begin(rt, Asked("note", 1))
        seen = [commit.number async for commit in rt.commits()]
        fork = await run.fork(2, "f")
        await fork.signal(Asked("note"))
        commits = [commit async for commit in rt.commits(after=seen[-1])]
        assert [[(t.run_id, t.first, t.last) for t in commit.turns] for commit in commits] == [
            [("f", 1, 2)],
            [("f", 3, 3)],
        ]
        summaries = {one.run_id: one async for one in rt.runs(definition=at_desk)}
        assert (summaries["d"].forked_from, summaries["f"].forked_from) == (None, ("d", 2))
        assert summaries["f"].seq == 3
        await run.cancel()
        await run.delete()
        assert (await fork.state()).where == ("d", "d", "f")
        await fork.cancel()
        await fork.delete()
        await rt.clock.advance(0)
        assert [one async for one in rt.runs()] == []
