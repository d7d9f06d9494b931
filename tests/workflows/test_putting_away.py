"""A workflow that leaves the memory, or whose process ends, runs none of its code in that."""

import contextlib
import gc
import itertools
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from looms import Module, Runtime, Workflow
from looms.testing import TestClock, runtime
from looms.workflows import silent
from tests.house.repository import REPOSITORY
from tests.workflows.desk import Rang, desk

pytestmark = pytest.mark.anyio

told: list[str] = []
"""What the code of a workflow did that it should do when it is over alone."""


@pytest.fixture(autouse=True)
def nothing_told() -> Iterator[None]:
    told.clear()
    yield
    gc.collect()
    told.clear()


module = Module("silent", requires=[desk])


@contextlib.contextmanager
def kept(name: str) -> Iterator[str]:
    try:
        yield name
    finally:
        told.append(f"{name} is let go")


@contextlib.asynccontextmanager
async def kept_for_long(ctx: Workflow, name: str) -> AsyncIterator[str]:
    await ctx.sleep(1)
    try:
        yield name
    finally:
        await ctx.sleep(1)
        told.append(f"{name} is let go")


class Gate:
    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        told.append("gate is closed")


def counted() -> Generator[int, None, None]:
    try:
        yield from itertools.count(1)
    finally:
        told.append("counted")


async def rings(ctx: Workflow) -> AsyncGenerator[str, None]:
    try:
        while True:
            yield (await ctx.wait(Rang)).who
    finally:
        told.append("rings are over")


@module.workflow("deep")
async def deep(ctx: Workflow, most: int) -> int:
    """Is in the midst of all that Python can be in the midst of."""

    async def branch() -> None:
        try:
            await ctx.sleep(3_600)
        finally:
            told.append("branch")

    async def heard() -> int:
        async with kept_for_long(ctx, "long"):
            with kept("short"), contextlib.ExitStack() as stack, Gate(), contextlib.closing(counted()) as numbers:
                stack.enter_context(kept("stacked"))
                stack.callback(told.append, "called back")
                for _, n in enumerate(map(abs, numbers)):
                    async with contextlib.aclosing(rings(ctx)) as who:
                        async for _ in who:
                            break
                    if n == most:
                        return n
        return 0

    try:
        index, value = await ctx.race(branch(), heard())
        return value or index
    except BaseException as error:
        told.append(type(error).__name__)
        raise
    finally:
        told.append("over")


async def until_parked(rt: Any) -> None:
    await rt.clock.advance(1)
    gc.collect()


async def test_putting_away_runs_nothing_however_often_and_the_end_runs_all_once(path: Path, clock: TestClock) -> None:
    async with runtime([module], path=path, clock=clock, max_resident=1) as rt:
        await rt.start(deep, 4, run_id="d")
        await until_parked(rt)
    for _ in range(2):
        async with runtime([module], path=path, clock=clock, max_resident=1) as rt:
            told.clear()  # it is played again, and what it has done is done again in memory
            await rt.run("d").signal(Rang())
            gc.collect()
            assert set(told) <= {"rings are over"}, "what it has left is left"
            for _ in range(3):
                await (await rt.start(deep, 4)).state()
            gc.collect()
    gc.collect()
    assert set(told) <= {"rings are over"}
    async with runtime([module], path=path, clock=clock) as rt:
        await rt.run("d").signal(Rang())
        told.clear()
        await rt.run("d").signal(Rang())
        await until_parked(rt)
        assert await rt.run("d").result(timeout=5) == 4
        assert told == [
            "rings are over",
            "counted",
            "gate is closed",
            "called back",
            "stacked is let go",
            "short is let go",
            "long is let go",
            "branch",
            "over",
        ]


async def test_a_runtime_that_is_cancelled_runs_nothing(path: Path) -> None:
    async def serve(started: anyio.Event) -> None:
        async with Runtime(path, modules=[module]) as rt:
            await rt.start(deep, 4, run_id="d")
            started.set()
            await anyio.sleep_forever()

    async with anyio.create_task_group() as tasks:
        started = anyio.Event()
        tasks.start_soon(serve, started)
        await started.wait()
        tasks.cancel_scope.cancel()
    gc.collect()
    assert told == []


async def test_a_workflow_that_was_refused_is_gone_without_a_word(path: Path) -> None:
    @contextlib.contextmanager
    def noted() -> Iterator[None]:
        try:
            yield
        finally:
            told.append("refused")

    other = Module("refused", requires=[desk])

    @other.workflow("refused")
    async def refused(ctx: Workflow) -> None:
        with noted():
            await ctx.wait(Rang, key="one")
            await ctx.wait(Rang, key="one")

    async with runtime([other], path=path) as rt:
        run = await rt.start(refused, run_id="r")
        with pytest.raises(Exception, match="two steps have the key"):
            await run.signal(Rang())
        gc.collect()
        first = list(told)
        assert (await run.inspect()).status == "waiting"
    gc.collect()
    assert first == told == ["refused"], "only where the error itself went through it"


PROGRAM = """
import anyio, atexit, sys
from looms.testing import runtime
from tests.workflows.test_putting_away import deep, module, told
atexit.register(lambda: print("at exit", told))

class Last:
    def __del__(self):
        print("in the end", told)

sys.modules["zz_last"] = Last()

async def main():
    rt = runtime([module], path=sys.argv[1])
    running = await rt.__aenter__()
    await running.start(deep, 4, run_id="d")
    await running.clock.advance(2)
    if sys.argv[2] == "exit":
        sys.exit()

try:
    anyio.run(main, backend=sys.argv[3])
finally:
    print("done", told)
"""


@pytest.mark.parametrize(("how", "backend"), [("exit", "asyncio"), ("return", "trio")])
def test_the_end_of_the_process_runs_nothing(how: str, backend: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "store.looms"), how, backend]
    said = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=60, check=False)
    lines = [line for line in said.stdout.splitlines() if line.startswith(("done", "at exit", "in the end"))]
    assert lines[:2] == ["done []", "at exit []"], said.stderr
    assert all(line.endswith("[]") for line in lines)


async def test_where_objects_cannot_be_marked_they_are_kept(
    path: Path, clock: TestClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(silent, "_MARKABLE", False)
    monkeypatch.setattr(silent, "_kept", {})
    async with runtime([module], path=path, clock=clock, max_resident=1) as rt:
        await rt.start(deep, 4, run_id="d")
        await until_parked(rt)
    gc.collect()
    assert told == []
    assert silent._kept
    async with runtime([module], path=path, clock=clock) as rt:
        told.clear()
        for _ in range(4):
            await rt.run("d").signal(Rang())
        await until_parked(rt)
        assert await rt.run("d").result(timeout=5) == 4
        assert told[-1] == "over"
