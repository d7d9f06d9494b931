"""Old snapshots go, and going back to any seq finds what it found before."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looms import DAY, Event, InvalidInput, Module, Reader, Retention, Runtime, Started, State
from looms.driving import driver
from looms.snapshots import heads
from looms.snapshots.chains import below
from looms.snapshots.rows import SnapshotInfo
from looms.snapshots.thinning import spare
from looms.testing import TestClock, runtime
from tests.looms.shop import MODULES, OPEN, Closed, Paid, till

pytestmark = pytest.mark.anyio


@given(
    st.lists(st.integers(1, 50), max_size=60),
    st.integers(0, 3_000),
    st.integers(1, 200),
    st.sets(st.integers(0, 60)),
)
def test_of_the_old_ones_few_are_kept_and_all_that_they_stand_on(
    steps: list[int], before: int, every: int, full: set[int]
) -> None:
    stored: list[tuple[int, SnapshotInfo]] = []
    for number, step in enumerate(steps):
        seq = (stored[-1][0] if stored else 0) + step
        base = stored[number & (number - 1)][0] if number and number not in full else None
        stored.append((seq, SnapshotInfo(seq, "full" if base is None else "delta", base, {}, 1, number)))
    gone = {seq for seq, _ in spare(stored, before, every)}
    kept = {seq: info for seq, info in stored if seq not in gone}
    assert all(info.base is None or info.base in kept for info in kept.values())
    assert not stored or stored[-1][0] in kept
    assert all(info.at < before for seq, info in stored if seq in gone)
    to_come = {stored[number][0] for number in below(len(stored) - 1)} if stored else set()
    assert to_come <= kept.keys()  # what the next ones stand on, whether the newest does or not
    bases = {info.base for info in kept.values()} | to_come
    old = [seq for seq, info in kept.items() if info.at < before and seq not in bases][:-1]
    assert all(later - earlier >= every for earlier, later in pairwise(old))
    last = 0
    for seq, _ in stored:  # and yet there is one within reach
        last = seq if seq in kept else last
        assert seq - last < every


notes = Module("notes")


@notes.event("written")
class Written(Event):
    text: str


class Note(State):
    text: str = ""
    times: int = 0


@notes.reducer("note", state=Note)
def note(state: Note, event: Started[None] | Written) -> Note:
    return Note(event.text, state.times + 1) if isinstance(event, Written) else Note("a" * 5_000)


async def test_a_snapshot_that_is_taken_after_a_thinning_stands_on_what_is_there(path: Path, clock: TestClock) -> None:
    async with runtime([notes], path, clock, snapshot_every=1) as rt:
        run = await rt.start(note, None, run_id="n")
        await run.signal(Written(text="b" * 5_000))  # in full, for all of it is new: it stands on nothing
        await clock.advance(60)
        await rt.prune(snapshots_older=1)
        await run.signal(
            Written(text="a" * 5_000)
        )  # by its number the next one stands on the first one, and is like it
        kinds = [(snapshot.seq, snapshot.kind, snapshot.base) async for snapshot in run.snapshots()]
        assert kinds == [(1, "full", None), (2, "full", None), (3, "delta", 1)]
        assert (await rt.check()).ok
        last = await run.inspect()
    async with runtime([notes], path, clock) as rt:
        assert await rt.run("n").inspect() == last


async def a_run(rt: Runtime, clock: TestClock, records: int) -> None:
    run = await rt.start(till, OPEN, run_id="t")
    for n in range(records):
        await run.signal(Paid(amount=n))
        if n % 20 == 0:
            await clock.advance(60)


async def states(source: Runtime | Reader, seqs: range) -> list[Any]:
    return [(await source.run("t").replay_to(seq)).after for seq in seqs]


async def taken(source: Runtime | Reader) -> list[int]:
    return [snapshot.seq async for snapshot in source.run("t").snapshots()]


async def test_going_back_finds_the_same_after_a_policy_has_thinned(path: Path, clock: TestClock) -> None:
    async with runtime(MODULES, path, clock, snapshot_every=2) as rt:
        await a_run(rt, clock, 200)
        before, was = await taken(rt), await states(rt, range(1, 201, 7))
    async with runtime(MODULES, path, clock, snapshot_every=2, retention=Retention(snapshots=DAY, keep_every=50)) as rt:
        await clock.advance(0)
        assert await taken(rt) == before  # they are not old yet
        await clock.advance(DAY * 2)
        after = await taken(rt)
        assert len(after) < len(before) / 4
        assert after[-1] == before[-1]
        assert await states(rt, range(1, 201, 7)) == was
        run = rt.run("t")
        for n in range(20):  # and new ones go on from there
            await run.signal(Paid(amount=n))
        now = await run.state()
        await run.signal(Closed())
    async with runtime(MODULES, path, clock) as rt:
        assert (await rt.run("t").replay_to(221)).after.state == now
        assert (await taken(rt))[: len(after)] == after


async def test_they_can_be_thinned_without_the_code(path: Path, clock: TestClock) -> None:
    async with runtime(MODULES, path, clock, snapshot_every=2) as rt:
        await a_run(rt, clock, 100)
        was = await states(rt, range(1, 101, 9))
        with rt.view() as view:
            number = heads.number_of(view, "t")
    assert number is not None
    async with driver(path, tends=True) as drive:
        thinned = await drive.thin_snapshots(number, clock.now() + 1, 30)
        assert thinned.complete
        assert thinned.snapshots > 30
    async with Reader(path, modules=MODULES) as reader:
        assert await states(reader, range(1, 101, 9)) == was


@pytest.mark.parametrize(
    "wrong", [{"keep_every": 0}, {"keep_every": 1.5}, {"snapshots": -1}, {"snapshots": float("inf")}]
)
async def test_what_cannot_be_is_refused(wrong: Any) -> None:
    with pytest.raises(InvalidInput, match=next(iter(wrong))):
        Retention(**wrong)
