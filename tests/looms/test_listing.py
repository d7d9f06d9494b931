"""Lists of runs tell the truth as of the last commit, in the order of the starts, in pages that nobody notices."""

from pathlib import Path
from typing import Any

import pytest

from looms import InvalidInput, Reader, RunActive
from looms.testing import TestClock, runtime
from looms.testing.clock import BEGIN
from tests.actors.rows import rows
from tests.looms.shop import MODULES, OPEN, Closed, Paid, order, till


async def test_runs_are_listed_in_the_order_of_their_starts_however_many(path: Path, clock: TestClock) -> None:
    async with runtime(MODULES, path, clock, durability="relaxed") as rt:
        for n in range(520):
            await rt.start(till if n % 2 else order, OPEN, run_id=f"{(n * 7919) % 1_000}/{n}")
        all_ids = [summary.run_id async for summary in rt.runs()]
        assert len(all_ids) == 520
        assert [int(run_id.split("/")[1]) for run_id in all_ids] == list(range(520))
        odd = [run_id for run_id in all_ids if int(run_id.split("/")[1]) % 2]
        for definition in (till, "shop.till"):
            assert [summary.run_id async for summary in rt.runs(definition=definition)] == odd
        for limit in (0, 1, 255, 256, 257, 512, 519, 520, 521):
            assert [summary.run_id async for summary in rt.runs(limit=limit)] == all_ids[:limit]
        assert [summary.run_id async for summary in rt.runs(definition="shop.nothing")] == []
        async with Reader(path, modules=MODULES) as reader:
            assert [summary.run_id async for summary in reader.runs(definition=till, limit=3)] == odd[:3]


async def test_a_summary_tells_when_a_run_began_and_what_happened_last(path: Path, clock: TestClock) -> None:
    async with runtime(MODULES, path, clock) as rt:
        run = await rt.start(till, OPEN, run_id="t1")
        await clock.advance(10)
        await run.signal(Paid(), Paid())
        await clock.advance(10)
        (summary,) = [summary async for summary in rt.runs()]
        assert (summary.run_id, summary.definition, summary.status, summary.seq) == ("t1", "shop.till", "waiting", 3)
        assert (summary.started_at, summary.updated_at) == (BEGIN, BEGIN + 10_000)
    async with runtime(MODULES, path, clock) as rt:
        assert [one async for one in rt.runs()] == [summary]


async def test_runs_move_from_one_status_to_the_next(path: Path, clock: TestClock) -> None:
    async with runtime(MODULES, path, clock) as rt:
        a, b, c = [await rt.start(order, OPEN, run_id=name) for name in "abc"]

        async def listed() -> dict[str, list[str]]:
            found = {}
            for status in ("running", "waiting", "suspended", "completed", "failed", "cancelled"):
                ids = [summary.run_id async for summary in rt.runs(status=status)]
                if ids:
                    found[status] = ids
            return found

        assert await listed() == {"waiting": ["a", "b", "c"]}
        await b.signal(Paid())
        assert await listed() == {"waiting": ["a", "c"], "completed": ["b"]}
        await a.cancel("x")
        assert await listed() == {"waiting": ["c"], "completed": ["b"], "cancelled": ["a"]}
        await b.delete()
        await clock.advance(60)
        assert await listed() == {"completed": ["c"], "cancelled": ["a"]}
        await c.delete()
        await a.delete()
        await clock.advance(0)
        assert await listed() == {}
        assert rows(rt) == {}


async def test_a_list_that_is_read_while_runs_come_and_go_repeats_none(path: Path, clock: TestClock) -> None:
    async with runtime(MODULES, path, clock, durability="relaxed") as rt:
        for n in range(600):
            await rt.start(till, OPEN, run_id=f"t{n}")
        seen: list[str] = []
        async for summary in rt.runs():
            seen.append(summary.run_id)
            if summary.run_id in ("t10", "t300"):
                for doomed in (f"t{len(seen) + 200}", "t5"):
                    run = rt.run(doomed)
                    if doomed == "t5" and summary.run_id == "t300":
                        continue
                    await run.cancel()
                    await run.delete()
                await rt.start(till, OPEN, run_id=f"late {summary.run_id}")
        assert len(set(seen)) == len(seen)
        assert set(seen) >= {f"t{n}" for n in range(600) if n not in (5, 211, 501)}


BAD: list[dict[str, Any]] = [
    {"status": "open"},
    {"status": "Waiting"},
    {"status": ""},
    {"limit": -1},
    {"limit": 1.5},
    {"limit": "5"},
    {"limit": True},
    {"definition": 5},
    {"definition": Closed},
]


@pytest.mark.parametrize("arguments", BAD)
async def test_what_cannot_be_listed_is_refused(arguments: dict[str, Any]) -> None:
    async with runtime(MODULES) as rt:
        with pytest.raises(InvalidInput, match=next(iter(arguments))):
            await anext(rt.runs(**arguments))


async def test_a_run_that_is_not_over_is_not_deleted() -> None:
    async with runtime(MODULES) as rt:
        run = await rt.start(order, OPEN, run_id="o1")
        with pytest.raises(RunActive, match="waiting"):
            await run.delete()
        assert (await run.inspect()).status == "waiting"
        await run.signal(Paid())
        await run.delete()
        again = await rt.start(order, OPEN, run_id="o1")
        assert (await again.inspect()).seq == 1
