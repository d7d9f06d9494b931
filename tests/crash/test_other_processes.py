"""What other processes ask of a store's host is done once, whoever is killed in between, and everybody is answered."""

import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from looms import Runtime
from looms.actors.requests import CancelRun, Reply, SignalRun, StartRun, pack_request, unpack_reply
from looms.reducers.registry import Registry
from looms.snapshots import requests
from looms.snapshots.environment import Environment
from looms.snapshots.store import Store
from looms.testing import TestClock, runtime
from tests.crash.asker import STARTS, Served
from tests.crash.audit import Audited, audit
from tests.crash.dying import DEATH
from tests.crash.faults import PATIENCE, Faults
from tests.crash.killing import LIMIT, ROOT_FOLDER
from tests.crash.works import Asked, desk, modules

CODE = Registry(modules)

Process = subprocess.Popen[bytes]


@contextmanager
def program(name: str, *arguments: object) -> Iterator[Process]:
    """Run one of the programs here; at the end, or after a time that is far too long, it is killed."""
    command = [sys.executable, "-m", f"tests.crash.{name}", *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT_FOLDER) as process:
        watchdog = threading.Timer(LIMIT, process.kill)
        watchdog.start()
        try:
            yield process
        finally:
            watchdog.cancel()
            process.kill()


@contextmanager
def hosting(store: Path, loop: str = "asyncio") -> Iterator[Process]:
    """A host that is open."""
    with program("hosting", store, loop) as host:
        assert host.stdout is not None
        assert host.stdout.readline() == b"open\n"
        yield host


def served(asker: Process) -> list[Served]:
    """Wait for an asker's end, and return what was done for it."""
    out, errors = asker.communicate(timeout=LIMIT)
    assert asker.returncode == 0, errors.decode()
    return [msgspec.json.decode(line, type=Served) for line in out.splitlines()]


def check(store: Path, done: list[Served]) -> dict[str, Audited]:
    """Each call is in the log, once, and nothing else is; nobody's request or answer is left."""
    found = audit(store, CODE)
    recorded = Counter((run_id, entry.seq) for run_id, one in found.items() for entry in one.entries)
    assert recorded == Counter((one.run_id, one.seq) for one in done)
    for one in done:
        entry = found[one.run_id].entries[one.seq - 1]
        assert entry.plain.get("n", entry.plain.get("input")) == one.n
    assert left(store) == ([], [])
    return found


def left(store: Path) -> tuple[list[bytes], list[bytes]]:
    """The requests and the answers in a store."""
    with closing(Environment(store)) as environment, environment.view() as view:
        return requests.waiting(view), requests.answers(view)


def put(store: Path, *asked: Any) -> list[bytes]:
    """Put requests into a store, as a process would that is killed then; returns their ids."""
    ids = [random.randbytes(16) for _ in asked]
    with closing(Environment(store)) as environment:
        for id, request in zip(ids, asked, strict=True):
            requests.ask(environment, id, request if isinstance(request, bytes) else pack_request(request))
    return ids


def reply(store: Path, id: bytes) -> Reply | None:
    """The answer to a request."""
    with closing(Environment(store)) as environment, environment.view() as view:
        data = requests.answered(view, id)
    return None if data is None else unpack_reply(data)


def signal_of(n: int, run_id: str = "d") -> SignalRun:
    return SignalRun(run_id, "works.asked", msgspec.json.encode(Asked(n, "fold")))


@pytest.mark.parametrize("loop", ["asyncio", "trio"])
def test_many_processes_drive_one_host(store: Path, loop: str) -> None:
    with hosting(store, loop), ExitStack() as askers:
        all_of_them = [askers.enter_context(program("asker", store, name, 10)) for name in "abcdef"]
        done = [one for asker in all_of_them for one in served(asker)]
    assert len(done) == 60
    check(store, done)


def test_many_processes_drive_a_new_store_that_has_no_host(store: Path) -> None:
    with ExitStack() as askers:
        all_of_them = [askers.enter_context(program("asker", store, name, 10)) for name in "abcdef"]
        done = [one for asker in all_of_them for one in served(asker)]
    assert len(done) == 60
    check(store, done)


@pytest.mark.long
def test_hosts_that_are_killed_serve_each_request_once(store: Path) -> None:
    with ExitStack() as askers:
        all_of_them = [askers.enter_context(program("asker", store, name, 12)) for name in "abcdef"]
        hosts = 0
        while any(asker.poll() is None for asker in all_of_them):
            with hosting(store, random.choice(("asyncio", "trio"))):
                time.sleep(random.uniform(0, 0.2))
            hosts += 1
        done = [one for asker in all_of_them for one in served(asker)]
    assert len(done) == 72
    assert hosts > 1
    check(store, done)


@pytest.mark.long
def test_processes_that_are_killed_while_they_ask_harm_nobody(store: Path) -> None:
    done: list[Served] = []
    with hosting(store):
        for n in range(12):
            with program("asker", store, f"killed {n}", 1_000) as asker:
                assert asker.stdout is not None
                lines = [asker.stdout.readline() for _ in range(random.randrange(1, 4))]
                time.sleep(random.uniform(0, 0.02))
                asker.kill()
                lines += asker.stdout.readlines()
            done += [msgspec.json.decode(line, type=Served) for line in lines if line.endswith(b"\n")]
        with program("asker", store, "last", 7) as asker:
            done += served(asker)
        wait_for(lambda: not left(store)[0])
    found = audit(store, CODE)
    for one in done:
        assert found[one.run_id].head.seq >= one.seq
    assert sum(one.head.seq for one in found.values()) - len(done) <= 12
    assert len(left(store)[1]) <= 12


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_host_that_dies_between_request_and_answer_is_followed_by_one_that_knows(store: Path, moment: str) -> None:
    made(store)
    ids = put(store, signal_of(1), StartRun("works.desk", b"7", "e"), signal_of(2), CancelRun("nobody", "", 0))
    with program("hosting", store, "asyncio", 1, moment) as host:
        assert host.wait(LIMIT) == DEATH
    assert len(left(store)[0]) == (4 if moment == "before" else 0)
    with hosting(store):
        wait_for(lambda: not left(store)[0])
    found = audit(store, CODE)
    assert sorted(entry.plain["n"] for entry in found["d"].entries[1:]) == [1, 2]
    assert found["e"].head.seq == 1
    assert [failure(reply(store, id)) for id in ids] == [None, None, None, "UnknownRun"]


def test_whoever_asked_a_host_that_has_left_is_served_all_the_same(store: Path) -> None:
    made(store)
    with Store(store), program("asker", store, "a", 1) as asker:
        wait_for(lambda: left(store)[0])
    # The asker was killed, and its request goes with the next host. Here is one whose host leaves without a look.
    with program("asker", store, "b", STARTS + 1) as asker:
        with Store(store):
            wait_for(lambda: len(left(store)[0]) == 2)
        done = served(asker)
    assert [(one.run_id, one.seq) for one in done] == [("b 0", seq) for seq in range(1, 6)] + [("b 5", 1)]
    assert sorted(audit(store, CODE)) == ["a 0", "b 0", "b 5", "d"]


def test_without_the_application_he_is_told_that_nobody_serves(store: Path) -> None:
    made(store)
    with program("asker", store, "a", 1, "bare") as asker:
        with Store(store):
            wait_for(lambda: left(store)[0])
        _, errors = asker.communicate(timeout=LIMIT)
    assert b"no host is running" in errors
    assert left(store) == ([], [])
    assert sorted(audit(store, CODE)) == ["d"]


async def test_requests_that_wait_in_great_numbers_are_each_served_once(store: Path) -> None:
    starts = [StartRun("works.desk", b"0", f"e{n}") for n in range(150)]
    async with runtime(modules, store) as rt:
        await rt.start(desk, 0, run_id="d")
    ids = put(store, *(one for n in range(150) for one in (signal_of(n), starts[n])))
    async with runtime(modules, store) as rt:
        await answered(rt, store)
        assert (await rt.run("d").state()).counts == {"Asked": 150}
    assert {failure(reply(store, id)) for id in ids} == {None}
    assert len(audit(store, CODE)) == 151


async def test_what_cannot_be_committed_is_answered_with_why(store: Path, faults: Faults) -> None:
    async with runtime(modules, store) as rt:
        await rt.start(desk, 0, run_id="d")
        await rt.start(desk, 0, run_id="full")
    faults.refuse_those(lambda batch: any(turn.run == 2 for turn in batch.turns))
    ids = put(store, signal_of(1, "full"), signal_of(2), signal_of(3, "full"))
    async with runtime(modules, store) as rt:
        await answered(rt, store)
        faults.refuse_none()
        assert [failure(reply(store, id)) for id in ids] == ["StoreFull", None, "StoreFull"]
        assert (await rt.run("d").state()).counts == {"Asked": 1}
        assert (await rt.run("full").inspect()).seq == 1


async def test_what_can_be_neither_committed_nor_answered_is_served_when_there_is_room(
    store: Path, faults: Faults
) -> None:
    async with runtime(modules, store) as rt:
        await rt.start(desk, 0, run_id="d")
    ids = put(store, signal_of(1), signal_of(2))
    faults.refuse_all()
    async with runtime(modules, store) as rt:
        with anyio.fail_after(PATIENCE):
            while faults.refused < 10:
                await rt.clock.advance(1)
        assert len(left(store)[0]) == 2
        faults.refuse_none()
        await rt.clock.advance(10)
        assert [failure(reply(store, id)) for id in ids] == [None, None]
        assert (await rt.run("d").state()).counts == {"Asked": 2}


async def test_answers_that_nobody_comes_for_do_not_pile_up(store: Path) -> None:
    clock = TestClock()
    async with runtime(modules, store, clock) as rt:
        await rt.start(desk, 0, run_id="d")
    put(store, signal_of(1), signal_of(2))
    async with runtime(modules, store, clock) as rt:
        await answered(rt, store)
        await clock.advance(60)
        assert len(left(store)[1]) == 2
    async with runtime(modules, store, clock):
        await clock.advance(60)
        assert len(left(store)[1]) == 2
        await clock.advance(600)
        assert left(store) == ([], [])


async def test_requests_that_are_none_trouble_nobody(store: Path) -> None:
    noise = random.Random(0)
    bad: list[Any] = [b"", b"\xc1", b"\x80", *(noise.randbytes(noise.randrange(60)) for _ in range(40))]
    bad += [
        SignalRun("", "works.asked", b"{}"),
        SignalRun("d", "works.asked", b"\xff"),
        SignalRun("d", "works.asked", b"[" * 5_000),
        SignalRun("d", "works.asked", msgspec.json.encode(Asked(1, "fold")), "k" * 300),
        SignalRun("d", "works.asked", msgspec.json.encode(Asked(1, "fold")), None, float("nan")),
        SignalRun("d", "works.asked", msgspec.json.encode(Asked(1, "fold")), None, 1e300),
        StartRun("works.desk", b"null", "e"),
        StartRun("works.nothing", b"0", "e"),
        StartRun("works.desk", b"0", "e", "whatever"),
        CancelRun("d", "", float("inf")),
    ]
    async with runtime(modules, store) as rt:
        await rt.start(desk, 0, run_id="d")
    ids = put(store, *bad, signal_of(5))
    async with runtime(modules, store) as rt:
        await answered(rt, store)
        assert (await rt.run("d").state()).counts == {"Asked": 1}
    assert [failure(reply(store, id)) is None for id in ids] == [False] * len(bad) + [True]


def made(store: Path) -> None:
    """Make a store with a run in it."""

    async def make() -> None:
        async with runtime(modules, store) as rt:
            await rt.start(desk, 0, run_id="d")

    anyio.run(make)


def wait_for(condition: Callable[[], Any]) -> None:
    """Return when another process has done something."""
    limit = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < limit, "it does not happen"
        time.sleep(0.005)


async def answered(rt: Runtime, store: Path) -> None:
    """Return when no request waits any more."""
    with anyio.fail_after(PATIENCE):
        more = rt.next_commit()
        while left(store)[0]:
            await more.wait()
            more = rt.next_commit()


def failure(answer: Reply | None) -> str | None:
    """The error that an answer tells of."""
    assert answer is not None
    return None if answer.failure is None else answer.failure.error
