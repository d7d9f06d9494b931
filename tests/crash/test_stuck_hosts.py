"""A host that is killed while a reducer does not return: the next one begins without that run, and loses nothing."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec
import pytest

from looms import Reader, RunSuspended, Runtime, Stuck, UnknownRun
from looms.actors.requests import SignalRun, StartRun, pack_request, unpack_reply
from looms.driving import driver
from looms.snapshots import requests, stuck
from looms.snapshots.environment import Environment
from tests.actors.logged import logging, said
from tests.crash.audit import audit
from tests.crash.looping import Mood, Spun, Told, loops, seen, waiting

AFTER = 0.02  # seconds: so a host is stuck for long after 0.16


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Mood, "spins", lambda: False)


@contextmanager
def host(store: Path, what: str, after: float = AFTER) -> Iterator["subprocess.Popen[bytes]"]:
    """A host in another process, which gets into something that does not return."""
    command = [sys.executable, "-m", "tests.crash.looping", os.fspath(store), what, str(after)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def notes(process: "subprocess.Popen[bytes]") -> Iterator[Stuck]:
    """What the host is told by its watchdog."""
    assert process.stdout is not None
    for line in process.stdout:
        yield msgspec.json.decode(line, type=Stuck)


def killed_in(store: Path, what: str, after: float = AFTER, *, long: bool = True) -> Stuck:
    """What a host was stuck in, that was killed when it had been so for long; or else as soon as it was told."""
    with host(store, what, after) as process:
        return next(note for note in notes(process) if note.long or not long)


async def prepare(store: Path) -> None:
    async with Runtime(store, modules=[loops]) as runtime:
        await runtime.start(seen, run_id="other")
        await runtime.start(seen, run_id="r")
        await runtime.start(waiting, run_id="w")


async def test_the_run_is_suspended_and_the_others_are_served(store: Path) -> None:
    await prepare(store)
    note = killed_in(store, "signal")
    assert (note.run_id, note.seq, note.type, note.thread) == ("r", 2, "loops.spun", "root")
    assert (note.reducer, note.module, note.folding) == ("loops.seen", "__main__", False)
    assert ", in seen\n" in note.stack
    with logging() as logged:
        async with Runtime(store, modules=[loops]) as runtime:
            await runtime.run("other").signal(Told())
            run = runtime.run("r")
            inspected = await run.inspect()
            assert (inspected.status, inspected.seq) == ("suspended", 1)
            assert f"the last host (process {note.pid}) ended" in (inspected.error or "")
            assert "loops.seen of run r, on loops.spun at seq 2" in (inspected.error or "")
            with pytest.raises(RunSuspended, match="reducer loops"):
                await run.signal(Spun())
            assert [one["run_id"] for one in said(logged, "run suspended")] == ["r"]
            await run.resume()
            assert (await run.signal(Spun())).seq == 2
    assert stuck.read(os.fspath(store)) is None
    audit(store, runtime.code)


@pytest.mark.long
@pytest.mark.parametrize(("what", "type"), [("effect", "Spun"), ("timer", "TimedOut")])
async def test_what_the_runtime_brings_is_kept_until_it_is_resumed(store: Path, what: str, type: str) -> None:
    await prepare(store)
    assert killed_in(store, what).run_id == "r"
    async with Runtime(store, modules=[loops]) as runtime:
        run = runtime.run("r")
        assert (await run.inspect()).status == "suspended"
        await runtime.run("other").signal(Told())
        await run.resume()
        async for record in run.events(follow=True):
            if record.decisions and record.seq == 3:
                break
        assert (await run.state()).types == ("Started", "Planned", type)
    audit(store, runtime.code)


async def test_the_run_that_a_publication_reaches_is_the_one_that_is_suspended(store: Path) -> None:
    await prepare(store)
    note = killed_in(store, "publish")
    assert (note.run_id, note.reducer) == ("w", "loops.waiting")
    async with Runtime(store, modules=[loops]) as runtime:
        assert (await runtime.publish(Spun("publish"))).runs == ["w"]  # it waits in the inbox
        assert (await runtime.run("w").inspect()).status == "suspended"
        await runtime.run("w").resume()
        assert (await runtime.run("w").state()).types == ("Spun",)


@pytest.mark.long
async def test_a_run_whose_past_does_not_end_is_not_folded_before_it_is_resumed(store: Path) -> None:
    await prepare(store)
    async with Runtime(store, modules=[loops]) as runtime:
        await runtime.run("r").signal(Spun())
    note = killed_in(store, "inspect")
    assert (note.run_id, note.seq, note.folding) == ("r", 2, True)
    with host(store, "nothing") as process:
        next(notes(process))
        async with driver(store) as asks:
            with pytest.raises(RunSuspended):
                await asks.signal("r", "loops.told", b"{}")
            assert (await asks.signal("other", "loops.told", b"{}")).seq == 2
        async with Reader(store, modules=[loops]) as reader:
            assert (await reader.run("r").inspect()).state is None
    async with Runtime(store, modules=[loops]) as runtime:
        run = runtime.run("r")
        assert "of its past" in ((await run.inspect()).error or "")
        with pytest.raises(RunSuspended):
            await run.signal(Told())
        await run.resume()
        assert (await run.state()).types == ("Started", "Spun")
        assert (await run.signal(Told())).seq == 3


@pytest.mark.long
async def test_one_that_was_stuck_for_a_short_time_is_given_another_chance(store: Path) -> None:
    await prepare(store)
    assert killed_in(store, "signal", 0.2, long=False).times == 1
    assert killed_in(store, "signal", 0.2, long=False).times == 2
    async with Runtime(store, modules=[loops]) as runtime:
        inspected = await runtime.run("r").inspect()
        assert inspected.status == "suspended"
        assert "as 1 before it" in (inspected.error or "")


async def test_a_host_that_is_killed_after_a_slow_turn_is_innocent(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await prepare(store)
    found: list[Stuck] = []
    monkeypatch.setattr(Mood, "spins", lambda: not found or not found[-1].long)
    async with Runtime(store, modules=[loops], stuck_after=AFTER, on_stuck=found.append) as runtime:
        await runtime.run("r").signal(Spun())
        assert found[-1].long
        assert stuck.read(os.fspath(store)) is None  # as whoever opened the store after a kill would find it
    stuck.write(os.fspath(store), found[-1])  # and where the removal was lost with the power, the run has gone on
    async with Runtime(store, modules=[loops]) as runtime:
        assert (await runtime.run("r").inspect()).status == "waiting"
        assert (await runtime.run("r").signal(Told())).seq == 3


@pytest.mark.long
async def test_a_request_that_a_host_was_stuck_in_is_answered_with_that(store: Path) -> None:
    await prepare(store)
    killed_in(store, "signal")
    async with Runtime(store, modules=[loops]):
        pass
    id = bytes(range(16))
    with closing(Environment(store)) as environment:
        requests.ask(environment, id, pack_request(SignalRun("other", "loops.spun", b"{}")))
        assert len(killed_in(store, "nothing").requests) == 1
        async with Runtime(store, modules=[loops]) as runtime:
            with environment.view() as view:
                answer = requests.answered(view, id)
            assert "loops.seen of run other" in str(unpack_reply(answer or b"").failure)
            assert (await runtime.run("other").inspect()).status == "suspended"


@pytest.mark.long
async def test_a_start_that_does_not_end_is_asked_for_once(store: Path) -> None:
    await prepare(store)
    id = bytes(range(16))
    with closing(Environment(store)) as environment:
        requests.ask(environment, id, pack_request(StartRun("loops.endless", b"null", "e", "error")))
        assert killed_in(store, "nothing").run_id == "e"
        async with Runtime(store, modules=[loops]) as runtime:
            with environment.view() as view:
                assert requests.answered(view, id) is not None
            with pytest.raises(UnknownRun):
                await runtime.run("e").inspect()
            await runtime.run("r").signal(Told())


@pytest.mark.parametrize(
    "note", [b"", b"{", b"[]", b'{"number": "x"}', b'{"number": 77, "pid": 1, "long": true, "run_id": "r"}']
)
async def test_a_note_that_says_nothing_is_no_obstacle(store: Path, note: bytes) -> None:
    await prepare(store)
    (store / stuck.NAME).write_bytes(note)
    async with Runtime(store, modules=[loops]) as runtime:
        assert (await runtime.run("r").inspect()).status == "waiting"
