"""The API without `await`: from a script, from many threads, beside a running event loop, and when it is over."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio.lowlevel
import pytest

import looms
from looms import (
    Event,
    InvalidEvent,
    InvalidInput,
    Module,
    Receipt,
    Reduced,
    RunExists,
    RunFailed,
    RuntimeClosed,
    Started,
    State,
    StoreInUse,
    StoreNotFound,
    SyncRuntime,
    UnknownRun,
    WrongThread,
    complete,
    fail,
    invoke,
    step,
)
from looms.sync.loop import Backend
from tests.looms.shop import MODULES, OPEN, Closed, Ledger, Paid, Takings, ledger, order, shop, till

PATIENCE = 30  # seconds for something that another thread is about to do


@pytest.fixture
def runtime(path: Path) -> Iterator[SyncRuntime]:
    with looms.open(path, modules=MODULES, snapshot_every=2) as opened:
        yield opened


def in_thread(call: Callable[[], Any]) -> "Answer":
    """Begin a call in a thread."""
    return Answer(call)


class Answer:
    """What a call in another thread comes to."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self._pool = ThreadPoolExecutor(1)
        self._future = self._pool.submit(call)

    def result(self) -> Any:
        try:
            return self._future.result(PATIENCE)
        finally:
            self._pool.shutdown(wait=False)


# What is said and answered


def test_a_run_is_driven_and_looked_at(runtime: SyncRuntime) -> None:
    run = runtime.start(till, OPEN, run_id="t1")
    assert repr(run) == "<run t1>"
    assert run.signal(Paid(2), Paid(3), key="evt") == Receipt(3, duplicate=False)
    assert run.signal(Paid(2), Paid(3), key="evt") == Receipt(3, duplicate=True)
    assert run.state() == Takings(owner="ann", total=5, payments=2)
    assert run.inspect() == run.replay_to(3).after
    assert run.project(ledger) == Ledger(total=5)
    assert [record.seq for record in run.events(after=1)] == [2, 3]
    assert [snapshot.seq for snapshot in run.snapshots()] == [3]
    assert run.snapshot(3).seq == 3
    assert run.signal(runtime.event("shop.closed", {})).seq == 4
    assert run.result() == 5
    run.delete()
    assert list(runtime.runs()) == []


def test_runs_and_commits_are_listed(runtime: SyncRuntime) -> None:
    for name in ("o1", "o2"):
        runtime.start(order, OPEN, run_id=name)
    assert runtime.publish(Paid(7)).runs == ["o1", "o2"]
    assert [run.run_id for run in runtime.runs(definition=order, status="completed", limit=1)] == ["o1"]
    assert [commit.number for commit in runtime.commits(after=1)] == [2, 3]


def test_what_is_refused_is_raised_where_it_was_asked(runtime: SyncRuntime) -> None:
    run = runtime.start(till, OPEN, run_id="t1")
    with pytest.raises(RunExists):
        runtime.start(till, OPEN, run_id="t1")
    with pytest.raises(InvalidEvent):
        run.signal(Paid("much"))  # type: ignore[arg-type]
    with pytest.raises(UnknownRun):
        list(runtime.run("nobody").events())
    with pytest.raises(InvalidInput):
        runtime.run("")
    with pytest.raises(TimeoutError):
        run.result(timeout=0.01)
    assert len(list(run.events())) == 1


def test_effects_run_on_its_loop_and_in_its_threads(path: Path) -> None:
    work = Module("work")

    @work.event("done")
    class Done(Event):
        where: str

    @work.effect("async")
    async def on_loop(request: None) -> Done:
        await anyio.lowlevel.checkpoint()
        return Done(threading.current_thread().name)

    @work.effect("sync")
    def in_a_thread(request: None) -> Done:
        return Done(threading.current_thread().name)

    @work.reducer("job", state=State, input=bool)
    def job(state: State, event: Started[bool] | Done) -> Reduced[State]:
        match event:
            case Started(input=async_one):
                return step(state, invoke(on_loop if async_one else in_a_thread))
            case Done(where=where):
                return step(state, complete(where))

    backends: tuple[Backend, ...] = ("asyncio", "trio")
    for backend in backends:
        with looms.open(path, modules=[work], backend=backend) as runtime:
            assert str(path) in runtime.start(job, True).result(PATIENCE)
            assert str(path) not in runtime.start(job, False).result(PATIENCE)


def test_a_plain_handler_may_use_it(path: Path) -> None:
    work = Module("work")
    opened: list[SyncRuntime] = []

    @work.event("done")
    class Done(Event):
        paid: int

    @work.effect("pay")
    def pay(run_id: str) -> Done:
        return Done(opened[0].run(run_id).signal(Paid(5)).seq or 0)

    @work.effect("wrong")
    async def wrong(run_id: str) -> Done:
        opened[0].run(run_id).signal(Paid(5))  # it would wait for itself
        raise AssertionError

    @work.reducer("job", state=State)
    def job(state: State, event: Started[bool] | Done | looms.EffectFailed) -> Reduced[State]:
        match event:
            case Started(input=right):
                return step(state, invoke(pay if right else wrong, "t1"))
            case Done(paid=paid):
                return step(state, complete(paid))
            case looms.EffectFailed(error=error, message=message):
                return step(state, fail(f"{error}: {message}"))

    work.effects["work.wrong"].retry = looms.Retry(attempts=1)
    with looms.open(path, modules=[work, shop]) as runtime:
        opened.append(runtime)
        runtime.start(till, OPEN, run_id="t1")
        assert runtime.start(job, True).result(PATIENCE) == 2
        with pytest.raises(RunFailed, match=r"WrongThread: .*a plain `def`"):
            runtime.start(job, False).result(PATIENCE)
        with pytest.raises(WrongThread):
            runtime._loop.call(in_loop(runtime.close))


def in_loop(call: Callable[[], None]) -> Callable[[], Any]:
    async def made() -> None:
        call()

    return made


# Who calls


def test_many_threads_call_at_once(runtime: SyncRuntime) -> None:
    run = runtime.start(till, OPEN, run_id="t1")
    with ThreadPoolExecutor(16) as pool:
        receipts = list(pool.map(lambda n: run.signal(Paid(n)), range(200)))
        starts = list(pool.map(lambda n: runtime.start(till, OPEN).id, range(50)))
    assert sorted(receipt.seq or 0 for receipt in receipts) == list(range(2, 202))
    assert len(set(starts)) == 50
    assert run.state().total == sum(range(200))


def test_it_works_where_an_event_loop_is_running(runtime: SyncRuntime) -> None:
    async def cell() -> int:
        run = runtime.start(till, OPEN)
        run.signal(Paid(3))
        return run.state().total

    assert asyncio.run(cell()) == 3


def test_two_stores_are_open_side_by_side(tmp_path: Path) -> None:
    with looms.open(tmp_path / "a", modules=MODULES) as one, looms.open(tmp_path / "b", modules=MODULES) as other:
        one.start(till, OPEN, run_id="t1")
        assert list(other.runs()) == []
        with pytest.raises(StoreInUse, match="this process"):
            looms.open(tmp_path / "a", modules=MODULES)


# Following


def test_a_log_is_followed_from_another_thread_until_the_run_is_over(runtime: SyncRuntime) -> None:
    run = runtime.start(till, OPEN, run_id="t1")
    followed = in_thread(lambda: [record.seq for record in run.events(follow=True)])
    for amount in range(1, 4):
        run.signal(Paid(amount))
    run.signal(Closed())
    assert followed.result() == [1, 2, 3, 4, 5]


def test_an_iterator_that_is_left_half_way_holds_nothing(runtime: SyncRuntime) -> None:
    run = runtime.start(till, OPEN)
    run.signal(*[Paid(n) for n in range(2_000)])
    threads = threading.active_count()
    for _ in range(200):
        assert next(run.events(after=2)).seq == 3
        assert next(run.events(follow=True)).seq == 1
    assert threading.active_count() == threads
    assert [record.seq for record in run.events()] == list(range(1, 2_002))


def test_several_threads_share_an_iterator(runtime: SyncRuntime) -> None:
    run = runtime.start(till, OPEN)
    run.signal(*[Paid(n) for n in range(1_000)])
    shared = run.events()
    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(lambda _: [record.seq for record in shared], range(4)))
    assert sorted(seq for part in parts for seq in part) == list(range(1, 1_002))


def test_who_follows_can_be_told_to_stop(runtime: SyncRuntime) -> None:
    run = runtime.start(till, OPEN)
    records: Any = run.events(follow=True)
    got = threading.Event()

    def follow() -> int:
        seen = 0
        for _ in records:
            seen += 1
            got.set()
        return seen

    followed = in_thread(follow)
    assert got.wait(PATIENCE)
    with closing(records):
        pass
    assert followed.result() == 1
    assert list(records) == []


# When it is over


def test_after_its_end_every_call_is_an_error_from_any_thread(path: Path) -> None:
    with looms.open(path, modules=MODULES) as runtime:
        run = runtime.start(till, OPEN, run_id="t1")
    runtime.close()
    for call in (
        run.state,
        run.result,
        lambda: run.signal(Paid(1)),
        lambda: next(run.events()),
        lambda: next(runtime.commits()),
    ):
        with pytest.raises(RuntimeClosed, match=r"is closed; open the store again"):
            call()
        with pytest.raises(RuntimeClosed):
            in_thread(call).result()


def test_an_exception_inside_closes_it(path: Path) -> None:
    def fail_inside() -> None:
        with looms.open(path, modules=MODULES) as runtime:
            runtime.start(till, OPEN, run_id="t1")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_inside()
    with looms.open(path, modules=MODULES) as again:
        assert [run.run_id for run in again.runs()] == ["t1"]


def test_who_waits_in_another_thread_is_told_of_the_end(path: Path) -> None:
    runtime = looms.open(path, modules=MODULES)
    reader = looms.open_reader(path, modules=MODULES)
    run = runtime.start(till, OPEN, run_id="t1")
    seen = [threading.Event() for _ in range(3)]

    def told(records: Iterator[Any], seen: threading.Event) -> None:
        for _ in records:
            seen.set()

    waiting = [
        in_thread(run.result),
        in_thread(lambda: told(run.events(follow=True), seen[0])),
        in_thread(lambda: told(runtime.commits(follow=True), seen[1])),
        in_thread(lambda: told(reader.run("t1").events(follow=True), seen[2])),
    ]
    assert all(event.wait(PATIENCE) for event in seen)
    reader.close()
    runtime.close()
    for answer in waiting:
        with pytest.raises(RuntimeClosed):
            answer.result()


def test_calls_and_the_end_may_meet_anyhow(path: Path) -> None:
    for _ in range(20):
        runtime = looms.open(path, modules=MODULES)
        run = runtime.start(till, OPEN)

        def call_until_closed(run: Any = run) -> int:
            acknowledged = 0
            while True:
                try:
                    run.signal(Paid(1))
                except RuntimeClosed:
                    return acknowledged
                acknowledged += 1

        callers = [in_thread(call_until_closed) for _ in range(4)]
        enders = [in_thread(runtime.close) for _ in range(2)]
        runtime.close()
        acknowledged = sum(caller.result() for caller in callers)
        assert [ender.result() for ender in enders] == [None, None]
        with looms.open_reader(path, modules=MODULES) as reader:
            assert acknowledged <= reader.run(run.id).state().payments <= acknowledged + 4


# Opening


def loops() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("looms")]


def test_what_cannot_be_opened_is_refused_at_once_and_leaves_no_thread(path: Path) -> None:
    with looms.open(path, modules=MODULES) as opened:
        opened.start(till, OPEN)  # now all of its own threads are there
        before = loops()
        with pytest.raises(StoreInUse):
            looms.open(path, modules=MODULES)
        with pytest.raises(StoreNotFound):
            looms.open_reader(path / "nowhere")
        with pytest.raises(InvalidInput):
            looms.open(path, modules=MODULES, snapshot_every=0)
        with pytest.raises(InvalidInput, match="backend='twisted'"):
            looms.open(path, modules=MODULES, backend="twisted")  # type: ignore[arg-type]
        assert loops() == before


def test_a_reader_looks_beside_the_runtime(runtime: SyncRuntime, path: Path) -> None:
    run = runtime.start(till, OPEN, run_id="t1")
    with looms.open_reader(path, modules=MODULES) as reader:
        assert [summary.run_id for summary in reader.runs()] == ["t1"]
        followed = in_thread(lambda: [record.seq for record in reader.run("t1").events(follow=True)])
        run.signal(Paid(2))
        run.signal(Closed())
        assert followed.result() == [1, 2, 3]
        assert reader.run("t1").state().total == 2
        assert [commit.number for commit in reader.commits()] == [1, 2, 3]
    assert run.result() == 2
    with pytest.raises(RuntimeClosed):
        reader.run("t1").state()
