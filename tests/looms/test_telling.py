"""A host is silent unless the application has configured its log; then it tells of what happens, once it is on disk."""

from pathlib import Path
from typing import Any

import pytest
import structlog

from looms import EffectContext, ReducerError, Retry, Runtime
from looms.testing import TestClock, runtime
from tests.actors.desk import ONE, Done, Errand, running
from tests.actors.logged import Logged, said
from tests.actors.scripts import Do, Told, play, player
from tests.looms.shop import MODULES, OPEN, Paid, order, till


async def test_nothing_is_told_to_an_application_that_has_not_asked(
    path: Path, clock: TestClock, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    assert not structlog.is_configured()

    async def handler(request: Errand, ctx: EffectContext) -> Done:
        raise OSError("the line is dead")

    modules, desk = running(handler, retry=Retry(attempts=2))
    async with runtime([*modules, play], path, clock) as rt:
        await rt.start(desk, ONE)
        run = await rt.start(player, Do())
        await run.signal(Told(what=Do(ends="fail")), key="k")
        await run.signal(Told(what=Do()), key="k")
        await clock.advance(60)
    async with Runtime(path, modules=MODULES):
        pass
    assert capfd.readouterr() == ("", "")
    assert caplog.records == []


async def test_the_life_of_a_host_and_its_runs_is_told(path: Path, clock: TestClock, logged: Logged) -> None:
    async with runtime([play], path, clock) as rt:
        await rt.start(player, Do(), run_id="r1")
        await rt.run("r1").signal(Told(what=Do(ends="complete")))
        await rt.start(player, Do(ends="fail"), run_id="r2")
        await rt.start(player, Do(), run_id="r3")
        await rt.run("r3").cancel("enough")
    lives = [entry for entry in logged if entry["log_level"] == "info"]
    assert [(entry["event"], entry.get("run_id")) for entry in lives if entry["event"] != "no doorbell"] == [
        ("host started", None),
        ("run started", "r1"),
        ("run completed", "r1"),
        ("run started", "r2"),
        ("run failed", "r2"),
        ("run started", "r3"),
        ("run cancelled", "r3"),
        ("host stopped", None),
    ]
    assert said(logged, "run failed") == [{"run_id": "r2", "seq": 1, "error": "as it was told"}]
    assert said(logged, "run started")[0] == {"run_id": "r1", "definition": "play.player"}
    turns = said(logged, "turn")
    assert turns[:2] == [{"run_id": "r1", "first": 1, "last": 1}, {"run_id": "r1", "first": 2, "last": 2}]
    assert {entry["log_level"] for entry in logged if entry["event"] == "turn"} == {"debug"}


async def test_what_an_operator_should_know_is_a_warning(path: Path, clock: TestClock, logged: Logged) -> None:
    async def handler(request: Errand, ctx: EffectContext) -> Done:
        raise OSError(f"attempt {ctx.attempt}")

    modules, desk = running(handler, retry=Retry(attempts=2, backoff=1, jitter=0))
    async with runtime(modules, path, clock) as rt:
        await rt.start(desk, ONE, run_id="d1")
        await clock.advance(60)
        reduce = desk.function

        def raising(state: Any, event: Any) -> Any:
            raise LookupError("as it was told")

        run = await rt.start(desk, ONE, run_id="d2")
        desk.function = raising
        await clock.advance(60)
        desk.function = reduce
        assert (await run.inspect()).status == "suspended"
    warnings = [entry for entry in logged if entry["log_level"] == "warning"]
    assert {entry["event"] for entry in warnings} == {"effect failed", "effect gave up", "run suspended"}
    assert said(logged, "effect failed")[0] == {
        "effect": "errands.run",
        "effect_id": "d1:1:0",
        "attempt": 1,
        "error": "OSError: attempt 1",
        "again_in": 1.0,
    }
    assert said(logged, "effect gave up")[0]["attempts"] == 2
    (suspended,) = said(logged, "run suspended")
    assert (suspended["run_id"], suspended["type"]) == ("d2", "looms.effect_failed")
    assert "as it was told" in suspended["error"]


async def test_a_log_that_raises_stops_nobody(path: Path, clock: TestClock, caplog: pytest.LogCaptureFixture) -> None:
    def raising(logger: Any, method: str, event: Any) -> Any:
        raise ValueError("the log is full")

    structlog.configure(processors=[raising])
    try:
        async with runtime(MODULES, path, clock) as rt:
            run = await rt.start(order, OPEN, run_id="o1")
            await clock.advance(60)
            assert await run.result() == "nobody paid"
    finally:
        structlog.reset_defaults()
    assert "could not take 'run started'" in caplog.text
    assert "the log is full" in caplog.text


async def test_a_call_that_is_refused_is_not_told_of(logged: Logged) -> None:
    async with runtime(MODULES) as rt:
        run = await rt.start(till, OPEN)
        before = list(logged)
        with pytest.raises(ReducerError):
            await run.signal(Paid(amount=-1))
        assert logged == before
