"""Of what a handler raises, the class, the message and the number of attempts are kept, whatever it was."""

import asyncio
from pathlib import Path
from typing import Any

import anyio
import pytest

from looms import EffectContext, EffectFailed, Retry, UnknownRun
from looms.testing import TestClock, runtime
from tests.actors.desk import ONE, Closed, Done, Errand, Handler, log, running

ONCE = Retry(attempts=1)


class Speechless(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class Wordless(Exception):
    def __str__(self) -> str:
        return None  # type: ignore[return-value]


class Demanding(Exception):
    """One that cannot be made again from its message."""

    def __init__(self, *, code: int, where: str) -> None:
        super().__init__(f"{code} at {where}")


class Fundamental(BaseException):
    pass


def raising(error: BaseException) -> Handler:
    async def handler(request: Errand) -> Done:
        raise error

    return handler


def raising_plainly(error: BaseException) -> Handler:
    def handler(request: Errand) -> Done:
        raise error

    return handler


async def failure(handler: Handler) -> EffectFailed:
    """What a run is told of a handler that fails."""
    modules, desk = running(handler, retry=ONCE)
    async with runtime(modules) as rt:
        run = await rt.start(desk, ONE, run_id="d1")
        await rt.clock.advance(0)
        (failed,) = (await run.state()).failed
        assert (failed.effect, failed.effect_id, failed.attempts) == ("errands.run", "d1:1:0", 1)
        await run.signal(Closed())
        assert await run.result() == []
        return failed


ERRORS: dict[str, tuple[BaseException, str, str]] = {
    "a plain one": (OSError("the line is dead"), "OSError", "the line is dead"),
    "one without a message": (ValueError(), "ValueError", ""),
    "a KeyError": (KeyError("k"), "KeyError", "'k'"),
    "one of ours": (UnknownRun("which?"), "UnknownRun", "which?"),
    "one of its own making": (Demanding(code=7, where="sea"), "Demanding", "7 at sea"),
    "one that cannot be told": (Speechless(), "Speechless", "(its message could not be made: RuntimeError)"),
    "one that tells nothing": (Wordless(), "Wordless", "(its message could not be made: TypeError)"),
    "half a character": (ValueError("a\ud800b"), "ValueError", "a\\ud800b"),
    "orders to a terminal": (ValueError("\x1b[31mred\x00\u202e"), "ValueError", "\\x1b[31mred\\x00\\u202e"),
    "several lines": (ValueError("one\n\ttwo ☃"), "ValueError", "one\n\ttwo ☃"),
    "one that ends a program": (SystemExit(3), "SystemExit", "3"),
    "one that closes a coroutine": (GeneratorExit("closed"), "GeneratorExit", "closed"),
    "one under no roof": (Fundamental("deep"), "Fundamental", "deep"),
}


@pytest.mark.parametrize("make", [raising, raising_plainly])
@pytest.mark.parametrize("what", ERRORS)
async def test_whatever_a_handler_raises_is_told_to_its_run(what: str, make: Any) -> None:
    error, name, message = ERRORS[what]
    failed = await failure(make(error))
    assert (failed.error, failed.message) == (name, message)


async def test_a_plain_handler_may_raise_what_ends_an_iteration() -> None:
    failed = await failure(raising_plainly(StopIteration("no more")))
    assert "StopIteration" in f"{failed.error}: {failed.message}"


async def test_a_thread_has_no_ctrl_c_so_a_plain_handler_may_raise_what_one_is() -> None:
    assert (await failure(raising_plainly(KeyboardInterrupt("stop")))).error == "KeyboardInterrupt"


async def test_an_awaitable_of_its_own_kind_may_raise_what_closes_a_coroutine() -> None:
    class Closing:
        def __await__(self) -> Any:
            raise GeneratorExit("closed")

    def handler(request: Errand) -> Any:
        return Closing()

    assert (await failure(handler)).error == "GeneratorExit"


async def test_a_long_message_is_shortened() -> None:
    failed = await failure(raising(ValueError("x" * 1_000_000)))
    assert len(failed.message) == 1_000
    assert failed.message.endswith("x…")


async def test_a_group_of_errors_is_one_failure() -> None:
    async def handler(request: Errand) -> Done:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(raising(ValueError("one")), request)
            await anyio.sleep_forever()
        return Done()

    assert (await failure(handler)).error == "ExceptionGroup"


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # only asyncio lets anybody raise its cancellation
async def test_a_handler_that_was_cancelled_by_something_of_its_own_has_failed() -> None:
    async def handler(request: Errand) -> Done:
        lost: asyncio.Future[Done] = asyncio.get_running_loop().create_future()
        lost.cancel("gone")
        return await lost

    assert (await failure(handler)).error == "CancelledError"


async def test_a_failure_is_the_same_after_a_restart_also_when_its_class_is_gone(path: Path, clock: TestClock) -> None:
    class Local(Exception):
        pass

    modules, desk = running(raising(Local("what")), retry=ONCE)
    async with runtime(modules, path, clock) as rt:
        run = await rt.start(desk, ONE, run_id="d1")
        await clock.advance(0)
        live, record = (await run.state()).failed, (await log(run))[-1]
    del Local
    async with runtime(modules, path, clock) as rt:
        run = rt.run("d1")
        assert (await run.state()).failed == live
        assert (await log(run))[-1] == record
        assert (await run.replay_to(2)).after.state.failed == live


async def test_the_message_of_the_last_attempt_is_told_with_the_number_of_attempts() -> None:
    async def handler(request: Errand, ctx: EffectContext) -> Done:
        raise OSError(f"attempt {ctx.attempt}")

    modules, desk = running(handler, retry=Retry(attempts=3, backoff=1))
    async with runtime(modules) as rt:
        run = await rt.start(desk, ONE)
        await rt.clock.advance(60)
        (failed,) = (await run.state()).failed
        assert (failed.message, failed.attempts) == ("attempt 3", 3)


async def test_a_handler_that_answers_after_its_time_is_over_has_answered() -> None:
    async def handler(request: Errand) -> Done:
        with anyio.CancelScope(shield=True):
            await rt.clock.sleep_until(rt.clock.now() + 30_000)
        return Done(what="late")

    modules, desk = running(handler, timeout=10, retry=ONCE)
    async with runtime(modules) as rt:
        run = await rt.start(desk, ONE)
        await rt.clock.advance(30)
        assert (await run.state()).done == ("late",)


async def test_a_handler_that_raises_because_its_time_is_over_ran_out_of_time() -> None:
    async def handler(request: Errand) -> Done:
        try:
            await anyio.sleep_forever()
        except BaseException as error:
            raise OSError("while closing") from error
        return Done()

    modules, desk = running(handler, timeout=10, retry=ONCE)
    async with runtime(modules) as rt:
        run = await rt.start(desk, ONE)
        await rt.clock.advance(10)
        (failed,) = (await run.state()).failed
        assert (failed.error, failed.message) == ("TimeoutError", "the attempt took longer than 10.0 s")


async def test_handlers_that_make_trouble_when_they_are_cancelled_trouble_nobody() -> None:
    async def worse(scope: anyio.CancelScope) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            raise ValueError("it got worse")

    async def handler(request: Errand) -> Done:
        if request.what == "quiet":
            return Done(what="quiet")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(worse, tasks.cancel_scope)
            tasks.start_soon(anyio.sleep_forever)
            await anyio.sleep_forever()
        return Done()

    modules, desk = running(handler, timeout=10, retry=ONCE)
    async with runtime(modules) as rt:
        late, over = await rt.start(desk, ONE), await rt.start(desk, ONE)
        await rt.clock.advance(1)
        await over.cancel()
        await rt.clock.advance(9)
        assert [failed.error for failed in (await late.state()).failed] == ["TimeoutError"]
        quiet = await rt.start(desk, Errand(what="quiet"))
        await rt.clock.advance(0)
        assert (await quiet.state()).done == ("quiet",)
    async with runtime(modules) as rt:
        await rt.start(desk, ONE)
        await rt.clock.advance(1)  # and then the runtime is closed
