"""What is left of deleted runs is removed, and nothing else: a copy that was hidden as such may be a run by now."""

from pathlib import Path

from looms.snapshots import heads, removal
from looms.testing import TestClock, runtime
from tests.looms.shop import MODULES, OPEN, Paid, till


async def test_a_removal_that_was_decided_before_a_copy_was_shown_leaves_the_run_alone(
    path: Path, clock: TestClock
) -> None:
    """The copy stood among those to be removed when it was looked up, and is a run when its turn comes."""
    async with runtime(MODULES, path, clock) as rt:
        run = await rt.start(till, OPEN, run_id="t1")
        await run.signal(Paid(5))
        before = await run.inspect()
        with rt.view() as view:
            head = heads.find(view, "t1")
            assert head is not None
            assert not removal.is_pending(view, head.number)
        assert await rt.host.removals._step([head.number])
        assert await run.inspect() == before
        assert (await rt.check()).ok
        await run.signal(Paid(6))
    async with runtime(MODULES, path, clock) as rt:
        assert len([record async for record in rt.run("t1").events()]) == 3
