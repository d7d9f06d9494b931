"""A store with something in every table, and ways to damage it."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lmdb

from looms import CancelRequested, Event, Module, Reduced, Started, State, Workflow, step, wait
from looms.actors.calls import Answer, Call
from looms.actors.requests import CancelRun, pack_answer, pack_request
from looms.snapshots import heads, removal, requests
from looms.snapshots.store import Store
from looms.snapshots.tables import ALL, Table
from looms.testing import TestClock, runtime
from tests.crash.works import Asked, Mood, Told, Trip, Word, clerk, desk, trip, works

house = Module("house")


@house.event("called")
class Called(Event):
    """Somebody calls."""

    name: str


class Guest(State):
    """Somebody who takes his time to leave."""

    leaving: bool = False


@house.reducer("guest", state=Guest)
def guest(state: Guest, event: Started[None] | Called | CancelRequested) -> Reduced[Guest]:
    """One that waits, and goes on waiting when it is asked to leave."""
    match event:
        case Started():
            return step(state, wait(Called, match={"name": "Ada"}))
        case CancelRequested():
            return Guest(leaving=True)
    return state


@house.store("register")
class Register(State):
    """Who has come."""

    names: tuple[str, ...] = ()


@house.workflow("porter")
async def porter(ctx: Workflow) -> str:
    """One that waits for somebody to come."""
    register = await ctx.store(Register, id="front", initial=Register())
    return await register.when("somebody", lambda register: next(iter(register.names), ""))


modules = [works, house]

OPTIONS: dict[str, Any] = {"snapshot_every": 6}


async def fill(store: Path) -> None:
    """Make the store."""
    Mood.bad = False
    async with runtime(modules, store, TestClock(), **OPTIONS) as rt:
        for name in ("one", "other"):
            run = await rt.start(desk, 0, run_id=name)
            await rt.start(desk, 0, run_id=f"{name}'s friend")
            for n in range(20):  # in turn, so that their records lie apart
                await run.signal(Asked(n, "fold"), Asked(n + 1, "fold"), key=f"k{n}")
                await rt.run(f"{name}'s friend").signal(Asked(n, "fold"))
            await run.signal(Asked(0, "wait", "x"), Asked(2, "sleep"), Asked(1, "choose", "y"))
            await run.signal(Asked(6, "spawn", "child"))
        for name in ("away", "present"):
            await rt.start(clerk, 0, run_id=name)
        Mood.bad = True
        for name in ("away", "present"):
            await rt.run("one's friend").signal(Asked(17, "tell", name))
        await rt.clock.advance(0)
        Mood.bad = False
        leaving = await rt.start(guest, run_id="guest")
        await leaving.cancel("closing time", grace=1_000)
        await rt.start(porter, run_id="porter")
        await rt.clock.advance(0)
        for n in (3, 4, 5):
            await rt.start(trip, Trip(n, "wait"), run_id=f"trip {n}")
        await rt.publish(Word("trip 3"), key="p1")
        await rt.publish(Word("trip 5"), key="p3")
        await rt.run("trip 4").cancel("no more")
        await rt.run("trip 4").delete()
        await rt.start(trip, Trip(4, "wait"), run_id="trip 4")
        await rt.publish(Word("later", 3), key="p2", retain=1_000)
        await rt.run("nobody yet").signal(Told(1, "me"), key="early", retain=1_000)
        receipt = await rt.run("other").signal(Asked(1, "stamp"), Asked(3, "invoke"))
        await rt.run("other").fork(at=receipt.seq or 0, run_id="fork")  # with these effects, held
    _from_other_processes(store)


def _from_other_processes(path: Path) -> None:
    """What is in a store only for moments."""
    with Store(path) as store:
        batch = store.new_batch()
        with store.view() as view:
            over = heads.find(view, "trip 3")
            assert over is not None
            removal.begin(batch, over)
        call: Call[None] = Call()
        requests.answer(batch, b"2" * 16, pack_answer(Answer(call, 7, None)))
        store.commit(batch)
        requests.ask(store.environment, b"1" * 16, pack_request(CancelRun("one", "enough", 1.0)))


def contents(store: Path) -> dict[tuple[Table, bytes], bytes]:
    """All rows of a store, as LMDB has them."""
    found = {}
    with lmdb.open(os.fspath(store), max_dbs=64) as raw, raw.begin() as txn:
        for table in ALL:
            for key, value in txn.cursor(raw.open_db(table.name.encode(), txn)):
                found[table, key] = value
    return found


def put(store: Path, table: Table, key: bytes, value: bytes | None) -> None:
    """Put a value under a key as it is, or delete the row."""
    with lmdb.open(os.fspath(store), max_dbs=64, sync=False) as raw, raw.begin(write=True) as txn:
        handle = raw.open_db(table.name.encode(), txn)
        txn.delete(key, b"", handle) if value is None else txn.put(key, value, db=handle)


def flipped(value: bytes, bit: int) -> bytes:
    """A value with one bit changed."""
    changed = bytearray(value)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def rows_of(store: Path, table: Table) -> Iterator[tuple[bytes, bytes]]:
    """The rows of one table."""
    return ((key, value) for (of, key), value in contents(store).items() if of is table)


def copied(store: Path, to: Path) -> Path:
    """A copy of a store that is closed."""
    shutil.copytree(store, to, ignore=shutil.ignore_patterns("doorbell"))
    return to
