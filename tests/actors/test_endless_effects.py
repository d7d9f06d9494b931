"""A handler that never returns keeps nobody but itself: others go on, it is seen, and the runtime ends without it."""

import threading
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from looms import OutstandingEffect, Reader, Retry, Runtime
from looms.testing import TestClock, runtime
from looms.testing.clock import BEGIN
from tests.actors.desk import Done, Errand, running
from tests.actors.logged import Logged, said

ONCE = Retry(attempts=1)
SOON = 10  # seconds: long before anything else would end it


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """What a blocked handler waits for: the end of the test."""
    gate = threading.Event()
    yield gate
    gate.set()


async def outstanding(source: Runtime | Reader) -> list[OutstandingEffect]:
    return [effect async for effect in source.effects()]


async def test_others_go_on_and_it_is_seen_since_when_it_runs(path: Path) -> None:
    async def handler(request: Errand) -> Done:
        if request.what == "endless":
            await anyio.sleep_forever()
        return Done(what=request.what)

    modules, desk = running(handler)
    async with runtime(modules, path) as rt, Reader(path) as reader:
        await rt.start(desk, Errand("endless"), run_id="endless")
        await rt.clock.advance(3_600)
        other = await rt.start(desk, Errand("other"), run_id="other")
        await rt.clock.advance(0)
        assert (await other.state()).done == ("other",)
        [effect] = await outstanding(reader)
        assert (effect.effect_id, effect.running, effect.attempts) == ("endless:1:0", True, 1)
        assert (effect.since, effect.first_at) == (BEGIN, BEGIN)


async def test_when_an_attempt_has_failed_nothing_runs(path: Path) -> None:
    async def handler(request: Errand) -> Done:
        await anyio.sleep_forever()
        return Done(what=request.what)

    modules, desk = running(handler, timeout=60, retry=Retry(attempts=2, backoff=60, jitter=0))
    async with runtime(modules, path) as rt:
        await rt.start(desk, Errand("late"), run_id="late")
        await rt.clock.advance(60)
        [effect] = await outstanding(rt)
        assert (effect.running, effect.since, effect.error) == (False, None, "TimeoutError")
        await rt.clock.advance(60)
        [effect] = await outstanding(rt)
        assert (effect.running, effect.since, effect.first_at) == (True, BEGIN + 120_000, BEGIN)
        await rt.clock.advance(60)
        assert await outstanding(rt) == []


async def test_a_runtime_ends_without_an_async_handler_that_does_not(path: Path) -> None:
    ended = []

    async def handler(request: Errand) -> Done:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append(request.what)
        return Done(what=request.what)

    modules, desk = running(handler, retry=ONCE)
    with anyio.fail_after(SOON):
        async with runtime(modules, path) as rt:
            await rt.start(desk, Errand("a"), run_id="r")
            await rt.clock.advance(0)
    assert ended == ["a"]


async def test_a_runtime_ends_without_a_handler_that_blocks_its_thread(
    path: Path, clock: TestClock, logged: Logged, gate: threading.Event
) -> None:
    begun = threading.Semaphore(0)

    def handler(request: Errand) -> Done:
        begun.release()
        gate.wait()
        return Done(what=request.what)

    modules, desk = running(handler, retry=Retry(attempts=2))
    with anyio.fail_after(SOON):
        async with Runtime(path, modules=modules) as rt:
            for run_id in ("a", "b"):
                await rt.start(desk, Errand(run_id), run_id=run_id)
                await anyio.to_thread.run_sync(begun.acquire)
    (told,) = said(logged, "handlers still run")
    assert (told["effect"], told["handlers"]) == ("errands.run", 2)
    gate.set()
    async with Runtime(path, modules=modules) as rt:  # that attempt counts as cut off, and this is the next
        for run_id in ("a", "b"):
            async for record in rt.run(run_id).events(follow=True):
                if record.origin == "effect":
                    break
            assert (await rt.run(run_id).state()).done == (run_id,)
    assert len(said(logged, "handlers still run")) == 1
