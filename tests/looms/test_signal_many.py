"""Many signals at once: each taken or refused by itself, few commits, one acknowledgement, bounded memory."""

import re
from collections.abc import AsyncIterator, Iterator
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
    SignalsBrokenOff,
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


async def test_a_stream_that_raises_ends_the_call_which_says_what_is_recorded(tmp_path: Path) -> None:
    def stream() -> Iterator[tuple[str, Event]]:
        yield from (("a", Hit(n)) for n in range(100))
        yield "nobody", Hit(100)
        raise OSError("the file is gone")

    async with Runtime(tmp_path / "s", modules=[counting]) as rt:
        await rt.start(counter, run_id="a")
        said = "broke off after 101, with OSError: the file is gone. Of those before 100 are recorded, 1 is not"
        with pytest.raises(SignalsBrokenOff, match=said) as caught:
            await rt.signal_many(stream(), errors="return")
        assert isinstance(caught.value.__cause__, OSError)
        assert caught.value.outcomes[:100] == [Receipt(2 + n) for n in range(100)]
        assert isinstance(caught.value.outcomes[100], UnknownRun)
        assert (await rt.run("a").inspect()).state == Counted(tuple(range(100)))


@pytest.mark.parametrize("given", [None, 5, "a", counter])
async def test_what_cannot_be_gone_through_is_refused(tmp_path: Path, given: Any) -> None:
    async with Runtime(tmp_path / "s", modules=[counting]) as rt:
        with pytest.raises(
            InvalidInput, match=r"signals=.*; give \(run_id, event\) or \(run_id, event, key\) for each"
        ):
            await rt.signal_many(given)


async def test_an_async_generator_is_refused_with_what_to_make_of_it(tmp_path: Path) -> None:
    async def stream() -> AsyncIterator[tuple[str, Event]]:
        yield "a", Hit(1)

    async with Runtime(tmp_path / "s", modules=[counting]) as rt:
        with pytest.raises(InvalidInput, match=r"a list: \[one async for one in \.\.\.\]"):
            await rt.signal_many(stream())  # type: ignore[call-overload]


async def test_what_is_said_of_refused_signals_is_so_of_one_of_some_and_of_all(tmp_path: Path) -> None:
    async with Runtime(tmp_path / "s", modules=[counting]) as rt:
        await rt.start(counter, run_id="a")
        for given, said in {
            ("a",): None,
            ("b",): "^the signal was refused: UnknownRun: there is no run 'b' in this store$",
            ("a", "b"): "^1 of 2 signals was refused, first number 1 .* The others are recorded",
            ("b", "c"): "^all 2 signals were refused, the first with UnknownRun: .* `outcomes` has each error$",
        }.items():
            signals = [(id, Hit(1)) for id in given]
            if said is None:
                await rt.signal_many(signals)
            else:
                with pytest.raises(SignalsRefused, match=said):
                    await rt.signal_many(signals)


async def test_keys_that_were_there_are_answered_many_at_once(tmp_path: Path) -> None:
    """To look up what is there takes no commit, so nobody waits for the disk: nor is each a turn of the loop."""
    async with Runtime(tmp_path / "s", modules=[counting], snapshot_every=100_000) as rt:
        await rt.start(counter, run_id="a")
        signals = [("a", Hit(n), f"key-{n}") for n in range(9_000)]
        first = await rt.signal_many(signals)
        turns = 0

        async def count_turns() -> None:
            nonlocal turns
            while True:
                await anyio.lowlevel.checkpoint()
                turns += 1

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(count_turns)
            again = await rt.signal_many(signals)
            tasks.cancel_scope.cancel()
        assert again == [Receipt(receipt.seq, duplicate=True) for receipt in first]
        assert turns < 3_000


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
    assert re.match(
        r"the runtime was closed while signals were sent: [1-9][\d,]* are recorded, \d[\d,]* (is|are) not", str(told[0])
    )
