"""A value of the wrong type is told by its argument's name, at every call that takes one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import looms
from looms import LoomsError, Reader, Runtime
from looms.testing import TestClock, runtime
from tests.looms.shop import MODULES, OPEN, till

pytestmark = pytest.mark.anyio

BAD: tuple[Any, ...] = (
    7.5,
    True,
    b"x",
    {},
    object(),
)  # none of these is a path, an id, a seq, a list of ids or of modules


async def called(call: Callable[[], Any]) -> None:
    answer = call()
    if hasattr(answer, "__await__"):
        answer = await answer
    if hasattr(answer, "__anext__"):
        async for _ in answer:
            pass


@pytest.mark.parametrize("bad", [None, *BAD], ids=lambda bad: type(bad).__name__)
async def test_no_call_answers_with_a_raw_type_error(path: Path, clock: TestClock, bad: Any) -> None:
    made = str(path)
    async with runtime(MODULES, path, clock) as rt:
        run = await rt.start(till, OPEN, run_id="t")
        calls: dict[str, Callable[[], Any]] = {
            "path": lambda: Runtime(bad, modules=MODULES),
            "path ": lambda: Reader(bad),
            "path  ": lambda: looms.check(bad),
            "path   ": lambda: looms.stats(bad),
            "path    ": lambda: looms.repair(bad),
            "path     ": lambda: looms.open_reader(bad),
            "target": lambda: looms.backup(made, bad),
            "path      ": lambda: looms.backup(bad, "copy.looms"),
            "target ": lambda: rt.backup(bad),
            "target  ": lambda: rt.export_runs(bad),
            "source": lambda: rt.import_runs(bad),
            "top": lambda: rt.stats(top=bad),
            "after": lambda: run.events(bad),
            "after ": lambda: run.replays(bad),
            "after  ": lambda: rt.commits(after=bad),
            "seq": lambda: run.replay_to(bad),
            "seq ": lambda: run.diff(bad, 1),
            "type": lambda: rt.event(bad, {}),
            "run id": lambda: rt.run(bad),
            "run id ": lambda: rt.check(bad),
        }
        if bad != {}:
            calls |= {
                "modules": lambda: Runtime("new.looms", modules=bad),
                "modules ": lambda: looms.open("new.looms", modules=bad),
                "modules  ": lambda: Reader(made, modules=bad),
                "modules   ": lambda: looms.check(made, modules=bad),
                "runs": lambda: looms.check(made, runs=bad),
            }
        if bad is not None:
            calls |= {
                "definition": lambda: rt.runs(definition=bad),
                "status": lambda: rt.runs(status=bad),
                "limit": lambda: rt.runs(limit=bad),
                "to": lambda: run.events(to=bad),
                "map_size": lambda: Runtime(made, modules=MODULES, map_size=bad),
                "retention": lambda: Runtime(made, modules=MODULES, retention=bad),
            }
            if bad != {}:
                calls["run_ids"] = lambda: rt.export_runs("new.jsonl", bad)
                calls["rename"] = lambda: rt.import_runs("none.jsonl", rename=bad)
            if bad != 7.5:
                calls["timeout"] = lambda: run.result(bad)
        for name, call in calls.items():
            with pytest.raises(LoomsError, match=name.strip()):
                await called(call)


async def coroutine(*_: object) -> None:
    """What would never run, as nobody awaits it."""


def generator(*_: object) -> Any:
    """What would never run, as nobody goes through it."""
    yield


@pytest.mark.parametrize("bad", [coroutine, generator, 7], ids=["async", "generator", "number"])
async def test_what_is_told_on_the_way_is_a_plain_function(path: Path, clock: TestClock, bad: Any) -> None:
    made = str(path)
    async with runtime(MODULES, path, clock) as rt, Reader(path) as reader:
        calls: dict[str, Callable[[], Any]] = {
            "progress": lambda: rt.export_runs("new.jsonl", progress=bad),
            "progress ": lambda: reader.export_runs("new.jsonl", progress=bad),
            "progress  ": lambda: rt.import_runs("none.jsonl", progress=bad),
            "progress   ": lambda: rt.prune(finished_older=0, progress=bad),
            "found": lambda: looms.check(made, found=bad),
            "step": lambda: looms.check(made, step=bad),
            "step ": lambda: looms.stats(made, step=bad),
            "step  ": lambda: looms.backup(made, "copy.looms", step=bad),
            "step   ": lambda: looms.repair(made, step=bad),
            "repaired": lambda: looms.repair(made, repaired=bad),
        }
        for name, call in calls.items():
            with pytest.raises(LoomsError, match=f"{name.strip()}=.*give a plain function"):
                await called(call)


def test_a_status_of_another_type_is_told_without_await_too(path: Path) -> None:
    wrong: Any = 0
    with looms.open(path, modules=MODULES) as rt, pytest.raises(LoomsError, match="status=0; one of running"):
        list(rt.runs(status=wrong))
