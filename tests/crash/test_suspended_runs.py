"""Runs that are suspended keep what comes, in its order, over restarts and deaths, until their code is well again."""

from pathlib import Path
from typing import Any

import anyio
import pytest

from looms import (
    EffectFailed,
    Module,
    ModuleError,
    Reduced,
    RunSuspended,
    Started,
    TimedOut,
    complete,
    invoke,
    replace,
    sleep,
    step,
    wait,
)
from looms.reducers.items import Delivery
from looms.reducers.registry import Registry
from looms.testing import TestClock, runtime
from tests.crash.audit import audit
from tests.crash.faults import Faults
from tests.crash.stories import stories
from tests.crash.works import (
    Asked,
    Counts,
    Mood,
    Progressed,
    Stamp,
    Stamped,
    Told,
    Word,
    clerk,
    desk,
    modules,
    noted,
    press,
    works,
)

CODE = Registry(modules)


async def told(run: Any) -> list[tuple[str, int]]:
    """What other runs told a run, in the order of its log: by whom, and what."""
    return [(record.sender[0], record.payload["n"]) async for record in run.events() if record.type == "works.told"]


async def test_messages_wait_in_order_over_restarts_and_are_taken_once(store: Path) -> None:
    clock = TestClock()
    async with runtime(modules, store, clock) as rt:
        await rt.start(clerk, 60, run_id="c")
        for sender in ("a", "b"):
            await rt.start(desk, 0, run_id=sender)
        await rt.run("a").signal(Asked(0, "tell", "c"))
        await clock.advance(0)
        Mood.bad = True
        for n in range(10, 50, 10):
            for sender in ("a", "b"):
                await rt.run(sender).signal(Asked(n, "tell", "c"))
                await clock.advance(0)
        assert (await rt.run("c").inspect()).status == "suspended"
        await clock.advance(100)
    expected = [("a", 0), ("a", 1)] + [
        (sender, n + part) for n in range(10, 50, 10) for sender in ("a", "b") for part in (0, 1)
    ]
    for _ in range(2):
        async with runtime(modules, store, clock) as rt:
            await clock.advance(100)
            state = await rt.run("c").inspect()
            assert (state.status, state.seq) == ("suspended", 3)
            assert "not in this mood" in (state.error or "")
            with pytest.raises(RunSuspended):
                await rt.run("c").signal(Told(1, "me"))
            await rt.run("c").resume()
            assert (await rt.run("c").inspect()).status == "suspended"
        audit(store, CODE)
    Mood.bad = False
    async with runtime(modules, store, clock) as rt:
        await clock.advance(1)
        assert (await rt.run("c").inspect()).status == "suspended"
        await rt.run("c").resume()
        await clock.advance(0)
        assert (await rt.run("c").inspect()).status == "waiting"
        assert await told(rt.run("c")) == expected
        assert (await rt.run("c").state()).counts == {"Told": 18, "TimedOut": 1}
        await rt.run("a").signal(Asked(90, "tell", "c"))
        await clock.advance(0)
        assert await told(rt.run("c")) == [*expected, ("a", 90), ("a", 91)]
    audit(store, CODE)


async def test_more_messages_than_a_turn_takes_are_all_taken(store: Path) -> None:
    async with runtime(modules, store) as rt:
        await rt.start(clerk, 0, run_id="c")
        await rt.start(desk, 0, run_id="a")
        Mood.bad = True
        await rt.run("a").signal(*(Asked(2 * n, "tell", "c") for n in range(400)))
        await rt.clock.advance(0)
        assert (await rt.run("c").inspect()).status == "suspended"
        Mood.bad = False
        await rt.run("c").resume()
        await rt.clock.advance(0)
        assert await told(rt.run("c")) == [("a", n) for n in range(800)]
    assert audit(store, CODE)["c"].inbox == []


async def test_outcomes_and_deadlines_wait_too(store: Path, ledger: Path) -> None:
    ward = Module("ward", requires=[works])

    @ward.reducer("patient", state=Counts)
    def patient(
        state: Counts, event: Started[None] | Stamped | Progressed | EffectFailed | TimedOut
    ) -> Reduced[Counts]:
        if isinstance(event, Started):
            return step(state, invoke(press, Stamp(1)), invoke(press, Stamp(2)), sleep(5))
        if Mood.bad:
            raise RuntimeError("not in this mood")
        if isinstance(event, Stamped) and state.counts.get("Stamped"):
            return step(_with(state, "Stamped"), complete("both"))
        return _with(state, type(event).__name__)

    def _with(state: Counts, name: str) -> Counts:
        return replace(state, counts={**state.counts, name: state.counts.get(name, 0) + 1})

    clock = TestClock()
    both = [*modules, ward]
    async with runtime(both, store, clock) as rt:
        run = await rt.start(patient, run_id="p")
        Mood.bad = True
        await clock.advance(10)
        state = await run.inspect()
        assert (state.status, state.seq, len(state.effects), len(state.waits)) == ("suspended", 1, 2, 1)
    audit(store, Registry(both))
    Mood.bad = False
    async with runtime(both, store, clock) as rt:
        await clock.advance(10)
        assert [attempt for _, attempt in noted(ledger)] == [1, 1]
        await rt.run("p").resume()
        await clock.advance(0)
        assert await rt.run("p").result() == "both"
        assert [attempt for _, attempt in noted(ledger)] == [1, 1]
    found = audit(store, Registry(both))["p"]
    assert (found.inbox, found.run.effects) == ([], {})


def depot(name: str) -> list[Module]:
    """A module whose one definition has this name today."""
    module = Module("depot", requires=[works])

    @module.reducer(name, state=Counts)
    def keeper(state: Counts, event: Started[int] | Told | Word | TimedOut) -> Reduced[Counts]:
        if isinstance(event, Started):
            return step(state, wait(Word, match={"tag": "w"}, timeout=event.input))
        name = type(event).__name__
        return replace(state, counts={**state.counts, name: state.counts.get(name, 0) + 1})

    return [works, module]


def keeper_of(code: list[Module]) -> Any:
    return code[1].definitions["depot.keeper"]


async def test_a_run_whose_definition_is_gone_is_suspended_until_it_is_back(store: Path) -> None:
    clock, old, new = TestClock(), depot("keeper"), depot("keepr")
    async with runtime(old, store, clock, snapshot_every=2) as rt:
        for n in range(3):
            await rt.start(keeper_of(old), 60 + n, run_id=f"k{n}")
        await rt.start(desk, 0, run_id="d")
    async with runtime(new, store, clock) as rt:
        assert [one.run_id async for one in rt.runs(status="suspended")] == ["k0", "k1", "k2"]
        state = await rt.run("k0").inspect()
        assert state.status == "suspended"
        assert "depot.keeper" in (state.error or "")
        assert "did you mean 'depot.keepr'" in (state.error or "")
        with pytest.raises(RunSuspended, match="keepr"):
            await rt.run("k0").signal(Told(1, "me"))
        for n in range(0, 20, 2):
            await rt.run("d").signal(Asked(n, "tell", "k0"))
        assert sorted((await rt.publish(Word("w", 7), key="p")).runs) == ["k0", "k1", "k2"]
        await clock.advance(100)
        assert (await rt.run("k1").inspect()).seq == 1
        await rt.run("k1").resume()
        assert (await rt.run("k1").inspect()).status == "suspended"
        await rt.run("k2").cancel()
        assert (await rt.run("k2").inspect()).status == "cancelled"
        assert (await rt.run("d").state()).counts == {"Asked": 10}
    with pytest.raises(ModuleError, match=r"2 of depot\.keeper.*keepr"):
        async with runtime(new, store, clock, strict=True):
            pass
    async with runtime(old, store, clock, strict=True) as rt:
        await clock.advance(0)
        assert [one.run_id async for one in rt.runs(status="suspended")] == []
        assert await told(rt.run("k0")) == [("d", n) for n in range(20)]
        # The event came before the deadline was over: its order is kept, and it wins.
        assert (await rt.run("k0").state()).counts == {"Told": 20, "Word": 1}
        assert (await rt.run("k1").state()).counts == {"Word": 1}
        assert (await rt.publish(Word("w", 7), key="p")).duplicate
        assert (await rt.run("k2").inspect()).status == "cancelled"
    audit(store, Registry(old))


async def test_its_deadlines_are_held_and_fire_when_it_is_back(store: Path) -> None:
    clock, old, new = TestClock(), depot("keeper"), depot("keepr")
    async with runtime(old, store, clock) as rt:
        await rt.start(keeper_of(old), 60, run_id="k")
        await rt.start(keeper_of(old), 500, run_id="later")
    async with runtime(new, store, clock) as rt:
        await clock.advance(100)
        assert (await rt.run("k").inspect()).seq == 1
    async with runtime(old, store, clock) as rt:
        await clock.advance(0)
        assert (await rt.run("k").state()).counts == {"TimedOut": 1}
        assert (await rt.run("later").state()).counts == {}
        await clock.advance(400)
        assert (await rt.run("later").state()).counts == {"TimedOut": 1}
    audit(store, Registry(old))


async def test_it_is_cancelled_once_when_the_commit_fails_in_which_it_is_resumed_too(
    store: Path, faults: Faults
) -> None:
    old, new = depot("keeper"), depot("keepr")
    async with runtime(old, store) as rt:
        await rt.start(keeper_of(old), 60, run_id="k")
        for n in range(100):
            await rt.start(desk, 0, run_id=f"d{n}")
    async with runtime(new, store) as rt, anyio.create_task_group() as tasks:
        run = rt.run("k")
        await run.inspect()

        async def resume_while_it_is_being_cancelled() -> None:
            while not (cell := rt.host.cells.get("k")) or not cell.busy:
                await anyio.lowlevel.checkpoint()
            await run.resume()

        faults.hold()
        tasks.start_soon(rt.run("d0").signal, Asked(1, "fold"))
        await faults.under_way()
        tasks.start_soon(run.cancel)
        await anyio.wait_all_tasks_blocked()
        for n in range(100):  # so many that others get their turn while the group is put together
            tasks.start_soon(rt.run(f"d{n}").signal, Asked(1, "fold"))
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(resume_while_it_is_being_cancelled)
        faults.refuse(1)
        faults.release()
    assert faults.refused == 1
    assert audit(store, Registry(old))["k"].head.status == "cancelled"


@pytest.mark.long
def test_a_host_that_dies_leaves_a_suspended_run_as_it_was(tmp_path: Path) -> None:
    """The story's clerk is suspended for a while: each death around that leaves what is kept for him."""
    with stories("asyncio", tmp_path) as deaths:
        deaths.ask("whole")
        _, count = deaths.told()
        suspended = 0
        for n in range(count // 2, count + 1):
            deaths.ask(str(n), n, "after")
            deaths.told()
            found = audit(deaths.store(str(n)), CODE).get("clerk")
            if found is None or found.head.status != "suspended":
                if suspended:
                    break  # he is well again
            else:
                suspended += 1
                kept = [item.sender for item in found.inbox if isinstance(item, Delivery)]
                anyio.run(gets_what_was_kept, deaths.store(str(n)), kept)
        assert suspended >= 3


async def gets_what_was_kept(store: Path, kept: list[Any]) -> None:
    async with runtime(modules, store) as rt:
        run = rt.run("clerk")
        before = len(await told(run))
        await run.resume()
        await rt.clock.advance(0)
        assert [record.sender async for record in run.events() if record.type == "works.told"][before:] == kept
