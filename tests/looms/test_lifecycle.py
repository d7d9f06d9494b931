"""A runtime serves while its context is open. What leaves it comes out as it is; what comes later is told so."""

import os
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.from_thread
import anyio.to_thread
import pytest

from looms import InvalidInput, Reader, RunFailed, Runtime, RuntimeClosed, StoreInUse, StoreNotFound
from looms.testing import TestClock, runtime
from tests.actors.rows import rows
from tests.looms.shop import MODULES, OPEN, Closed, Paid, everything, ledger, log, order, till


def calls_on(rt: Runtime) -> dict[str, Callable[[], Awaitable[Any]]]:
    """Every call that looks at the store or changes it."""
    run = rt.run("t1")
    return {
        "start": lambda: rt.start(till, OPEN),
        "publish": lambda: rt.publish(Paid()),
        "runs": lambda: anext(rt.runs()),
        "commits": lambda: anext(rt.commits()),
        "follow commits": lambda: anext(rt.commits(after=1_000, follow=True)),
        "signal": lambda: run.signal(Paid()),
        "signal and keep": lambda: run.signal(Paid(), retain=60),
        "result": lambda: run.result(),
        "look for the result": lambda: run.result(timeout=0),
        "inspect": lambda: run.inspect(),
        "state": lambda: run.state(),
        "project": lambda: run.project(ledger),
        "replay_to": lambda: run.replay_to(1),
        "events": lambda: anext(run.events()),
        "follow": lambda: anext(run.events(after=1_000, follow=True)),
        "snapshots": lambda: anext(run.snapshots()),
        "snapshot": lambda: run.snapshot(1),
        "cancel": lambda: run.cancel(),
        "resume": lambda: run.resume(),
        "delete": lambda: run.delete(),
        "retry_effect": lambda: run.retry_effect("t1:1:0"),
        "settle_effect": lambda: run.settle_effect("t1:1:0", Paid()),
    }


NAMES = list(calls_on(Runtime("nowhere.looms", modules=MODULES)))


@pytest.mark.parametrize("name", NAMES)
async def test_a_call_after_the_close_is_told_so_from_any_task_and_thread(path: Path, name: str) -> None:
    rt = Runtime(path, modules=MODULES)
    with pytest.raises(RuntimeClosed, match="async with"):
        await calls_on(rt)[name]()
    assert os.listdir(path.parent) == []
    async with rt:
        await rt.start(till, OPEN, run_id="t1")
    told: list[str] = []

    async def call() -> None:
        with pytest.raises(RuntimeClosed) as closed:
            await calls_on(rt)[name]()
        told.append(str(closed.value))

    def in_a_thread_of_its_own() -> None:
        anyio.run(call)

    await call()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call)
    await anyio.to_thread.run_sync(anyio.from_thread.run, call)
    thread = threading.Thread(target=in_a_thread_of_its_own)
    thread.start()
    await anyio.to_thread.run_sync(thread.join)
    assert len(told) == 4
    assert all(str(path) in text and "is closed" in text for text in told)


async def test_whoever_waits_when_the_runtime_is_closed_is_told_so(path: Path) -> None:
    told: list[str] = []

    async def waiting(name: str, call: Callable[[], Awaitable[Any]]) -> None:
        with pytest.raises(RuntimeClosed):
            await call()
        told.append(name)

    async with anyio.create_task_group() as tasks, Runtime(path, modules=MODULES) as rt:
        await rt.start(till, OPEN, run_id="t1")
        calls = calls_on(rt)
        for name in ("result", "follow", "follow commits"):
            tasks.start_soon(waiting, name, calls[name])
        await anyio.wait_all_tasks_blocked()
    assert sorted(told) == ["follow", "follow commits", "result"]


async def test_a_signal_that_is_under_way_at_the_close_is_recorded_or_refused(path: Path, clock: TestClock) -> None:
    outcomes: list[bool] = []

    async def send(rt: Runtime) -> None:
        try:
            await rt.run("t1").signal(Paid())
            outcomes.append(True)
        except RuntimeClosed:
            outcomes.append(False)

    async with anyio.create_task_group() as tasks, Runtime(path, modules=MODULES, clock=clock) as rt:
        await rt.start(till, OPEN, run_id="t1")
        for n in range(300):
            tasks.start_soon(send, rt)
            if n % 100 == 99:
                await anyio.lowlevel.checkpoint()
    assert len(outcomes) == 300
    async with Runtime(path, modules=MODULES, clock=clock) as rt:
        assert (await rt.run("t1").state()).payments == sum(outcomes)


class Ours(Exception):
    pass


class Basic(BaseException):
    pass


@pytest.mark.parametrize("error", [Ours("x"), Basic("x"), RunFailed("x", reason="y"), ExceptionGroup("g", [Ours("x")])])
@pytest.mark.parametrize("opened", [Runtime, Reader])
async def test_what_leaves_the_block_comes_out_as_it_is(
    path: Path, error: BaseException, opened: type[Runtime] | type[Reader]
) -> None:
    async with Runtime(path, modules=MODULES) as rt:
        await rt.start(till, OPEN, run_id="t1")
    with pytest.raises(type(error)) as raised:
        async with opened(path, modules=MODULES):
            raise error
    assert raised.value is error


async def test_what_a_call_refuses_comes_out_of_the_block_as_it_is(path: Path) -> None:
    with pytest.raises(InvalidInput):
        async with Runtime(path, modules=MODULES) as rt:
            await rt.start(till, 5)


async def test_the_block_can_be_cancelled(path: Path) -> None:
    with anyio.move_on_after(5) as scope:
        async with Runtime(path, modules=MODULES) as rt:
            await rt.start(till, OPEN, run_id="t1")
            scope.cancel()
            await rt.run("t1").result()
    assert scope.cancelled_caught
    async with Runtime(path, modules=MODULES) as rt:
        assert (await rt.run("t1").inspect()).status == "waiting"


async def test_tasks_beside_the_block_can_be_cancelled_with_it(path: Path) -> None:
    started = anyio.Event()

    async def serve() -> None:
        async with Runtime(path, modules=MODULES) as rt:
            await rt.start(till, OPEN, run_id="t1")
            started.set()
            await anyio.sleep_forever()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(serve)
        await started.wait()
        tasks.cancel_scope.cancel()
    async with Runtime(path, modules=MODULES):
        pass


async def test_a_runtime_may_be_opened_again_after_its_close_and_not_before(path: Path) -> None:
    rt = Runtime(path, modules=MODULES)
    for n in range(3):
        async with rt:
            await rt.start(till, OPEN, run_id=f"t{n}")
            with pytest.raises(RuntimeClosed, match="open already"):
                await rt.__aenter__()
            assert len([summary async for summary in rt.runs()]) == n + 1


async def test_a_runtime_that_could_not_be_opened_can_be_opened_later(path: Path) -> None:
    second = Runtime(path, modules=MODULES)
    async with Runtime(path, modules=MODULES) as first:
        await first.start(till, OPEN, run_id="t1")
        with pytest.raises(StoreInUse):
            await second.__aenter__()
        with pytest.raises(RuntimeClosed):
            await second.run("t1").state()
        assert (await first.run("t1").signal(Paid())).seq == 2
    async with second:
        assert (await second.run("t1").state()).payments == 1


@pytest.mark.parametrize("way", ["the same path", "a link", "another spelling", "relative"])
async def test_a_second_runtime_of_this_process_is_told_that_it_is_this_process(
    path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    async with Runtime(path, modules=MODULES) as rt:
        await rt.start(till, OPEN, run_id="t1")
        match way:
            case "a link":
                other = path.with_name("link.looms")
                other.symlink_to(path)
            case "another spelling":
                other = path.parent / "." / ".." / path.parent.name / path.name
            case "relative":
                monkeypatch.chdir(path.parent)
                other = Path(path.name)
            case _:
                other = path
        with pytest.raises(StoreInUse, match="this process"):
            async with Runtime(other, modules=MODULES):
                pass
        async with Reader(other, modules=MODULES) as reader:
            assert (await reader.run("t1").state()).owner == "ann"
        assert (await rt.run("t1").signal(Paid())).seq == 2
        assert (await rt.run("t1").state()).payments == 1


async def test_two_stores_are_served_in_one_event_loop(tmp_path: Path, clock: TestClock) -> None:
    async with (
        runtime(MODULES, tmp_path / "a.looms", clock) as a,
        runtime(MODULES, tmp_path / "b.looms", clock) as b,
    ):
        for rt in (a, b):
            await rt.start(order, OPEN, run_id="o1")
        await a.run("o1").signal(Paid(amount=5))
        await clock.advance(60)
        assert await a.run("o1").result() == 5
        assert await b.run("o1").result() == "nobody paid"


async def test_readers_beside_a_runtime_come_and_go_and_harm_nobody(path: Path) -> None:
    async with Runtime(path, modules=MODULES) as rt:
        run = await rt.start(till, OPEN, run_id="t1")
        for n in range(20):
            async with Reader(path, modules=MODULES) as one, Reader(path, modules=MODULES) as two:
                await run.signal(Paid())
                for reader in (one, two):
                    assert (await reader.run("t1").state()).payments == n + 1
        assert await everything(rt) == await everything(rt)


async def test_a_reader_is_told_when_it_is_not_open_and_when_there_is_no_store(path: Path) -> None:
    reader = Reader(path, modules=MODULES)
    with pytest.raises(StoreNotFound):
        await reader.__aenter__()
    assert os.listdir(path.parent) == []
    async with Runtime(path, modules=MODULES) as rt:
        await rt.start(till, OPEN, run_id="t1")
    calls: list[Callable[[], Awaitable[Any]]] = [
        lambda: reader.run("t1").state(),
        lambda: reader.run("t1").replay_to(1),
        lambda: anext(reader.run("t1").events()),
        lambda: anext(reader.run("t1").snapshots()),
        lambda: anext(reader.runs()),
        lambda: anext(reader.commits(follow=True)),
    ]
    for _ in range(2):
        for call in calls:
            with pytest.raises(RuntimeClosed, match="async with"):
                await call()
        async with reader:
            assert (await reader.run("t1").state()).owner == "ann"


async def test_a_reader_without_modules_shows_all_but_the_states(path: Path, clock: TestClock) -> None:
    async with runtime(MODULES, path, clock, snapshot_every=2) as rt:
        run = await rt.start(order, OPEN, run_id="o1")
        written = [(record.seq, record.type, record.payload) for record in await log(run)]
        waits = (await run.inspect()).waits
    async with Reader(path) as reader:
        shown = [(record.seq, record.type, record.payload) async for record in reader.run("o1").events()]
        assert shown == written
        inspected = await reader.run("o1").inspect()
        assert (inspected.status, inspected.waits, inspected.state) == ("waiting", waits, None)


OPTIONS: dict[str, list[Any]] = {
    "snapshot_every": [0, -1, 1.5, "5", True, None],
    "max_resident": [0, -1, None],
    "max_mailbox": [0, "x"],
    "max_turn_records": [0, 2.0],
    "durability": ["", "none", None, 5],
}


@pytest.mark.parametrize(("option", "value"), [(name, value) for name, values in OPTIONS.items() for value in values])
def test_an_option_that_cannot_be_is_refused_and_named(path: Path, option: str, value: Any) -> None:
    with pytest.raises(InvalidInput, match=option):
        Runtime(path, modules=MODULES, **{option: value})
    assert not path.exists()


async def test_what_is_acknowledged_is_there_also_with_relaxed_durability(path: Path, clock: TestClock) -> None:
    async with runtime(MODULES, path, clock, durability="relaxed") as rt:
        run = await rt.start(till, OPEN, run_id="t1")
        for _ in range(20):
            await run.signal(Paid())
        before = await everything(rt)
    async with runtime(MODULES, path, clock) as rt:
        assert await everything(rt) == before
        await rt.run("t1").signal(Closed())
        assert await rt.run("t1").result() == 20
        assert rows(rt) == {}
