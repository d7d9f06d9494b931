"""Snapshots that stand on each other: what becomes of a run whose snapshots are damaged, replaced or missing."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from looms import Event, Module, Reader, Reduced, Started, State, replace
from looms.snapshots import snapshot_rows
from looms.snapshots.batch import Batch
from looms.snapshots.reading import Reading
from looms.snapshots.store import Store
from looms.testing import TestClock, runtime
from tests.actors.logged import Logged, said

EVERY = 2  # records between snapshots
SNAPSHOTS = 13


class Shelf(State):
    books: tuple[str, ...] = ("empty",) * 200
    filled: int = 0


def library(*, version: int = 1, step: int = 1) -> tuple[Module, Any, Any]:
    module = Module("library")

    @module.event("filled")
    class Filled(Event):
        place: int

    @module.reducer("shelf", state=Shelf, version=version)
    def shelf(state: Shelf, event: Started[None] | Filled) -> Reduced[Shelf]:
        if isinstance(event, Started):
            return state
        books = (*state.books[: event.place], f"book {event.place}", *state.books[event.place + 1 :])
        return replace(state, books=books, filled=state.filled + step)

    return module, shelf, Filled


MODULE, SHELF, FILLED = library()


async def filled(path: Path, clock: TestClock) -> list[Any]:
    """A run with some snapshots; the states that it had, by seq."""
    async with runtime([MODULE], path, clock, snapshot_every=EVERY) as rt:
        run = await rt.start(SHELF, run_id="s1")
        other = await rt.start(SHELF, run_id="s2")
        for place in range(SNAPSHOTS * EVERY - 1):
            await run.signal(FILLED(place=place))
            await other.signal(FILLED(place=place))
        states = [(await run.replay_to(seq + 1)).after for seq in range(SNAPSHOTS * EVERY)]
        assert [s.kind async for s in run.snapshots()] == ["full"] + ["delta"] * (SNAPSHOTS - 1)
        return states


def gone(reading: Reading, batch: Batch, seq: int) -> None:
    snapshot_rows.delete(batch, 1, seq)


def garbage(reading: Reading, batch: Batch, seq: int) -> None:
    info = snapshot_rows.get(reading, 1, seq)
    assert info is not None
    snapshot_rows.put(batch, 1, seq, info, b"\x93nothing of the kind")


def of_another_seq(reading: Reading, batch: Batch, seq: int) -> None:
    info = snapshot_rows.get(reading, 1, seq)
    assert info is not None
    other = 2 if seq != 2 else 4
    snapshot_rows.put(batch, 1, seq, info, snapshot_rows.body(reading, 1, other))


def made_anew(reading: Reading, batch: Batch, seq: int) -> None:
    """As by other code: a sound snapshot, of another state."""
    info = snapshot_rows.get(reading, 1, seq)
    assert info is not None
    whole = msgspec.msgpack.decode(snapshot_rows.body(reading, 1, 2))
    whole["seq"] = seq
    whole["threads"][0]["state"]["filled"] = seq - 1
    whole["threads"][0]["state"]["books"] = [f"book {n}" if n < seq - 1 else "empty" for n in range(200)]
    anew = msgspec.structs.replace(info, kind="full", base=None, stamp=info.stamp ^ 1)
    snapshot_rows.put(batch, 1, seq, anew, msgspec.msgpack.encode(whole))


@pytest.mark.parametrize("harm", [gone, garbage, of_another_seq, made_anew])
@pytest.mark.parametrize("seq", [2, 10, 18, 24, 26])
async def test_a_damaged_link_leads_to_an_older_snapshot_or_the_log_and_never_to_another_state(
    path: Path, clock: TestClock, logged: Logged, harm: Callable[[Reading, Batch, int], None], seq: int
) -> None:
    states = await filled(path, clock)
    with Store(path) as store:
        batch = store.new_batch()
        with store.view() as view:
            harm(view, batch, seq)
        store.commit(batch)
    logged.clear()
    async with runtime([MODULE], path, clock, snapshot_every=EVERY) as rt:
        run = rt.run("s1")
        assert await run.inspect() == states[-1]
        for at in (1, seq - 1, seq, min(seq + 3, len(states)), len(states)):
            assert (await run.replay_to(at)).after == states[at - 1]
        assert (await rt.run("s2").state()).filled == SNAPSHOTS * EVERY - 1
        told = said(logged, "snapshots passed over, as there is damage")
        alone = seq == 26 and harm in (gone, made_anew)  # then the newest is another one, or this one as it is
        if seq in (26, 18, 2) and not alone:  # the newest, number 12, stands on 8, and that on 0
            assert (told[0]["run_id"], told[0]["damaged"]) == ("s1", [seq])
        assert {entry["run_id"] for entry in told} <= {"s1"}
        await run.signal(FILLED(place=100))
        await run.signal(FILLED(place=101))
        assert (await run.state()).filled == SNAPSHOTS * EVERY + 1
    async with Reader(path, modules=[MODULE]) as reader:
        assert (await reader.run("s1").state()).filled == SNAPSHOTS * EVERY + 1
        newest = [s async for s in reader.run("s1").snapshots()][-1]
        assert (await reader.run("s1").snapshot(newest.seq)).seq == newest.seq


async def test_a_new_state_that_is_another_one_is_written_in_full(path: Path, clock: TestClock) -> None:
    module = Module("wild")

    @module.event("rolled")
    class Rolled(Event):
        text: str

    class Wild(State):
        texts: tuple[str, ...] = ()

    @module.reducer("wild", state=Wild)
    def wild(state: Wild, event: Started[None] | Rolled) -> Reduced[Wild]:
        return state if isinstance(event, Started) else Wild(tuple(f"{event.text} {n}" for n in range(300)))

    async with runtime([module], path, clock, snapshot_every=1) as rt:
        run = await rt.start(wild, run_id="w1")
        for text in "abcdefgh":
            await run.signal(Rolled(text=text))
        snapshots = [s async for s in run.snapshots()]
        assert [s.kind for s in snapshots] == ["full"] * 9
        for snapshot in snapshots:
            assert await run.snapshot(snapshot.seq) == (await run.replay_to(snapshot.seq)).after


async def test_a_run_without_states_costs_no_chain(path: Path, clock: TestClock) -> None:
    """The state is small: what is known of a snapshot beside its body is more than a difference would save."""
    module = Module("small")

    @module.event("ticked")
    class Ticked(Event):
        pass

    class Small(State):
        ticks: int = 0

    @module.reducer("small", state=Small)
    def small(state: Small, event: Started[None] | Ticked) -> Reduced[Small]:
        return replace(state, ticks=state.ticks + 1)

    async with runtime([module], path, clock, snapshot_every=1) as rt:
        run = await rt.start(small, run_id="s1")
        for _ in range(5):
            await run.signal(Ticked())
        assert {s.kind async for s in run.snapshots()} == {"full"}


async def test_another_version_begins_a_new_chain_and_rolling_back_finds_the_old_one(
    path: Path, clock: TestClock
) -> None:
    await filled(path, clock)
    module, _, filled_again = library(version=2, step=10)
    async with runtime([module], path, clock, snapshot_every=EVERY) as rt:
        run = rt.run("s1")
        assert (await run.state()).filled == 250
        for place in range(100, 106):
            await run.signal(filled_again(place=place))
        new = [s async for s in run.snapshots()][SNAPSHOTS:]  # numbers 13, 14, 15; of 12 there is none of this version
        assert [(s.kind, s.base) for s in new] == [("full", None), ("full", None), ("delta", 29)]
        assert (await run.state()).filled == 310
    async with runtime([MODULE], path, clock, snapshot_every=EVERY) as rt:
        assert (await rt.run("s1").state()).filled == 31
        assert (await rt.run("s1").snapshot(26)).state.filled == 25


@pytest.mark.parametrize("modules", [[MODULE], []], ids=["with the code", "without"])
async def test_a_reader_without_the_code_shows_every_delta_as_plain_data(
    path: Path, clock: TestClock, modules: list[Module]
) -> None:
    await filled(path, clock)
    async with Reader(path, modules=modules) as reader:
        run = reader.run("s1")
        async for snapshot in run.snapshots():
            state = (await run.snapshot(snapshot.seq)).state
            books = state.books if modules else state["books"]
            assert list(books[:30]) == [f"book {n}" if n < snapshot.seq - 1 else "empty" for n in range(30)]


async def test_a_new_version_of_an_event_makes_older_snapshots_not_fit(path: Path, clock: TestClock) -> None:
    """Its upcast may make other values of what was folded: a state is never half of the old and half of the new."""

    def names(version: int) -> tuple[Module, Any, Any]:
        module = Module("names")

        @module.event("named", version=version)
        class Named(Event):
            name: str

        if version == 2:

            @module.upcast("named", to=2)
            def titled(payload: dict[str, Any]) -> dict[str, Any]:
                return {**payload, "name": payload["name"].title()}

        class Names(State):
            names: tuple[str, ...] = ()

        @module.reducer("names", state=Names)
        def collect(state: Names, event: Started[None] | Named) -> Reduced[Names]:
            return replace(state, names=(*state.names, event.name)) if isinstance(event, Named) else state

        return module, collect, Named

    module, collect, named = names(1)
    async with runtime([module], path, clock, snapshot_every=2) as rt:
        run = await rt.start(collect, run_id="n1")
        await run.signal(named("ada"), named("ben"))
        await run.signal(named("cy"))
    module, _, named = names(2)
    async with runtime([module], path, clock, snapshot_every=2) as rt:
        run = rt.run("n1")
        assert (await run.state()).names == ("Ada", "Ben", "Cy")
        assert (await run.replay_to(3)).after.state.names == ("Ada", "Ben")
        await run.signal(named("Dee"), named("Eve"))
        assert (await rt.verify("n1")).stale_snapshot is None
        assert (await run.state()).names == ("Ada", "Ben", "Cy", "Dee", "Eve")
