"""What was outstanding when a run was forked is held in the fork, or run under its name; nothing is run twice."""

from pathlib import Path

import pytest

from looms import (
    RunSuspended,
    UnknownEffect,
)
from looms.snapshots import heads
from looms.testing import TestClock
from tests.looms.desk import Asked, Made, Mood, begin, store
from tests.looms.shop import log


@pytest.fixture(autouse=True)
def good_mood() -> None:
    Mood.bad, Mood.begun = False, []


async def test_a_held_effect_is_not_run_however_often_the_store_is_opened(path: Path) -> None:
    clock = TestClock()
    async with store(path, clock) as rt:
        run = await begin(rt, Asked("make", -1))
        await run.fork(2, "f")
    for _ in range(2):
        async with store(path, clock, snapshot_every=1) as rt:
            await rt.clock.advance(100)
            seen = await rt.run("f").inspect()
            assert [(one.id, one.held) for one in seen.effects] == [("f:2:0", True)]
            assert seen.status == "waiting"
            await rt.run("f").signal(Asked("note"))
    assert set(Mood.begun) == {"d:2:0"}
    async with store(path, clock) as rt:
        with pytest.raises(UnknownEffect):
            await rt.run("f").retry_effect("d:2:0")
        await rt.run("f").settle_effect("f:2:0", Made(8))
        assert (await rt.run("f").state()).made == (8,)
        assert (await rt.run("f").inspect()).effects == ()


async def test_one_that_is_retried_by_hand_is_run_from_then_on(path: Path) -> None:
    clock = TestClock()
    async with store(path, clock) as rt:
        run = await begin(rt, Asked("make", -1))
        fork = await run.fork(2, "f")
        await rt.clock.advance(20)
        await fork.retry_effect("f:2:0")
        await rt.clock.advance(0)
        assert Mood.begun[-1] == "f:2:0"
        seen = await fork.inspect()
        assert ([one.held for one in seen.effects], seen.status) == ([False], "running")
        (released,) = [record for record in await log(fork) if record.type == "looms.released"]
        assert (released.seq, released.origin, released.decisions) == (3, "signal", {})
        assert released.payload == {"effect_id": released.effect_id} == {"effect_id": "f:2:0"}
        assert not released.final
        await fork.retry_effect("f:2:0")  # as for any other: it runs already
        assert (await fork.inspect()).seq == 3
        assert (await fork.replay_to(2)).after.effects[0].held
        again = await fork.fork(3, "g")  # and what is outstanding there is held again
        assert [(one.id, one.held) for one in (await again.inspect()).effects] == [("g:2:0", True)]
    before = len(Mood.begun)
    async with store(path, clock, snapshot_every=1) as rt:
        await rt.clock.advance(0)
        assert "f:2:0" in Mood.begun[before:]
        assert "g:2:0" not in Mood.begun
        await rt.run("f").signal(Asked("note"))
        assert not (await rt.run("f").inspect()).effects[0].held


async def test_a_fork_that_is_suspended_says_so(path: Path) -> None:
    async with store(path) as rt:
        run = await begin(rt, Asked("make", -1), Asked("wait", 1))
        fork = await run.fork(3, "f", effects="hold")
        Mood.bad = True
        await fork.signal(Asked("make", 1))
        await rt.clock.advance(0)
        assert (await fork.inspect()).status == "suspended"
        with pytest.raises(RunSuspended, match="run f is suspended"):
            await fork.retry_effect("f:2:0")
        assert (await fork.inspect()).effects[0].held
        Mood.bad = False
        await fork.resume()
        await fork.retry_effect("f:2:0")


async def test_redispatched_effects_run_under_the_forks_name(path: Path) -> None:
    async with store(path) as rt:
        run = await begin(rt, Asked("make", 1), Asked("spawn", 2))
        past = await log(run)
        Mood.begun.clear()
        fork = await run.fork(2, "f", effects="redispatch")
        assert (await fork.inspect()).status == "running"
        await rt.clock.advance(0)
        assert (await fork.state()).made == (1,)
        assert Mood.begun == ["f:2:0"]
        assert await log(run) == past


async def test_a_fork_of_a_fork_has_the_past_of_both(path: Path) -> None:
    async with store(path, snapshot_every=2) as rt:
        run = await begin(rt, Asked("make", -1), Asked("note", 1), Asked("note", 2))
        one = await run.fork(3, "one")
        await one.signal(Asked("make", -2))
        two = await one.fork(4, "two")
        await two.signal(Asked("note"))
        assert (await two.state()).where == ("d", "d", "d", "one", "two")
        assert [(e.id, e.held) for e in (await two.inspect()).effects] == [("two:2:0", True), ("two:4:0", True)]
        assert [(e.id, e.held) for e in (await two.replay_to(3)).after.effects] == [("one:2:0", True)]
        assert [(e.id, e.held) for e in (await two.replay_to(2)).after.effects] == [("d:2:0", False)]
        three = await two.fork(2, "three", effects="redispatch")  # before both were forked
        assert (await three.inspect()).forked_from == ("two", 2)
        assert [(e.id, e.held) for e in (await three.inspect()).effects] == [("three:2:0", False)]
        for n in range(5):
            await two.fork(4, f"again {n}")
            two = rt.run(f"again {n}")
        with rt.view() as view:
            head = heads.find(view, "again 4")
        assert head is not None
        assert [(fork.run_id, fork.seq) for fork in head.forks] == [("d", 3), ("one", 4), ("again 3", 4)]
