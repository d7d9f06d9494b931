"""Turns that share a commit: each is as if it were alone, whatever becomes of the others."""

from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import anyio
import msgspec
import pytest

from looms import (
    Event,
    Module,
    Reduced,
    ReducerError,
    Run,
    RunExists,
    Started,
    State,
    StoreFull,
    UnknownRun,
    complete,
    invoke,
    replace,
    step,
)
from looms.reducers.registry import Registry
from looms.testing import TestClock, runtime
from looms.testing.runtimes import RuntimeOnTestClock
from tests.crash.audit import audit
from tests.crash.faults import PATIENCE, Faults
from tests.crash.works import Asked, Counts, Mood, Told, Trip, clerk, desk, modules, trip

MAP = 1 << 20

notes = Module("notes")


@notes.event("noted")
class Noted(Event):
    text: str


class Notes(State):
    texts: tuple[str, ...] = ()


@notes.reducer("pad", state=Notes)
def pad(state: Notes, event: Started[None] | Noted) -> Reduced[Notes]:
    """Keeps what it is told; and refuses to be told some things."""
    match event:
        case Noted(text="unspeakable"):
            raise ValueError("that cannot be said")
        case Noted(text=text):
            return replace(state, texts=(*state.texts, text[:20]))
    return state


async def together(faults: Faults, *calls: Any) -> list[Any]:
    """Have calls share one commit, in this order; returns what each returned or raised."""
    outcomes: list[Any] = [None] * len(calls)

    async def make(n: int) -> None:
        try:
            outcomes[n] = await calls[n]()
        except Exception as error:  # noqa: BLE001 - what it raises is the outcome
            outcomes[n] = error

    before = faults.commits
    faults.hold()
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            for n in range(len(calls)):
                tasks.start_soon(make, n)
                await anyio.wait_all_tasks_blocked()
                if n == 0:
                    await faults.under_way()
            faults.release()
    assert faults.commits >= before + 2
    return outcomes


async def noted(rt: RuntimeOnTestClock, *ids: str) -> dict[str, tuple[str, ...]]:
    return {id: (await rt.run(id).state()).texts for id in ids}


async def test_what_is_too_large_for_the_store_is_refused_alone(store: Path, faults: Faults) -> None:
    async with runtime([notes], store, map_size=MAP) as rt:
        runs = {id: await rt.start(pad, run_id=id) for id in "abc"}
        outcomes = await together(
            faults,
            lambda: runs["a"].signal(Noted("first")),
            lambda: runs["a"].signal(Noted("with others")),
            lambda: runs["b"].signal(Noted("x" * MAP)),
            lambda: runs["c"].signal(Noted("with others")),
            lambda: rt.start(pad, run_id="d"),
        )
        assert isinstance(outcomes[2], StoreFull)
        assert [isinstance(one, Exception) for one in outcomes] == [False, False, True, False, False]
        assert await noted(rt, *"abcd") == {"a": ("first", "with others"), "b": (), "c": ("with others",), "d": ()}
        await runs["b"].signal(Noted("smaller"))
        assert await noted(rt, "b") == {"b": ("smaller",)}
    audit(store, Registry([notes]))


async def test_a_turn_whose_code_raises_takes_nobody_with_it(store: Path, faults: Faults) -> None:
    async with runtime([notes], store) as rt:
        runs = {id: await rt.start(pad, run_id=id) for id in "abc"}
        before = faults.commits
        outcomes = await together(
            faults,
            lambda: runs["a"].signal(Noted("first")),
            lambda: runs["a"].signal(Noted("with others")),
            lambda: runs["b"].signal(Noted("said"), Noted("unspeakable"), key="k"),
            lambda: runs["c"].signal(Noted("with others")),
            lambda: runs["b"].signal(Noted("after that")),
        )
        assert isinstance(outcomes[2], ReducerError)
        assert faults.commits == before + 2
        assert await noted(rt, *"abc") == {"a": ("first", "with others"), "b": ("after that",), "c": ("with others",)}
        assert not (await runs["b"].signal(Noted("again"), key="k")).duplicate
    audit(store, Registry([notes]))


async def test_an_id_that_changes_hands_in_one_commit_is_its_new_owners(store: Path, faults: Faults) -> None:
    async with runtime(modules, store) as rt:
        await rt.start(desk, 0, run_id="d")
        outcomes = await together(
            faults,
            lambda: rt.run("d").signal(Asked(1, "fold")),
            lambda: rt.start(trip, Trip(5, "wait"), run_id="x"),
            lambda: rt.run("d").cancel(),
            lambda: rt.start(clerk, 5, run_id="x"),
        )
        assert isinstance(outcomes[3], RunExists)
        await rt.run("x").cancel()
        # The run is over, goes, and comes again as another one: all in one commit, which fails at first.
        faults.refuse(2)
        await together(
            faults,
            lambda: rt.start(desk, 1, run_id="e"),
            lambda: rt.run("x").delete(),
            lambda: rt.start(clerk, 5, run_id="x"),
        )
        with anyio.fail_after(PATIENCE):
            assert (await rt.run("x").inspect()).definition == "works.clerk"
            await rt.run("x").signal(Told(1, "me"))
            await rt.clock.advance(5)
            assert (await rt.run("x").state()).counts == {"Told": 1, "TimedOut": 1}
    audit(store, Registry(modules))


async def test_a_run_that_is_over_at_once_can_be_removed_and_started_again_in_its_own_commit(
    store: Path, faults: Faults
) -> None:
    brief = Module("brief")

    @brief.reducer("blink", state=Counts)
    def blink(state: Counts, event: Started[int]) -> Reduced[Counts]:
        return step(replace(state, sum=event.input), complete(event.input))

    async with runtime([brief, *modules], store) as rt:
        outcomes = await together(
            faults,
            lambda: rt.start(desk, 0, run_id="d"),
            lambda: rt.start(blink, 1, run_id="x"),
            lambda: rt.run("x").delete(),
            lambda: rt.start(blink, 2, run_id="x"),
        )
        assert [type(outcome) for outcome in outcomes] == [Run, Run, type(None), Run]
        with anyio.fail_after(PATIENCE):
            assert await rt.run("x").result() == 2
            await rt.run("x").delete()
            with pytest.raises(UnknownRun):
                await rt.run("x").inspect()
    audit(store, Registry([brief, *modules]))


async def test_what_an_effect_of_a_former_run_answers_is_not_given_to_the_run_that_has_its_id_now(
    store: Path, faults: Faults
) -> None:
    answer = anyio.Event()
    lab = Module("lab")

    @lab.event("measured")
    class Measured(Event):
        by: str

    class Sample(msgspec.Struct, frozen=True):
        owner: str

    @lab.effect("measure")
    async def measure(request: Sample) -> Measured:
        if request.owner == "first":
            await answer.wait()
            return Measured(request.owner)
        await anyio.sleep_forever()
        raise AssertionError

    class Result(State):
        by: str = ""

    @lab.reducer("study", state=Result)
    def study(state: Result, event: Started[Sample] | Measured) -> Reduced[Result]:
        match event:
            case Started(input=sample):
                return step(state, invoke(measure, sample))
            case Measured(by=by):
                return step(replace(state, by=by), complete(by))

    async with runtime([lab], store) as rt:
        await rt.start(study, Sample("first"), run_id="x")
        await rt.clock.advance(0)
        faults.hold()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(rt.run("x").cancel)
            await faults.under_way()
            answer.set()
            await anyio.wait_all_tasks_blocked()
            tasks.start_soon(rt.run("x").delete)
            await anyio.wait_all_tasks_blocked()
            tasks.start_soon(_start_as, rt, study, Sample("second"), "x")
            await anyio.wait_all_tasks_blocked()
            faults.release()
        await rt.clock.advance(0)
        now = await rt.run("x").inspect()
        assert (now.status, now.seq, now.state.by) == ("running", 1, "")


async def test_a_signal_of_a_former_run_does_not_come_back_to_the_run_that_has_its_id_now(store: Path) -> None:
    async with runtime(modules, store) as rt:
        await rt.start(clerk, 0, run_id="suspended")
        sender = await rt.start(desk, 0, run_id="x")
        Mood.bad = True
        await sender.signal(Asked(1, "tell", "suspended"))
        await rt.clock.advance(0)
        await sender.cancel()
        await sender.delete()
        await rt.start(desk, 0, run_id="x")
        await rt.run("suspended").cancel()
        await rt.clock.advance(0)
        assert (await rt.run("x").inspect()).seq == 1
    audit(store, Registry(modules))


async def _start_as(rt: RuntimeOnTestClock, definition: Any, input: Any, run_id: str) -> None:
    await rt.start(definition, input, run_id=run_id)


async def test_what_waits_for_room_keeps_nobody_from_what_he_waits_for(store: Path) -> None:
    async with runtime(modules, store, max_mailbox=3) as rt:
        sender, waiting = await rt.start(desk, 0, run_id="d0"), await rt.start(desk, 0, run_id="d1")
        await waiting.signal(Asked(0, "wait", "wanted"))
        await sender.signal(Asked(700, "flood", "d1"))
        await rt.clock.advance(0)
        assert len((await waiting.inspect()).mailbox) == 3
        await sender.signal(Asked(7, "pass", "d1"))
        await rt.clock.advance(0)
        words = [record.payload["n"] async for record in waiting.events(after=2) if record.type == "works.word"]
        assert words == [0, 1, 2, 7, *range(3, 700)]
    audit(store, Registry(modules), in_order=False)


async def test_a_store_that_is_full_can_be_emptied_and_goes_on_by_itself(store: Path) -> None:
    clock = TestClock()
    async with runtime([notes, *modules], store, clock, map_size=MAP) as rt:
        sleeper = await rt.start(clerk, 60, run_id="sleeper")
        pads = [await rt.start(pad, run_id=f"pad {n}") for n in range(4)]
        written = 0
        with suppress(StoreFull):
            while True:
                await pads[written % 4].signal(Noted("x" * 2_000))
                written += 1
        assert written > 100
        await clock.advance(70)
        assert (await sleeper.inspect()).seq == 1
        assert len((await pads[0].state()).texts) == (written + 3) // 4
        for full in pads[:2]:
            await full.cancel()
            await full.delete()
        await clock.advance(60)
        assert (await sleeper.state()).counts == {"TimedOut": 1}
        await pads[2].signal(Noted("there is room"))
    found = audit(store, Registry([notes, *modules]))
    assert set(found) == {"sleeper", "pad 2", "pad 3"}


class Unsteady(TestClock):
    """A clock that is set back a little every now and then, and forward again."""

    def __init__(self) -> None:
        super().__init__()
        self._random = Random(0)

    def now(self) -> int:
        return super().now() - self._random.choice((0, 0, 3))


async def test_a_clock_that_is_set_back_loses_no_deadline(store: Path) -> None:
    clock = Unsteady()
    async with runtime(modules, store, clock) as rt:
        runs = [await rt.start(clerk, 60 + n, run_id=f"c{n}") for n in range(10)]
        await clock.advance(1_000)
        assert [(await run.state()).counts for run in runs] == [{"TimedOut": 1}] * 10
    audit(store, Registry(modules))
