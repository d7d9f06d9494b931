"""Snapshots of large states are made beside the run, which goes on; what comes of them is what a turn would write."""

from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from looms import Event, Module, Reduced, Run, Runtime, Started, State, replace
from looms.actors.snapshotting import LARGE

pytestmark = pytest.mark.anyio

ledger = Module("ledger")


@ledger.event("entry")
class Entry(Event):
    place: int
    text: str


class Book(State):
    lines: tuple[str, ...] = ()
    odd: Any = None


@ledger.reducer("book", state=Book)
def book(state: Book, event: Started[int] | Entry) -> Reduced[Book]:
    if isinstance(event, Entry):
        lines = (*state.lines[: event.place], event.text, *state.lines[event.place + 1 :])
        return replace(state, lines=lines, odd={1, 2} if event.text == "odd" else state.odd)
    return replace(state, lines=tuple("x" * 99 for _ in range(event.input)))


LINES = 2 * LARGE // 100


async def kinds(run: Run[Any, Any]) -> list[tuple[int, str]]:
    return [(snapshot.seq, snapshot.kind) async for snapshot in run.snapshots()]


async def until_there(run: Run[Any, Any], seq: int) -> None:
    with anyio.fail_after(30):
        while seq not in [at for at, _ in await kinds(run)]:
            await checkpoint()


async def test_a_large_one_is_written_after_its_turn_and_later_ones_are_differences_from_it(tmp_path: Path) -> None:
    async with Runtime(tmp_path / "s", modules=[ledger], snapshot_every=10) as rt:
        run = await rt.start(book, LINES, run_id="a")
        for n in range(9):
            await run.signal(Entry(n, "new"))
        await until_there(run, 10)
        for n in range(20):
            await run.signal(Entry(n, "newer"))
        assert await kinds(run) == [(10, "full"), (20, "delta"), (30, "delta")]
        last = (await run.inspect()).state
    async with Runtime(tmp_path / "s", modules=[ledger]) as rt:
        run = rt.run("a")
        assert (await run.inspect()).state == last
        assert (await rt.check()).ok
        assert (await rt.verify("a")).ok
        assert (await run.replay_to(10)).after.state == replace(last, lines=("new",) * 9 + ("x" * 99,) * (LINES - 9))


async def test_a_run_that_is_deleted_meanwhile_leaves_nothing(tmp_path: Path) -> None:
    async with Runtime(tmp_path / "s", modules=[ledger], snapshot_every=10) as rt:
        run = await rt.start(book, LINES, run_id="a")
        await run.signal(*[Entry(n, "new") for n in range(9)])
        await run.cancel()
        await run.delete()
        again = await rt.start(book, LINES, run_id="a")
        await again.signal(*[Entry(n, "other") for n in range(9)])
        await until_there(again, 10)
        assert (await rt.check()).ok


async def test_a_host_that_ends_meanwhile_has_lost_no_more_than_a_snapshot(tmp_path: Path) -> None:
    for n in range(5):
        async with Runtime(tmp_path / "s", modules=[ledger], snapshot_every=10) as rt:
            run = await rt.start(book, LINES, run_id="a", exists="return")
            await run.signal(*[Entry(k, f"{n}") for k in range(10)])
    async with Runtime(tmp_path / "s", modules=[ledger]) as rt:
        state = (await rt.run("a").inspect()).state
        assert isinstance(state, Book)
        assert state.lines[:11] == ("4",) * 10 + ("x" * 99,)
        assert (await rt.check()).ok


async def test_a_large_state_that_no_snapshot_can_hold_keeps_its_run_going(tmp_path: Path) -> None:
    async with Runtime(tmp_path / "s", modules=[ledger], snapshot_every=5) as rt:
        run = await rt.start(book, LINES, run_id="a")
        for n in range(25):
            await run.signal(Entry(n, "odd"))
            for _ in range(5):
                await checkpoint()
        assert await kinds(run) == []
    async with Runtime(tmp_path / "s", modules=[ledger]) as rt:
        assert (await rt.run("a").inspect()).seq == 26
