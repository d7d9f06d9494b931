"""A journal of thousands of steps is carried on, stored and brought back at no more cost a step than a short one."""

import sys
from pathlib import Path
from typing import Any

import pytest

from looms import Module, Workflow
from looms.reducers.instructions import Wait
from looms.testing import TestClock, runtime
from looms.workflows import chunks
from looms.workflows.journal import Journal, place_of
from looms.workflows.player import Player
from looms.workflows.step import Step
from tests.actors.logged import Logged, said
from tests.workflows.desk import Rang, desk
from tests.workflows.programs import Playing, ended

pytestmark = pytest.mark.anyio


async def for_ever(player: Player) -> None:
    while True:
        key = player.key("step", None)
        await Step[Any](player, key, "wait", "", Wait(id=key))


def calls(work: Any) -> int:
    """How many functions some work calls: what it costs, on any machine."""
    count = 0

    def called(frame: Any, event: str, arg: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(called)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def carried_on(journal: Journal) -> Playing:
    playing = Playing.__new__(Playing)
    playing.at, playing.decided = 0, []
    playing.player = Player(journal)
    playing.player.start(for_ever(playing.player))
    playing.taken()
    return playing


def go_on(playing: Playing, steps: int) -> None:
    for _ in range(steps):
        count = chunks.count(playing.journal.asked)
        place = place_of(playing.journal, f"step#{count}")
        assert place == count - 1
        playing.settle(place, ended(chunks.at(playing.journal.asked, place), place, fails=False))
        playing.decided.clear()


def test_a_step_costs_the_same_at_the_end_as_at_the_beginning_and_bringing_back_as_much_as_the_steps() -> None:
    playing = carried_on(Journal(generation=1, ids=((0, "r"),), seed="s"))
    go_on(playing, 10)
    early = calls(lambda: go_on(playing, 100))
    short = calls(lambda: carried_on(playing.journal))
    go_on(playing, 4_000 - 110)
    late = calls(lambda: go_on(playing, 100))
    long = calls(lambda: carried_on(playing.journal))
    assert late <= early * 1.1
    assert long <= short * 41, "4,100 steps, after 110"


def test_what_is_added_to_a_journal_leaves_what_was_there_the_same_objects() -> None:
    playing = carried_on(Journal(generation=1, ids=((0, "r"),), seed="s"))
    go_on(playing, 1_000)
    before = playing.journal
    go_on(playing, 1)
    after = playing.journal
    for old, new in ((before.asked, after.asked), (before.settled, after.settled)):
        assert sum(one is not other for one, other in zip(old, new, strict=False)) <= 1


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_workflow_that_has_asked_for_ten_thousand_things_is_told_of_once(
    path: Path, clock: TestClock, logged: Logged
) -> None:
    module = Module("long", requires=[desk])

    @module.workflow("long")
    async def long(ctx: Workflow) -> None:
        await ctx.gather(*(ctx.sleep(60) for _ in range(9_998)), return_when_rung(ctx))

    async def return_when_rung(ctx: Workflow) -> None:
        await ctx.wait(Rang)
        await ctx.wait(Rang)

    async with runtime([module], path=path, clock=clock) as rt:
        run = await rt.start(long, run_id="r")
        assert said(logged, "long journal") == []
        await run.signal(Rang())
        (line,) = said(logged, "long journal")
        assert (line["run_id"], line["entries"]) == ("r", 10_000)
        assert "ctx.restart" in line["reason"]
    async with runtime([module], path=path, clock=clock) as rt:
        await rt.run("r").signal(Rang())
        assert len(said(logged, "long journal")) == 1


async def test_delta_snapshots_hold_the_new_steps_alone(path: Path, clock: TestClock) -> None:
    module = Module("steady", requires=[desk])

    @module.workflow("steady")
    async def steady(ctx: Workflow, label: str) -> None:
        while True:
            await ctx.wait(Rang)

    async with runtime([module], path=path, clock=clock, snapshot_every=32) as rt:
        run = await rt.start(steady, "x" * 20_000, run_id="r")
        for _ in range(16):
            await run.signal(*[Rang()] * 32)
        snapshots = [one async for one in run.snapshots()]
        assert len(snapshots) >= 16
        assert snapshots[0].kind == "full"
        deltas = [one for one in snapshots if one.kind == "delta" and one.base == snapshots[one.seq // 32 - 2].seq]
        assert deltas
        assert all(one.bytes < 32 * 150 for one in deltas), [one.bytes for one in deltas]
        now, then = (await run.state()).entries, (await run.replay_to(300)).after.state.entries
        assert (len(then), then[:-1]) == (300, now[:299])
