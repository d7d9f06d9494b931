"""Code on the loop that does not return is told while it does not: which run, event and reducer, and where it is."""

import os
import threading
from collections.abc import Awaitable, Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import msgspec
import pytest

import looms
from looms import (
    Event,
    InvalidInput,
    Module,
    Reader,
    Reduced,
    Runtime,
    Started,
    State,
    Stuck,
    invoke,
    replace,
    spawn,
    step,
)
from looms.snapshots import stuck
from looms.testing import TestClock, runtime
from tests.actors.logged import Logged, said

AFTER = 0.02  # seconds


class Mood:
    """How long whoever is asked goes round."""

    spins: Callable[[], bool] = staticmethod(lambda: False)


turning = Module("turning")


class Ask(msgspec.Struct, frozen=True):
    awaits: bool = False


@turning.event("turned")
class Turned(Event):
    asks: Ask | None = None


class Count(State):
    count: int = 0


@turning.effect("ask")
async def ask(request: Ask) -> Turned:
    if request.awaits:
        await anyio.lowlevel.checkpoint()
    while Mood.spins():
        pass
    return Turned()


@turning.reducer("wheel", state=Count)
def wheel(state: Count, event: Started[None] | Turned) -> Reduced[Count]:
    if isinstance(event, Turned) and event.asks is not None:
        return step(state, invoke(ask, event.asks))
    if isinstance(event, Turned):
        while Mood.spins():
            pass
    return replace(state, count=state.count + 1)


class Nothing(State):
    pass


@turning.reducer("parent", state=Nothing)
def parent(state: Nothing, event: Started[None]) -> Reduced[Nothing]:
    return step(state, spawn(child, id="child"))


@turning.reducer("child", state=Nothing)
def child(state: Nothing, event: Started[None]) -> Reduced[Nothing]:
    while Mood.spins():
        pass
    return state


@pytest.fixture(autouse=True)
def still(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What is told to go round, goes round until its end was noted beside the store."""
    monkeypatch.setattr(Mood, "spins", lambda: False)
    yield
    assert not [thread for thread in threading.enumerate() if thread.name == "looms watchdog"]


def spin_until_noted(monkeypatch: pytest.MonkeyPatch, path: Path) -> list[Stuck]:
    """Go round until another process can see it; the notes that it would have seen."""
    found: list[Stuck] = []

    def spins() -> bool:
        note = stuck.now(os.fspath(path))
        if note is None:
            return True
        found.append(note)
        Mood.spins = lambda: False
        return False

    monkeypatch.setattr(Mood, "spins", spins)
    return found


async def test_it_is_told_which_reducer_of_which_run_does_not_return_at_what(
    path: Path, clock: TestClock, logged: Logged, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with runtime([turning], path, clock, stuck_after=AFTER) as rt:
        run = await rt.start(wheel, run_id="r")
        found = spin_until_noted(monkeypatch, path)
        await run.signal(Turned())
        (note,) = found
        assert (note.run_id, note.seq, note.type, note.thread) == ("r", 2, "turning.turned", "root")
        assert (note.reducer, note.module, note.folding) == ("turning.wheel", __name__, False)
        assert note.seconds >= AFTER
        assert ", in wheel\n" in note.stack
        async with Reader(path, modules=[turning]) as reader:
            assert await reader.stuck() is None
    (told, *_), (took,) = said(logged, "does not return"), said(logged, "took long")
    for entry in (told, took):
        assert (entry["run_id"], entry["seq"], entry["type"]) == ("r", 2, "turning.turned")
        assert (entry["reducer"], entry["module"]) == ("turning.wheel", __name__)
    assert told["stack"] == note.stack
    assert took["seconds"] >= told["seconds"]


async def test_a_child_that_does_not_return_is_named_and_so_is_a_run_that_begins(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Runtime(path, modules=[turning], stuck_after=AFTER) as rt:
        found = spin_until_noted(monkeypatch, path)
        await rt.start(parent, run_id="r")
    (note,) = found
    assert (note.run_id, note.seq, note.type) == ("r", 2, "looms.started")
    assert (note.thread, note.reducer) == ("root/child", "turning.child")


async def test_a_past_that_is_not_folded_to_its_end_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Runtime(path, modules=[turning]) as rt:
        run = await rt.start(wheel, run_id="r")
        await run.signal(Turned(), Turned(), Turned())
    for signals in (False, True):
        async with Runtime(path, modules=[turning], stuck_after=AFTER) as rt:
            run = rt.run("r")
            found = spin_until_noted(monkeypatch, path)
            await (run.signal(Turned()) if signals else run.inspect())
        (note,) = found
        assert (note.run_id, note.seq, note.type, note.folding) == ("r", 2, "turning.turned", True)
        assert (note.reducer, note.module) == ("turning.wheel", __name__)


@turning.projection("turns", state=Count)
def turns(state: Count, event: Turned) -> Count:
    while Mood.spins():
        pass
    return state


LOOKS: dict[str, Callable[[Runtime], Awaitable[object]]] = {
    "replay": lambda rt: rt.run("r").replay_to(2),
    "diff": lambda rt: rt.run("r").diff(1, 2),
    "verify": lambda rt: rt.verify("r"),
    "project": lambda rt: rt.run("r").project(turns),
}


@pytest.mark.parametrize("look", LOOKS)
async def test_who_looks_and_does_not_come_back_is_told_and_the_run_is_no_part_of_it(
    path: Path, logged: Logged, monkeypatch: pytest.MonkeyPatch, look: str
) -> None:
    async with Runtime(path, modules=[turning], stuck_after=AFTER) as rt:
        await (await rt.start(wheel, run_id="r")).signal(Turned())
        found = spin_until_noted(monkeypatch, path)
        await LOOKS[look](rt)
    (note,) = found
    assert (note.run_id, note.number) == ("r", None)
    assert "    while Mood.spins():" in note.stack
    assert said(logged, "took long")


@pytest.mark.parametrize("awaits", [False, True])
async def test_a_handler_that_blocks_the_loop_is_named(
    path: Path, logged: Logged, monkeypatch: pytest.MonkeyPatch, awaits: bool
) -> None:
    async with Runtime(path, modules=[turning], stuck_after=AFTER) as rt:
        run = await rt.start(wheel, run_id="r")
        found = spin_until_noted(monkeypatch, path)
        await run.signal(Turned(Ask(awaits)))
        async for record in run.events(follow=True):
            if record.origin == "effect":
                break
    (note,) = found
    assert (note.run_id, note.effect_id, note.reducer, note.number) == ("r", "r:2:0", None, None)
    assert note.module == __name__
    assert ", in ask\n" in note.stack
    assert said(logged, "took long")[0]["effect_id"] == "r:2:0"


async def test_it_is_told_less_and_less_often(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Stuck] = []
    async with Runtime(path, modules=[turning], stuck_after=AFTER, on_stuck=found.append) as rt:
        run = await rt.start(wheel, run_id="r")
        monkeypatch.setattr(Mood, "spins", lambda: len(found) < 5)
        await run.signal(Turned())
    times = [note.seconds for note in found]
    assert all(2 * one <= other or other >= 8 * AFTER for one, other in pairwise(times))
    assert [note.long for note in found] == [seconds >= 8 * AFTER for seconds in times]
    assert len({note.since // 1_000 for note in found}) <= 2


def done(told: threading.Event) -> bool:
    told.set()
    return True


async def test_what_a_reader_does_not_come_back_from_concerns_nobody_else(path: Path, logged: Logged) -> None:
    async with Runtime(path, modules=[turning], stuck_after=AFTER) as rt:
        run = await rt.start(wheel, run_id="r")
        await run.signal(Turned())
        told = threading.Event()
        with looms.open_reader(path, modules=[turning]) as reader:
            Mood.spins = lambda: not told.wait(3 * AFTER) and not done(told)
            reader.run("r").inspect()
            told.clear()
            reader.verify("r")
        Mood.spins = lambda: False
        await run.signal(Turned())
        assert stuck.read(os.fspath(path)) is None
    assert not said(logged, "does not return")
    assert not said(logged, "took long")


async def test_a_log_or_a_function_that_raises_does_no_harm(
    path: Path, logged: Logged, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raises(note: Stuck) -> None:
        raise OSError("no pager")

    async with Runtime(path, modules=[turning], stuck_after=AFTER, on_stuck=raises) as rt:
        run = await rt.start(wheel, run_id="r")
        for seq in (2, 3):
            monkeypatch.setattr(Mood, "spins", lambda seq=seq: len(said(logged, "on_stuck raised")) < seq - 1)
            assert (await run.signal(Turned())).seq == seq
    assert said(logged, "on_stuck raised")[0]["error"] == "OSError: no pager"


async def test_a_folder_that_takes_no_note_does_not_keep_the_log_from_being_told(
    path: Path, logged: Logged, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Runtime(path, modules=[turning], stuck_after=AFTER) as rt:
        run = await rt.start(wheel, run_id="r")
        (path / stuck.NAME).mkdir()
        monkeypatch.setattr(Mood, "spins", lambda: not said(logged, "other processes cannot be told"))
        await run.signal(Turned())
    assert said(logged, "does not return")
    assert sorted(os.listdir(path / stuck.NAME)) == []
    (path / stuck.NAME).rmdir()


async def test_without_a_limit_nobody_watches(path: Path) -> None:
    async with Runtime(path, modules=[turning], stuck_after=None) as rt:
        await (await rt.start(wheel, run_id="r")).signal(Turned())
        assert not [thread for thread in threading.enumerate() if thread.name == "looms watchdog"]


@pytest.mark.parametrize("after", [0, -1, "1", float("nan"), True])
def test_a_limit_that_cannot_be_is_refused(path: Path, after: Any) -> None:
    with pytest.raises(InvalidInput, match="stuck_after"):
        Runtime(path, modules=[turning], stuck_after=after)
