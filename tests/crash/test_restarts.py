"""What was under way when a host ended is taken up by the next one, at its time."""

from pathlib import Path

import anyio
import pytest

from looms.testing import TestClock, runtime
from tests.crash.faults import PATIENCE, Faults
from tests.crash.works import Asked, Trip, desk, modules, noted, trip


async def test_an_effect_that_waits_for_its_next_attempt_gets_it_from_the_next_host(store: Path, ledger: Path) -> None:
    clock = TestClock()
    async with runtime(modules, store, clock) as rt:
        run = await rt.start(desk, 0, run_id="d")
        await run.signal(Asked(6, "stamp"))
        await clock.advance(0)
    assert noted(ledger) == [("d:2:0", 1)]
    async with runtime(modules, store, clock) as rt:
        await clock.advance(0)
        assert noted(ledger) == [("d:2:0", 1)]
        await clock.advance(0.01)
        assert noted(ledger) == [("d:2:0", 1), ("d:2:0", 2)]
        assert (await rt.run("d").inspect()).effects == ()


async def test_a_host_that_ends_while_it_commits_ends_without_a_word(store: Path, ledger: Path, faults: Faults) -> None:
    """Its block's own error comes out, also when that commit asks for an effect, for which it is too late."""
    clock = TestClock()

    async with anyio.create_task_group() as tasks:

        async def fails_while_it_commits() -> None:
            async with runtime(modules, store, clock) as rt:
                faults.hold()
                tasks.start_soon(rt.start, trip, Trip(5, "stamp"))
                await faults.under_way()
                faults.release_in(0.05)
                raise KeyError("the block's own")

        with anyio.fail_after(PATIENCE), pytest.raises(KeyError, match="the block's own"):
            await fails_while_it_commits()
    assert noted(ledger) == []
    async with runtime(modules, store, clock):
        await clock.advance(0)
        assert [attempt for _, attempt in noted(ledger)] == [1]
