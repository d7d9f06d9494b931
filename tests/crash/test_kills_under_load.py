"""Whenever a host is killed: what it acknowledged is in its store, once, and all that follows from it goes on."""

import os
import secrets
from functools import partial
from pathlib import Path

import anyio
import pytest

from looms import Reader, Runtime
from looms.reducers.views import view
from tests.crash.audit import Audited
from tests.crash.killing import LIMIT, Place, never_ran
from tests.crash.works import LEDGER, modules

SEED = os.environ.get("CRASH_SEED") or secrets.token_hex(4)


@pytest.mark.parametrize("story", range(2))
def test_what_was_acknowledged_survives_every_kill(story: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lives(f"{SEED}.{story}", 5, tmp_path, monkeypatch)


@pytest.mark.long
@pytest.mark.parametrize("story", range(20))
def test_it_survives_many_more(story: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lives(f"{SEED}.long.{story}", 10, tmp_path, monkeypatch)


def lives(seed: str, rounds: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kill a store's hosts, so many one after the other; then let one go on in peace, until all is done."""
    place = Place(folder)
    monkeypatch.setenv(LEDGER, str(place.ledger))
    try:
        for n in range(rounds):
            place.round(f"{seed}.{n}")
        found = place.check(place.acknowledged)
        anyio.run(looks_the_same, place.store, found)
        anyio.run(partial(goes_on, place.store))
        found = place.check(place.acknowledged)
        assert never_ran(place.ledger, found) == []
        for one in found.values():
            assert all(effect.held for effect in one.run.effects.values()), (
                f"{one.head.run_id}: effects that nobody runs"
            )
            assert not one.inbox, f"{one.head.run_id}: messages that nobody takes"
            assert not [wait for wait in one.run.waits.by_key.values() if wait.due is not None]
    except BaseException as error:
        error.add_note(f"CRASH_SEED={SEED} tells this story again (story {seed}), as far as the machine allows")
        raise


async def looks_the_same(store: Path, found: dict[str, Audited]) -> None:
    """Whoever reads a run sees what its records fold to."""
    async with Reader(store, modules=modules) as reader:
        for run_id, one in found.items():
            assert await reader.run(run_id).inspect() == view(one.run, one.suspended)
        assert len([summary async for summary in reader.runs()]) == len(found)


async def goes_on(store: Path) -> None:
    """Let a host finish what is open: effects, messages, and deadlines, which are all short."""
    with anyio.fail_after(LIMIT):
        async with Runtime(store, modules=modules) as runtime:
            more = runtime.next_commit()
            while await _open(runtime):
                await more.wait()
                more = runtime.next_commit()
            for summary in [summary async for summary in runtime.runs()]:
                run = runtime.run(summary.run_id)
                assert (await run.inspect()).seq == summary.seq


async def _open(runtime: Runtime) -> int:
    """How many runs have something to do, or will have soon."""
    found = 0
    for status in ("running", "waiting"):
        async for summary in runtime.runs(status=status):
            state = await runtime.run(summary.run_id).inspect()
            running = [effect for effect in state.effects if not effect.held]
            found += bool(running or [wait for wait in state.waits if wait.due is not None])
    return found
