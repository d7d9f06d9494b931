"""Many signals at once: each taken or refused by itself, few commits, one acknowledgement, bounded memory."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

import looms
from looms import (
    Event,
    InvalidInput,
    Module,
    Receipt,
    Reduced,
    Runtime,
    RuntimeClosed,
    SignalsRefused,
    Started,
    State,
    UnknownRun,
    replace,
)

pytestmark = pytest.mark.anyio

counting = Module("counting")


@counting.event("hit")
class Hit(Event):
    n: int


@counting.event("unheard")
class Unheard(Event):
    pass


class Counted(State):
    seen: tuple[int, ...] = ()


@counting.reducer("counter", state=Counted)
def counter(state: Counted, event: Started[None] | Hit) -> Reduced[Counted]:
    return replace(state, seen=(*state.seen, event.n)) if isinstance(event, Hit) else state


async def test_what_goes_to_a_run_comes_in_the_order_in_which_it_was_given_and_in_few_commits(tmp_path: Path) -> None:
    async with Runtime(tmp_path / "s", modules=[counting]) as rt:
        for id in "abc":
            await rt.start(counter, run_id=id)
        before = [commit async for commit in rt.commits()][-1].number
        receipts = await rt.signal_many(("abc"[n % 3], Hit(n)) for n in range(3_000))
        assert [receipt.seq for receipt in receipts] == [2 + n // 3 for n in range(3_000)]
        for place, id in enumerate("abc"):
            state = (await rt.run(id).inspect()).state
            assert isinstance(state, Counted)
            assert state.seen == tuple(range(place, 3_000, 3))
        after = [commit async for commit in rt.commits()][-1].number
        assert after - before < 100
    async with Runtime(tmp_path / "s", modules=[counting]) as rt:
        assert (await rt.run("a").inspect()).seq == 1_001


async def test_each_is_refused_by_itself_and_the_others_are_recorded(tmp_path: Path) -> None:
    async with Runtime(tmp_path / "s", modules=[counting]) as rt:
        await rt.start(counter, run_id="a")
        given: list[Any] = [
            ("a", Hit(1)),
            ("nobody", Hit(2)),
            ("a", "no event"),
            ("a",),
            ("a", Hit(3), "k"),
            ("a", Hit(3), "k"),
        ]
        with pytest.raises(SignalsRefused, match="3 of 6 signals were refused, first number 1") as caught:
            await rt.signal_many(given)
        outcomes = caught.value.outcomes
        assert outcomes[0] == Receipt(2)
        assert [type(one) for one in outcomes[1:4]] == [UnknownRun, looms.InvalidEvent, InvalidInput]
        assert outcomes[4:] == [Receipt(3), Receipt(3, duplicate=True)]
        again = await rt.signal_many(given, errors="return")
        assert [type(one).__name__ for one in again] == [type(one).__name__ for one in outcomes]
        assert again[4:] == [Receipt(3, duplicate=True)] * 2
        with pytest.raises(InvalidInput, match="errors='ignore'; give 'raise' or 'return'"):
            await rt.signal_many([], errors="ignore")  # type: ignore[call-overload]
        assert await rt.signal_many([]) == []


async def test_a_long_stream_is_gone_through_as_there_is_room_for_it(tmp_path: Path) -> None:
    """However long it is, what was taken from it and is not on disk yet is bounded."""
    async with Runtime(tmp_path / "s", modules=[counting], snapshot_every=100_000) as rt:
        for n in range(10):
            await rt.start(counter, run_id=str(n))
        given = 0
        furthest = 0

        def stream() -> Iterator[tuple[str, Event]]:
            nonlocal given, furthest
            for n in range(20_000):
                given += 1
                yield str(n % 10), Hit(n)

        async def watch() -> None:
            nonlocal furthest
            async for commit in rt.commits(follow=True):
                done = sum(turn.last - turn.first + 1 for turn in commit.turns)
                furthest = max(furthest, given - (recorded := done + seen[0]))
                seen[0] = recorded

        seen = [-10]
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch)
            await rt.signal_many(stream())
            tasks.cancel_scope.cancel()
        assert 0 < furthest < 8_192


async def test_a_stream_that_raises_ends_the_call_and_what_was_sent_before_is_kept(tmp_path: Path) -> None:
    def stream() -> Iterator[tuple[str, Event]]:
        yield "a", Hit(1)
        raise OSError("the file is gone")

    async with Runtime(tmp_path / "s", modules=[counting]) as rt:
        await rt.start(counter, run_id="a")
        with pytest.raises(OSError, match="the file is gone"):
            await rt.signal_many(stream())
        await rt.run("a").signal(Hit(2))
        assert (await rt.run("a").inspect()).state == Counted((1, 2))


async def test_a_runtime_that_closes_tells_who_sends_many(tmp_path: Path) -> None:
    told: list[Exception] = []

    async def send(rt: Runtime) -> None:
        try:
            await rt.signal_many(("a", Hit(n)) for n in range(1_000_000))
        except RuntimeClosed as error:
            told.append(error)

    async with (
        anyio.create_task_group() as tasks,
        Runtime(tmp_path / "s", modules=[counting], snapshot_every=10_000_000) as rt,
    ):
        run = await rt.start(counter, run_id="a")
        tasks.start_soon(send, rt)
        while (await run.inspect()).seq < 100:
            await anyio.lowlevel.checkpoint()
    assert len(told) == 1
