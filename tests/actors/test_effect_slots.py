"""A place in the concurrency limit is free exactly when its handler has ended, however it ended."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

from looms import EffectContext, Retry, Runtime
from looms.actors.host import Host
from looms.testing import TestClock, runtime
from tests.actors.desk import Closed, Done, Errand, Progressed, running, until

ONCE = Retry(attempts=1)


class Busy:
    """Handlers that run until they are let go, and who is running now."""

    def __init__(self) -> None:
        self.now: list[str] = []
        self.begun: list[str] = []
        self.gates: dict[str, anyio.Event] = {}

    async def asynchronous(self, request: Errand) -> Done:
        self._begin(request.what)
        try:
            await self.gates.setdefault(request.what, anyio.Event()).wait()
        finally:
            self.now.remove(request.what)
        return Done(what=request.what)

    async def stubborn(self, request: Errand) -> Done:
        with anyio.CancelScope(shield=True):
            done = await self.asynchronous(request)
        return done

    def _begin(self, what: str) -> None:
        self.begun.append(what)
        self.now.append(what)

    def let_go(self, what: str) -> None:
        self.gates.setdefault(what, anyio.Event()).set()


class Blocked:
    """Handlers that block their threads until they are let go."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.gates = {name: threading.Event() for name in ("a", "b", "c", "d")}

    def handler(self, request: Errand) -> Done:
        self.begun.append(request.what)
        self.gates[request.what].wait(30)
        return Done(what=request.what)

    async def until(self, begun: int) -> None:
        """Wait until so many have begun."""
        with anyio.fail_after(20):
            while len(self.begun) < begun:  # noqa: ASYNC110 - a thread tells nobody
                await anyio.sleep(0.001)


class Impatient(TestClock):
    """A clock that does not wait for anybody when it is moved; the usual one waits for blocked threads for a while."""

    def attach(self, host: Host) -> None:
        pass

    def detach(self, host: Host) -> None:
        pass


@pytest.fixture
def clock() -> TestClock:
    return Impatient()


@contextmanager
def blocked() -> Iterator[Blocked]:
    """Nobody stays blocked."""
    made = Blocked()
    try:
        yield made
    finally:
        for gate in made.gates.values():
            gate.set()


@pytest.mark.parametrize("ending", ["answered", "cancelled", "timed out", "failed", "settled"])
async def test_a_place_is_free_when_its_handler_has_ended(ending: str) -> None:
    busy = Busy()
    fail = {"a": ending == "failed"}

    async def handler(request: Errand) -> Done:
        if fail.pop(request.what, False):
            raise OSError("the line is dead")
        return await busy.asynchronous(request)

    modules, desk = running(handler, concurrency=1, timeout=10, retry=ONCE)
    async with runtime(modules) as rt:
        runs = {name: await rt.start(desk, Errand(what=name), run_id=name) for name in "ab"}
        await rt.clock.advance(1)
        match ending:
            case "answered":
                busy.let_go("a")
            case "cancelled":
                await runs["a"].cancel()
            case "timed out":
                await rt.clock.advance(9)
            case "settled":
                await runs["a"].settle_effect("a:1:0")
        await rt.clock.advance(0)
        assert busy.now == ["b"]
        busy.let_go("b")
        await rt.clock.advance(0)
        assert (await runs["b"].state()).done == ("b",)


async def test_handlers_that_wait_for_a_place_get_it_in_the_order_in_which_they_were_asked_for() -> None:
    busy = Busy()
    modules, desk = running(busy.asynchronous, concurrency=2)
    async with runtime(modules) as rt:
        for name in "abcdef":
            await rt.start(desk, Errand(what=name), run_id=name)
        await rt.clock.advance(0)
        for name in "abcdef":
            assert len(busy.now) <= 2
            busy.let_go(name)
            await rt.clock.advance(0)
        assert busy.begun == list("abcdef")


async def test_one_that_is_cancelled_before_it_has_a_place_never_begins() -> None:
    busy = Busy()
    modules, desk = running(busy.asynchronous, concurrency=1)
    async with runtime(modules) as rt:
        for name in "abc":
            await rt.start(desk, Errand(what=name), run_id=name)
        await rt.clock.advance(0)
        await rt.run("b").cancel()
        busy.let_go("a")
        await rt.clock.advance(0)
        assert busy.begun == ["a", "c"]


async def test_an_effect_that_waits_for_its_next_attempt_has_no_place() -> None:
    busy = Busy()
    tried = []

    async def handler(request: Errand, ctx: EffectContext) -> Done:
        tried.append((request.what, ctx.attempt))
        if request.what == "a" and ctx.attempt == 1:
            raise OSError("the line is dead")
        return await busy.asynchronous(request)

    modules, desk = running(handler, concurrency=1, retry=Retry(backoff=100, jitter=0))
    async with runtime(modules) as rt:
        for name in "ab":
            await rt.start(desk, Errand(what=name), run_id=name)
        await rt.clock.advance(99)
        assert busy.now == ["b"]
        await rt.clock.advance(1)
        assert tried == [("a", 1), ("b", 1)]
        busy.let_go("b")
        await rt.clock.advance(0)
        assert busy.now == ["a"]


async def test_a_handler_that_ignores_its_cancellation_keeps_its_place_until_it_ends() -> None:
    busy = Busy()
    modules, desk = running(busy.stubborn, concurrency=1)
    async with runtime(modules) as rt:
        for name in "ab":
            await rt.start(desk, Errand(what=name), run_id=name)
        await rt.clock.advance(0)
        await rt.run("a").cancel("no more")
        await rt.clock.advance(1_000)
        assert busy.now == ["a"]
        assert (await rt.run("a").inspect()).status == "cancelled"
        busy.let_go("a")
        await rt.clock.advance(0)
        assert busy.now == ["b"]
        assert (await rt.run("a").state()).done == ()
        busy.let_go("b")
        await rt.clock.advance(0)


@pytest.mark.parametrize("ending", ["cancelled", "timed out"])
async def test_a_plain_handler_that_is_given_up_keeps_its_place_until_its_thread_ends(
    path: Path, clock: TestClock, ending: str
) -> None:
    with blocked() as threads:
        modules, desk = running(threads.handler, concurrency=1, timeout=10, retry=ONCE)
        async with Runtime(path, modules=modules, clock=clock) as rt:
            a, b = [await rt.start(desk, Errand(what=name), run_id=name) for name in "ab"]
            await threads.until(1)
            if ending == "cancelled":
                await a.cancel()
            else:
                await clock.advance(10)
                assert (await until(a, "looms.effect_failed")).payload["error"] == "TimeoutError"
            quiet = await rt.start(desk, Errand(what="c"), run_id="c")
            for _ in range(50):  # time enough for one that should not begin
                await quiet.signal(Progressed(percent=1))
            assert threads.begun == ["a"]
            await quiet.signal(Closed())
            threads.gates["a"].set()
            await threads.until(2)
            threads.gates["b"].set()
            await until(b, "office.done")
            assert (await a.state()).done == ()


async def test_plain_handlers_run_side_by_side_up_to_the_limit(path: Path, clock: TestClock) -> None:
    with blocked() as threads:
        modules, desk = running(threads.handler, concurrency=3)
        async with Runtime(path, modules=modules, clock=clock) as rt:
            runs = [await rt.start(desk, Errand(what=name), run_id=name) for name in "abcd"]
            await threads.until(3)
            assert sorted(threads.begun) == ["a", "b", "c"]
            threads.gates["b"].set()
            await threads.until(4)
            for gate in threads.gates.values():
                gate.set()
            for run in runs:
                await until(run, "office.done")


async def test_the_limit_is_whole_again_after_a_restart(path: Path) -> None:
    busy, clock = Busy(), TestClock()
    modules, desk = running(busy.asynchronous, concurrency=2)
    async with runtime(modules, path, clock) as rt:
        for name in "abcd":
            await rt.start(desk, Errand(what=name), run_id=name)
        await clock.advance(0)
        assert sorted(busy.now) == ["a", "b"]
    assert busy.now == []
    async with runtime(modules, path, clock) as rt:
        await clock.advance(0)
        assert len(busy.now) == 2
        for name in "abcd":
            busy.let_go(name)
        await clock.advance(0)
        assert [(await rt.run(name).state()).done for name in "abcd"] == [("a",), ("b",), ("c",), ("d",)]


async def test_a_runtime_that_is_closed_waits_for_no_thread(path: Path, clock: TestClock) -> None:
    with blocked() as threads:
        modules, desk = running(threads.handler, concurrency=1)
        async with Runtime(path, modules=modules, clock=clock) as rt:
            await rt.start(desk, Errand(what="a"), run_id="a")
            await threads.until(1)
        async with Runtime(path, modules=modules, clock=clock) as rt:
            threads.gates["a"].set()
            assert (await until(rt.run("a"), "office.done")).effect_id == "a:1:0"
            assert threads.begun == ["a", "a"]


async def test_many_plain_handlers_without_a_limit_all_end() -> None:
    def handler(request: Errand) -> Done:
        return Done(what=request.what)

    modules, desk = running(handler)
    async with runtime(modules) as rt:
        run = await rt.start(desk, Errand(what="n", times=200))
        await rt.clock.advance(0)
        assert sorted((await run.state()).done) == sorted(f"n {n}" for n in range(200))
