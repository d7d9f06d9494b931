"""A state that a workflow sees again is recorded as what differs, and comes back as it was."""

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import strategies as st

from looms import Module, Workflow
from looms.reducers.codec import Unfit, encode, plain
from looms.stores.definition import StoreDefinition
from looms.stores.results import StoreSnapshot
from looms.testing import runtime
from looms.workflows.seen_states import SeenStates
from tests.properties.exact import exact
from tests.properties.laws import effort, holds
from tests.stores.test_laws import changed
from tests.stores.world import Deed, World, programs, worlds
from tests.workflows.board import Board, Task, free, noted, office, push, put, taken_by
from tests.workflows.desk import Rang, desk, log

KIND: StoreDefinition[World] = StoreDefinition("tried.world", World)
IDS = [UUID(int=1), UUID(int=2)]


@effort(quick=40, long=400)
def test_whatever_becomes_of_a_store_is_read_as_it_was_live_and_when_it_is_played_again(examples: int) -> None:
    steps = st.lists(st.tuples(st.integers(0, 1), programs, st.booleans(), st.booleans()), min_size=1, max_size=8)

    @holds(examples, worlds, steps)
    def law(state: World, steps: list[tuple[int, list[Deed], bool, bool]]) -> None:
        live, journal, states = SeenStates(), list[tuple[str, Any, Any]](), [state, state]
        for version, (which, program, anew, away) in enumerate(steps):
            states[which] = changed(states[which], program)
            instance = IDS[anew]
            found = StoreSnapshot(states[which], version, instance)
            recorded = plain(encode(live.recorded(f"run {which}", KIND, found)))
            assert exact(live.snapshot(f"run {which}", KIND, recorded)) == exact(found)
            journal.append((f"run {which}", recorded, found))
            if away:
                live = SeenStates()
                for run_id, before, _ in journal:
                    live.snapshot(run_id, KIND, before)
        again = SeenStates()
        for run_id, recorded, found in journal:
            read = again.snapshot(run_id, KIND, recorded)
            assert exact(read) == exact(found)
            read.state.numbers.append(7)  # it is the workflow's own


def test_a_step_that_was_looked_for_in_vain_leaves_nothing_behind() -> None:
    """Its turn was taken back: what was found in it is not what the next one records."""
    seen, other = SeenStates(), SeenStates()
    for found in (StoreSnapshot(World(numbers=[1]), 1, IDS[0]), StoreSnapshot(World(numbers=[2]), 1, IDS[0])):
        recorded = plain(encode(seen.recorded("run", KIND, found)))
    assert seen.snapshot("run", KIND, recorded).state.numbers == [2]
    assert other.snapshot("run", KIND, recorded).state.numbers == [2]


def test_what_differs_from_nothing_cannot_be_read() -> None:
    seen = SeenStates()
    for version in (1, 2):
        recorded = plain(encode(seen.recorded("run", KIND, StoreSnapshot(World(), version, IDS[0]))))
        seen.snapshot("run", KIND, recorded)
    with pytest.raises(Unfit, match="there is none before it"):
        SeenStates().snapshot("run", KIND, recorded)


@pytest.mark.anyio
async def test_the_log_of_a_workflow_grows_by_what_it_writes_and_not_by_what_there_is(path: Path) -> None:
    tried, seen = Module("tried", requires=[office, desk]), list[Any]()

    @tried.workflow("writes")
    async def writes(ctx: Workflow) -> int:
        board = await ctx.store(Board, id="b", initial=Board(notes={"large": "x" * 1_000_000}))
        results: list[Any] = [await board.get()]
        for n in range(20):
            updated = await board.update(noted("last", str(n)))
            updated.state.notes.clear()  # it is the workflow's own
            results += [(await board.get()).state.notes["last"], updated.version]
        first = await board.update_from(await board.get(), push(2))
        assert first.updated
        taken = await board.take("mine", select=free, claim=taken_by("me"))
        results += [first.state.tasks, taken, (await board.get()).state.tasks]
        seen.append(results)
        await ctx.wait(Rang)
        return (await board.update(put(count=7))).state.count

    async with runtime([tried], path=path) as rt:
        run = await rt.start(writes, run_id="r")
        await rt.clock.advance(0)
        sizes = [len(encode(record.payload)) for record in await log(run)]
        assert [size > 1_000_000 for size in sizes].count(True) == 1
        assert sum(sizes) < 1_100_000
        await rt.store(Board, "b").update(noted("last", "somebody else's"))
    async with runtime([tried], path=path) as rt:
        await rt.run("r").signal(Rang())
        assert await rt.run("r").result(timeout=5) == 7
        assert (await rt.verify("r")).sound
        assert (await rt.check()).ok
    assert seen[0] == seen[1]
    first, *notes, tasks, taken, after = seen[0]
    assert notes == [one for n in range(20) for one in (str(n), n + 1)]
    assert (len(first.state.notes["large"]), tasks, taken) == (1_000_000, [Task(0), Task(1)], Task(0))
    assert after == [Task(0, ["me"]), Task(1)]
