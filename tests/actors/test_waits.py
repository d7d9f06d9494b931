"""An event meets the wait that it is for: one that came before it, one of many side by side, none that is settled."""

import random
from pathlib import Path

import pytest

from looms import MailboxFull, RunFinished
from looms.testing import TestClock, runtime
from tests.actors.desk import log
from tests.actors.rows import owned, rows
from tests.actors.scripts import Answered, Asked, Do, Told, answers, play, player

MODULES = [play]


async def test_an_event_that_came_before_its_wait_meets_it_in_the_turn_that_makes_it() -> None:
    async with runtime(MODULES) as rt:
        run = await rt.start(player, Do(wait_for=(answers("other", id="other"),)), run_id="r")
        early = await run.signal(Answered(about="a"))
        before = len([commit async for commit in rt.commits()])
        await run.signal(Told(what=Do(wait_for=(answers("a", id="late", timeout=60),))))
        assert len([commit async for commit in rt.commits()]) == before + 1
        assert (await run.state()).seen == (("Answered", "a", "late"),)
        assert (await log(run))[-1].payload == {"seq": early.seq}
        assert owned(rt) == {"waits": 1, "shapes": 1}


async def test_two_equal_events_are_two_events(path: Path, clock: TestClock) -> None:
    async with runtime(MODULES, path, clock) as rt:
        run = await rt.start(player, Do(wait_for=(answers("other", id="other"),)), run_id="r")
        for _ in range(3):
            await run.signal(Answered(about="a"))
    async with runtime(MODULES, path, clock) as rt:
        run = rt.run("r")
        assert len((await run.inspect()).mailbox) == 3
        await run.signal(Told(what=Do(wait_for=(answers("a", id="1"), answers("a", id="2")))))
        assert [wait for _, _, wait in (await run.state()).seen] == ["1", "2"]
        assert [record.seq for record in (await run.inspect()).mailbox] == [4]
        await run.signal(Told(what=Do(wait_for=(answers("a", id="3"),))))
        assert (await run.inspect()).mailbox == ()


@pytest.mark.parametrize("seed", range(5))
async def test_answers_to_questions_asked_side_by_side_each_reach_their_own(
    path: Path, clock: TestClock, seed: int
) -> None:
    questions = list(range(20))
    order = random.Random(seed).sample(questions, len(questions))
    async with runtime(MODULES, path, clock) as rt:
        asked = tuple(answers("q", n=n, id=f"q{n}", timeout=60) for n in questions)
        await rt.start(player, Do(wait_for=asked), run_id="r")
    async with runtime(MODULES, path, clock, max_resident=1, snapshot_every=3) as rt:
        run = rt.run("r")
        for n in order:
            await run.signal(Answered(about="q", n=n))
        assert (await run.state()).seen == tuple(("Answered", "q", f"q{n}") for n in order)
        assert owned(rt) == {}


async def test_waits_of_the_same_code_without_an_id_are_apart() -> None:
    async with runtime(MODULES) as rt:
        run = await rt.start(player, Do(wait_for=(answers("q"),) * 3))
        assert [wait.id for wait in (await run.inspect()).waits] == ["1:0", "1:1", "1:2"]
        for n in range(3):
            await run.signal(Answered(about="q", n=n))
        assert [wait for _, _, wait in (await run.state()).seen] == ["1:0", "1:1", "1:2"]


async def test_a_second_answer_changes_nothing_and_reaches_no_other_question(path: Path, clock: TestClock) -> None:
    async with runtime(MODULES, path, clock) as rt:
        run = await rt.start(player, Do(wait_for=(answers("a", id="a"), answers("b", id="b"))), run_id="r")
        await run.signal(Answered(about="a", n=1))
        await run.signal(Answered(about="a", n=2))
        await run.signal(Answered(about="a", n=3))
        assert (await run.state()).seen == (("Answered", "a", "a"),)
        assert [wait.id for wait in (await run.inspect()).waits] == ["b"]
    async with runtime(MODULES, path, clock) as rt:
        run = rt.run("r")
        await run.signal(Answered(about="b"))
        assert (await run.state()).seen == (("Answered", "a", "a"), ("Answered", "b", "b"))
        assert [record.payload["n"] for record in (await run.inspect()).mailbox] == [2, 3]


async def test_children_that_run_the_same_code_get_their_own_answers(path: Path, clock: TestClock) -> None:
    async with runtime(MODULES, path, clock) as rt:
        child = Do(wait_for=(answers("q", id="q"),))
        children = tuple((f"c{n}", Do(wait_for=(answers("q", n=n, id="q"),))) for n in range(3))
        run = await rt.start(player, Do(spawns=(*children, ("all", child))), run_id="r")
        await run.signal(Answered(about="q", n=1))
        threads = (await run.inspect()).threads
        assert [id for id, thread in threads.items() if id != "root" and thread.state.seen] == ["root/c1", "root/all"]


async def test_of_a_group_one_is_met_and_the_others_leave_no_row(path: Path, clock: TestClock) -> None:
    async with runtime(MODULES, path, clock) as rt:
        group = tuple(answers(name, id=name, group="g", timeout=60 + n) for n, name in enumerate("abc"))
        alone = answers("d", id="d", timeout=60)
        run = await rt.start(player, Do(wait_for=(*group, alone)), run_id="r")
        assert owned(rt) == {"waits": 4, "shapes": 1, "timers": 4}
        await run.signal(Answered(about="b"))
        assert owned(rt) == {"waits": 1, "shapes": 1, "timers": 1}
        for late in "abc":
            await run.signal(Answered(about=late))
        await clock.advance(100)
        assert (await run.state()).seen == (("Answered", "b", "b"), ("TimedOut", "d", None))
        assert owned(rt) == {}


async def test_a_group_that_times_out_leaves_no_row_either() -> None:
    async with runtime(MODULES) as rt:
        group = tuple(answers(name, id=name, group="g", timeout=60 + n) for n, name in enumerate("abc"))
        run = await rt.start(player, Do(wait_for=group))
        await rt.clock.advance(1_000)
        assert (await run.state()).seen == (("TimedOut", "a", None),)
        assert owned(rt) == {}


async def test_a_wait_and_its_cancelling_in_one_turn_leave_nothing() -> None:
    async with runtime(MODULES) as rt:
        asked = Do(wait_for=(answers("a", id="a", timeout=60),), cancels=("a",))
        run = await rt.start(player, asked)
        assert owned(rt) == {}
        await rt.clock.advance(60)
        await run.signal(Answered(about="a"))
        assert (await run.state()).seen == (("Answered", "a", None),)


async def test_a_mailbox_that_is_full_has_room_again_when_a_wait_takes_something(path: Path, clock: TestClock) -> None:
    async with runtime(MODULES, path, clock, max_mailbox=3) as rt:
        run = await rt.start(player, Do(wait_for=(answers("other", id="other"),)), run_id="r")
        for n in range(3):
            await run.signal(Answered(about="a", n=n))
        with pytest.raises(MailboxFull, match="max_mailbox"):
            await run.signal(Answered(about="a", n=3))
        with pytest.raises(MailboxFull):
            await run.signal(Asked(about="x"), Answered(about="a", n=3))
        await run.signal(Asked(about="x"))
        await run.signal(Told(what=Do(wait_for=(answers("a", id="a"),))))
        await run.signal(Answered(about="a", n=3))
        assert [record.payload["n"] for record in (await run.inspect()).mailbox] == [1, 2, 3]


async def test_a_run_that_ends_leaves_its_mailbox_to_nobody() -> None:
    async with runtime(MODULES) as rt:
        run = await rt.start(player, Do(wait_for=(answers("other"),)))
        await run.signal(Answered(about="a"))
        await run.signal(Told(what=Do(ends="complete")))
        with pytest.raises(RunFinished):
            await run.signal(Answered(about="a"))
        assert owned(rt) == {}
        assert rows(rt) == {}


async def test_a_wait_on_a_nested_value_is_found_among_many(path: Path, clock: TestClock) -> None:
    """Told with values in depth, whatever the order of their keys."""
    async with runtime(MODULES, path, clock) as rt:
        for n in range(50):
            await rt.start(player, Do(wait_for=({"match": {"n": n, "about": "q"}, "timeout": 60},)), run_id=f"r{n}")
        assert (await rt.publish(Answered(about="q", n=17))).runs == ["r17"]
        assert (await rt.publish(Answered(about="q", n=17))).runs == []
        assert owned(rt) == {"waits": 49, "shapes": 1, "timers": 49}
