"""The id of a deleted run is free again; the effects of the next run of that id are not the former run's."""

from pathlib import Path

import anyio
import pytest

from looms import EffectContext, Reader, UnknownEffect
from looms.testing import TestClock, runtime
from tests.actors.desk import Closed, Done, Errand, log, running

pytestmark = pytest.mark.anyio


async def test_no_effect_has_the_id_of_one_of_a_deleted_run(path: Path, clock: TestClock) -> None:
    asked: list[str] = []

    async def handler(request: Errand, ctx: EffectContext) -> Done:
        asked.append(ctx.effect_id)
        return Done(what=request.what)

    modules, desk = running(handler)
    for _ in range(3):
        async with runtime(modules, path, clock) as rt:
            run = await rt.start(desk, Errand(times=2), run_id="d1")
            await clock.advance(0)
            asked[-2:] = sorted(asked[-2:])
            assert sorted(record.effect_id for record in await log(run) if record.effect_id) == asked[-2:]
            assert (await run.replay_to(2)).record.effect_id in asked[-2:]
            await run.signal(Closed())
            await run.delete()
    assert len(set(asked)) == 6
    assert asked[:2] == ["d1:1:0", "d1:1:1"]
    assert [id.partition("~")[0] for id in asked[2:]] == ["d1:1:0", "d1:1:1"] * 2


async def test_such_an_effect_is_known_by_its_id_everywhere_and_by_the_former_one_nowhere(
    path: Path, clock: TestClock
) -> None:
    asked: list[str] = []

    async def handler(request: Errand, ctx: EffectContext) -> Done:
        asked.append(ctx.effect_id)
        await anyio.sleep_forever()
        return Done()

    modules, desk = running(handler)
    async with runtime(modules, path, clock) as rt:
        run = await rt.start(desk, run_id="d1", input=Errand())
        await clock.advance(0)  # until its handler has begun
        await run.cancel(grace=0)
        await run.delete()
        run = await rt.start(desk, run_id="d1", input=Errand())
        await clock.advance(0)
    async with runtime(modules, path, clock) as rt:
        run = rt.run("d1")
        await clock.advance(0)
        (effect,) = (await run.inspect()).effects
        assert effect.id != "d1:1:0"
        assert asked == ["d1:1:0", effect.id, effect.id]
        async with Reader(path, modules=modules) as reader:
            assert (await reader.run("d1").inspect()).effects == (effect,)
        for other in ("d1:1:0", f"{effect.id}0", "d1:1:0~0", "d1:1:0~"):
            with pytest.raises(UnknownEffect, match=r"d1:SEQ:INDEX~\d"):
                await run.retry_effect(other)
            with pytest.raises(UnknownEffect, match=r"d1:SEQ:INDEX~\d"):
                await run.settle_effect(other, Done())
        await run.retry_effect(effect.id)
        await run.settle_effect(effect.id, Done(what="by hand"))
        assert (await log(run))[-1].effect_id == effect.id
        assert (await run.inspect()).effects == ()
        with pytest.raises(UnknownEffect, match="not outstanding"):
            await run.settle_effect(effect.id, Done())
