"""What is brought back is what it was: its past, whose it is, and what somebody had held."""

import io
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest

from looms import Run, Runtime
from looms.testing import TestClock
from tests.looms.desk import MODULES, Asked, Mood, begin, store
from tests.looms.test_importing import export, exported, good_mood, told

pytestmark = pytest.mark.anyio
__all__ = ["good_mood"]


async def seen(run: Run[Any, Any]) -> tuple[Any, ...]:
    """All that a run tells of itself and its past."""
    return await run.inspect(), [record async for record in run.events()]


async def deleted(run: Run[Any, Any]) -> None:
    await run.cancel(grace=0)
    await run.delete()


async def over(rt: Any) -> None:
    """Runs that are over, with effects behind them; of one the id had been another's."""
    await deleted(await begin(rt, Asked("make", 1), run_id="again"))
    for id in ("once", "again"):
        await (await begin(rt, Asked("make", 1), Asked("make", 2), run_id=id)).signal(Asked("complete", 5))
    await (await rt.run("again").fork(at=2, run_id="fork")).cancel(grace=0)


async def test_runs_that_were_put_by_come_back_as_they_were_and_can_be_put_by_again(tmp_path: Path) -> None:
    async with store(tmp_path / "a.looms") as rt:
        await over(rt)
        ids = ["once", "again", "fork"]
        before, data = {id: await seen(rt.run(id)) for id in ids}, await export(rt)
        assert any("~" in (record.effect_id or "") for record in before["again"][1])
        for again in (data, None, None):  # thrice: what comes back is what was there, and not a little more each time
            data = await export(rt) if again is None else again
            for id in ids:
                await rt.run(id).delete()
            await rt.import_runs(io.BytesIO(data))
            assert {id: await seen(rt.run(id)) for id in ids} == before
            assert told(exported(await export(rt))) == told(exported(data))
    async with store(tmp_path / "b.looms") as rt:  # and so in another store, where runs have other numbers
        await begin(rt, run_id="other")
        await rt.import_runs(io.BytesIO(data))
        assert {id: await seen(rt.run(id)) for id in ids} == before
        assert told(exported(await export(rt, run_ids=ids))) == told(exported(data))


async def test_only_what_it_asks_for_from_now_on_is_called_otherwise(tmp_path: Path) -> None:
    async with store(tmp_path / "a.looms") as rt:
        run = await begin(rt, Asked("make", 1))
        before, data = await seen(run), await export(rt)
        await deleted(run)
        await rt.import_runs(io.BytesIO(data))
        assert await seen(run) == before
        await run.signal(Asked("make", 2))
        await rt.clock.advance(0)
        now = [record.effect_id async for record in run.events() if record.effect_id]
        assert now[0] == "d:2:0"
        assert now[1].startswith("d:4:0~")
        twice = await export(rt)
        state = await seen(run)
        await deleted(run)
        await rt.import_runs(io.BytesIO(twice))
        assert await seen(run) == state


@pytest.mark.parametrize("to", [{}, {"prefix": "p/"}, {"new_ids": True}, {"rename": {"f": "g"}}], ids=str)
@pytest.mark.parametrize("elsewhere", [True, False])
async def test_what_was_held_stays_held_under_any_id(tmp_path: Path, to: Any, elsewhere: bool) -> None:
    async with store(tmp_path / "a.looms") as rt:
        run = await begin(rt, Asked("make", -1))
        fork = await run.fork(at=2, run_id="f")
        data = await export(rt, run_ids=["f"])
        Mood.begun.clear()
        if not elsewhere:
            await deleted(fork)
            await brought(rt, data, to)
    if elsewhere:
        async with store(tmp_path / "b.looms") as rt:
            await brought(rt, data, to)


async def brought(rt: Any, data: bytes, to: Any) -> None:
    """Import what is held, to be dispatched; it is not, until somebody says so."""
    there = {summary.run_id async for summary in rt.runs()}
    await rt.import_runs(io.BytesIO(data), effects="redispatch", **to)
    (id,) = {summary.run_id async for summary in rt.runs()} - there
    await rt.clock.advance(100)
    run = rt.run(id)
    (effect,) = (await run.inspect()).effects
    assert (effect.held, Mood.begun) == (True, [])
    await run.retry_effect(effect.id)
    await rt.clock.advance(0)
    assert Mood.begun == [effect.id]


@pytest.mark.parametrize("prefix", ["", "p/"])
async def test_what_is_held_and_what_is_not_go_as_they_were_or_are_held_alike(tmp_path: Path, prefix: str) -> None:
    clock = TestClock()
    async with store(tmp_path / "a.looms", clock) as rt:
        fork = await (await begin(rt, Asked("make", -1))).fork(at=2, run_id="f")
        await fork.signal(Asked("make", -2))
        data = await export(rt, run_ids=["f"])
    wanted: tuple[tuple[Literal["redispatch", "hold"], list[bool]], ...]
    wanted = ("redispatch", [True, False]), ("hold", [True, True])
    for effects, held in wanted:
        async with store(tmp_path / f"{effects}.looms", clock) as rt:
            await rt.import_runs(io.BytesIO(data), effects=effects, prefix=prefix)
            await clock.advance(0)
            assert [effect.held for effect in (await rt.run(f"{prefix}f").inspect()).effects] == held


async def test_what_comes_held_is_a_fork_of_none_but_of_what_it_was(tmp_path: Path) -> None:
    async with store(tmp_path / "a.looms") as rt:
        fork = await (await begin(rt, Asked("make", -1))).fork(at=2, run_id="f")
        await fork.signal(Asked("note"))
        data = await export(rt)
    async with store(tmp_path / "b.looms") as rt:
        await rt.import_runs(io.BytesIO(data))
        assert await origins(rt) == {"d": None, "f": ("d", 2)}
        await rt.import_runs(io.BytesIO(await export(rt)), prefix="p/")
        assert await origins(rt) == {"d": None, "f": ("d", 2), "p/d": ("d", 2), "p/f": ("f", 3)}


async def origins(rt: Runtime) -> dict[str, Any]:
    found = {summary.run_id: summary.forked_from async for summary in rt.runs()}
    assert found == {id: (await rt.run(id).inspect()).forked_from for id in found}
    return found


async def test_what_came_due_while_a_run_was_suspended_comes_due_once(tmp_path: Path) -> None:
    clock = TestClock()
    async with store(tmp_path / "a.looms", clock) as rt:
        run = await begin(rt, Asked("wait", 1))
        Mood.bad = True
        await run.signal(Asked("make", 1))
        await clock.advance(61)
        assert (await run.inspect()).status == "suspended"
        Mood.bad = False
        data = await export(rt)
        assert '"timer"' in data.decode()
    clock = TestClock()  # where it is not that late yet
    async with store(tmp_path / "b.looms", clock) as rt:
        await rt.import_runs(io.BytesIO(data))
        assert (await rt.check()).ok
        await clock.advance(61)
        await rt.run("d").resume()
        await clock.advance(61)
        assert (await rt.run("d").state()).said == ("nobody: w1",)


async def test_an_import_ends_when_it_is_cancelled_together_with_its_host(tmp_path: Path) -> None:
    async with store(tmp_path / "a.looms") as rt:
        for n in range(6):
            await (await begin(rt, run_id=f"r{n}")).signal(*[Asked("note", n) for n in range(200)])
        data = await export(rt)
    with anyio.fail_after(30), anyio.CancelScope() as scope:
        async with Runtime(tmp_path / "b.looms", modules=MODULES) as rt, anyio.create_task_group() as tasks:
            tasks.start_soon(rt.import_runs, io.BytesIO(data))
            async for _ in rt.commits(follow=True):
                scope.cancel()  # while the next request is asked
    assert scope.cancelled_caught
    async with store(tmp_path / "b.looms") as rt:
        assert (await rt.check()).ok
        await rt.import_runs(io.BytesIO(data), on_conflict="skip")
        assert len([one async for one in rt.runs()]) == 6
