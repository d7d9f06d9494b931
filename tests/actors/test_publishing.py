"""A published event reaches exactly those who wait for it, in one commit; kept, it goes to one."""

from pathlib import Path
from typing import Any

import pytest

from looms import InvalidInput, RunFinished, UnknownRun
from looms.testing import TestClock, runtime
from looms.testing.clock import BEGIN
from tests.actors.desk import log, types
from tests.actors.rows import owned, rows
from tests.actors.scripts import Answered, Do, Told, answers, play, player

MODULES = [play]
PARKED = Do(wait_for=(answers("a", id="a"),))


async def test_a_reducer_publishes_to_all_who_wait_and_the_records_name_the_sender(
    path: Path, clock: TestClock
) -> None:
    async with runtime(MODULES, path, clock) as rt:
        for name in ("r1", "r2", "r3"):
            await rt.start(player, PARKED, run_id=name)
        await rt.start(player, Do(wait_for=(answers("b"),)), run_id="other")
        sender = await rt.start(player, Do(), run_id="sender")
        receipt = await sender.signal(Told(what=Do(publishes=("a",))))
        await clock.advance(0)
        for name in ("r1", "r2", "r3"):
            assert (await rt.run(name).state()).seen == (("Answered", "a", "a"),)
            last = (await log(rt.run(name)))[-1]
            assert (last.origin, last.sender) == ("run", ("sender", receipt.seq))
        assert await types(rt.run("other")) == ["looms.started"]
        assert (await sender.state()).seen == ()
        assert owned(rt) == {"waits": 1, "shapes": 1}


async def test_a_run_may_publish_what_it_waits_for_itself() -> None:
    async with runtime(MODULES) as rt:
        run = await rt.start(player, Do(wait_for=(answers("a", id="a"),), publishes=("a",)), run_id="r")
        await rt.clock.advance(0)
        assert (await run.state()).seen == (("Answered", "a", "a"),)
        assert (await log(run))[-1].sender == ("r", 1)


async def test_what_nobody_waits_for_is_published_to_nobody_and_not_kept() -> None:
    async with runtime(MODULES) as rt:
        await rt.start(player, Do(publishes=("a",)))
        assert (await rt.publish(Answered(about="a"))).runs == []
        await rt.clock.advance(0)
        late = await rt.start(player, PARKED)
        assert (await late.state()).seen == ()


async def test_two_publications_of_one_turn_come_in_their_order() -> None:
    async with runtime(MODULES) as rt:
        waiting = Do(wait_for=(answers("b", id="b"), answers("a", id="a")))
        run = await rt.start(player, waiting)
        await rt.start(player, Do(publishes=("a", "b")))
        await rt.clock.advance(0)
        assert (await run.state()).seen == (("Answered", "a", "a"), ("Answered", "b", "b"))


async def test_a_publication_wakes_a_run_that_is_suspended_once_it_is_resumed(path: Path, clock: TestClock) -> None:
    async with runtime(MODULES, path, clock) as rt:
        run = await rt.start(player, PARKED, run_id="r")
        await rt.start(player, Do(signals=(("r", "bad"),)), run_id="s")
        await run.signal(Told(what=Do(sleeps=(("nap", 1),))))
    reduce = player.function

    def raising(state: Any, event: Any, ctx: Any) -> Any:
        if type(event).__name__ == "TimedOut":
            raise LookupError("not yet")
        return reduce(state, event, ctx)

    player.function = raising
    try:
        async with runtime(MODULES, path, clock) as rt:
            await clock.advance(1)
            assert (await rt.run("r").inspect()).status == "suspended"
            assert (await rt.publish(Answered(about="a"))).runs == ["r"]
            assert (await rt.run("r").state()).seen == ()
    finally:
        player.function = reduce
    async with runtime(MODULES, path, clock) as rt:
        await rt.run("r").resume()
        seen = (await rt.run("r").state()).seen
        assert [name for name, _, _ in seen] == ["TimedOut", "Answered"]
        assert (await rt.run("r").inspect()).status == "waiting"


# Kept for whoever waits next


@pytest.mark.parametrize(("after", "taken"), [(0, True), (59.999, True), (60, False), (61, False)])
async def test_an_event_is_kept_exactly_for_its_time(path: Path, clock: TestClock, after: float, taken: bool) -> None:
    async with runtime(MODULES, path, clock) as rt:
        await rt.publish(Answered(about="a"), retain=60)
        await clock.advance(0)
    await clock.advance(after)
    async with runtime(MODULES, path, clock) as rt:
        run = await rt.start(player, PARKED)
        assert (await run.state()).seen == ((("Answered", "a", "a"),) if taken else ())
        await clock.advance(0)
        assert owned(rt) == ({} if taken else {"waits": 1, "shapes": 1})
        assert rows(rt) == owned(rt)


async def test_a_kept_event_goes_to_one_wait_once_and_the_oldest_goes_first(path: Path, clock: TestClock) -> None:
    async with runtime(MODULES, path, clock) as rt:
        for n in (1, 2, 3):
            await rt.publish(Answered(about="a", n=n), retain=60)
        await rt.publish(Answered(about="b", n=9), retain=60)
    async with runtime(MODULES, path, clock) as rt:
        got = []
        for name in ("r1", "r2"):
            run = await rt.start(player, PARKED, run_id=name)
            got += [record.payload["n"] for record in await log(run) if record.type == "play.answered"]
        both = await rt.start(player, Do(wait_for=(answers("a", id="1"), answers("a", id="2"))))
        got += [record.payload["n"] for record in await log(both) if record.type == "play.answered"]
        assert got == [1, 2, 3]
        assert [wait.id for wait in (await both.inspect()).waits] == ["2"]
        await clock.advance(60)
        assert owned(rt) == {"waits": 1, "shapes": 1}


WAITS = {
    "any answer": {},
    "the first field": answers("a"),
    "another field": {"match": {"n": 7}},
    "both": answers("a", n=7),
    "none of its fields": {"match": {"about": "x"}},
    "one field of two": answers("a", n=8),
}


@pytest.mark.parametrize("what", WAITS)
async def test_a_kept_event_meets_the_wait_that_it_would_have_met(what: str) -> None:
    async with runtime(MODULES) as rt:
        await rt.publish(Answered(about="a", n=7), retain=60)
        run = await rt.start(player, Do(wait_for=(WAITS[what],)))
        assert bool((await run.state()).seen) == (what not in ("none of its fields", "one field of two"))


async def test_what_somebody_waits_for_is_not_kept() -> None:
    async with runtime(MODULES) as rt:
        await rt.start(player, PARKED, run_id="r1")
        assert (await rt.publish(Answered(about="a"), retain=60)).runs == ["r1"]
        late = await rt.start(player, PARKED, run_id="r2")
        assert (await late.state()).seen == ()


@pytest.mark.parametrize("retain", [0, -1, float("nan"), float("inf"), "60", True, 1e300])
async def test_a_time_to_keep_that_is_none_is_refused(retain: Any) -> None:
    async with runtime(MODULES) as rt:
        with pytest.raises(InvalidInput, match="retain"):
            await rt.publish(Answered(), retain=retain)
        with pytest.raises(InvalidInput, match="retain"):
            await rt.run("nobody").signal(Answered(), retain=retain)
        assert rows(rt) == {}


# Kept for a run that is not there yet


async def test_signals_kept_for_a_run_reach_it_when_it_starts_in_their_order(path: Path, clock: TestClock) -> None:
    async with runtime(MODULES, path, clock) as rt:
        run = rt.run("r")
        first = await run.signal(Answered(about="a"), Answered(about="b"), key="k1", retain=60)
        assert (first.seq, first.duplicate) == (None, False)
        await run.signal(Answered(about="c"), retain=60)
        await run.signal(Answered(about="gone"), retain=1)
        with pytest.raises(UnknownRun):
            await run.inspect()
    await clock.advance(2)
    async with runtime(MODULES, path, clock) as rt:
        run = await rt.start(player, Do(), run_id="r")
        assert [what for _, what, _ in (await run.state()).seen] == ["a", "b", "c"]
        assert [record.key for record in await log(run)] == [None, "k1", "k1", None]
        again = await run.signal(Answered(about="a"), Answered(about="b"), key="k1", retain=60)
        assert (again.seq, again.duplicate) == (3, True)
        assert owned(rt) == {}


async def test_a_key_that_is_used_twice_before_the_run_starts_counts_once() -> None:
    async with runtime(MODULES) as rt:
        run = rt.run("r")
        for _ in range(2):
            await run.signal(Answered(about="a"), key="k", retain=60)
        await rt.start(player, Do(), run_id="r")
        assert [what for _, what, _ in (await run.state()).seen] == ["a"]
        assert owned(rt) == {}


async def test_signals_kept_for_a_run_lapse_with_their_time(path: Path, clock: TestClock) -> None:
    async with runtime(MODULES, path, clock) as rt:
        await rt.run("r").signal(Answered(about="a"), retain=60)
        await clock.advance(60)
        assert rows(rt) == {}
        run = await rt.start(player, Do(), run_id="r")
        assert (await run.state()).seen == ()


async def test_a_run_that_is_there_gets_its_signal_whatever_the_time_to_keep() -> None:
    async with runtime(MODULES) as rt:
        run = await rt.start(player, Do())
        receipt = await run.signal(Answered(about="a"), retain=60)
        assert receipt.seq == 2
        await run.signal(Told(what=Do(ends="complete")))
        with pytest.raises(RunFinished):
            await run.signal(Answered(about="a"), retain=60)
        assert rows(rt) == {}


async def test_a_start_that_fails_keeps_what_was_kept_for_it() -> None:
    async with runtime(MODULES) as rt:
        await rt.run("r").signal(Answered(about="a"), retain=60)
        with pytest.raises(Exception, match="as it was told"):
            await rt.start(player, Do(fails=True), run_id="r")
        run = await rt.start(player, Do(), run_id="r")
        assert (await run.state()).seen == (("Answered", "a", None),)


async def test_a_kept_event_is_recorded_when_it_is_taken() -> None:
    async with runtime(MODULES) as rt:
        await rt.publish(Answered(about="a"), retain=60)
        await rt.clock.advance(30)
        run = await rt.start(player, PARKED)
        assert [record.at - BEGIN for record in await log(run)] == [30_000, 30_000]
