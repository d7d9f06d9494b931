"""What each call of a runtime takes, answers and refuses, where other tests do not say it."""

from pathlib import Path
from typing import Any

import anyio
import pytest

import looms
from looms import (
    CancelRequested,
    ChildCompleted,
    Event,
    InvalidEvent,
    InvalidInput,
    Module,
    ModuleError,
    Record,
    ReducerError,
    RunCancelled,
    RunExists,
    RunFailed,
    RunFinished,
    SeqOutOfRange,
    Started,
    TimedOut,
    TurnTooLong,
    UnknownEvent,
)
from looms.reducers.lifecycle import Cancelled, Taken
from looms.testing import TestClock, runtime
from looms.testing.clock import BEGIN
from tests.actors.desk import Done, Errand, running
from tests.actors.rows import owned
from tests.actors.scripts import Do, Told, play, player
from tests.looms.shop import (
    MODULES,
    OPEN,
    Closed,
    Open,
    Paid,
    Refunded,
    log,
    nothing_changes,
    order,
    shop,
    till,
    types,
)

# Starting


async def test_a_start_that_cannot_be_is_refused_and_starts_nothing() -> None:
    other = Module("shop")

    @other.event("paid")
    class OtherPaid(Event):
        amount: int = 1

    other.reducer("till", state=till.state)(same_as_till)
    bad: list[tuple[Any, ...]] = [(till, 5), (till, None), (till, {"owner": 5}), (till,), (till, Open(owner=5))]  # type: ignore[arg-type]
    async with runtime(MODULES) as rt:
        for arguments in bad:
            with pytest.raises(InvalidInput, match=r"shop\.till"):
                await rt.start(*arguments)
        with pytest.raises(ModuleError, match=r"shop\.till"):
            await rt.start(other.definitions["shop.till"], OPEN)
        with pytest.raises(ModuleError, match=r"play\.player"):
            await rt.start(player, Do())
        with pytest.raises(InvalidInput, match="exists"):
            await rt.start(till, OPEN, exists="maybe")  # type: ignore[call-overload]
        with pytest.raises(InvalidInput, match="no definition"):
            await rt.start("shop.till", OPEN)  # type: ignore[call-overload]
        assert [summary async for summary in rt.runs()] == []
        assert [commit async for commit in rt.commits()] == []


def same_as_till(state: Any, event: Started[Open]) -> Any:
    return state


async def test_an_input_is_recorded_as_it_was_given() -> None:
    async with runtime(MODULES) as rt:
        run = await rt.start(till, Open(owner="bob"))
        assert (await run.state()).owner == "bob"
        assert (await log(run))[0].payload == {"input": {"owner": "bob"}}


async def test_a_run_that_exists_is_returned_also_when_it_is_over_but_not_one_of_another_definition() -> None:
    async with runtime(MODULES) as rt:
        run = await rt.start(order, OPEN, run_id="x")
        with pytest.raises(RunExists, match=r"x exists: a shop\.order"):
            await rt.start(till, Open(owner="eve"), run_id="x", exists="return")
        await run.signal(Paid())
        assert await (await rt.start(order, OPEN, run_id="x", exists="return")).result() == 1


async def test_a_handle_is_made_without_looking_and_says_whose_it_is() -> None:
    async with runtime(MODULES) as rt:
        run = rt.run("nobody")
        assert run.id == "nobody"
        assert "nobody" in repr(run)


# Events


async def test_an_event_is_made_from_what_a_webhook_brings() -> None:
    async with runtime(MODULES) as rt:
        assert rt.event("shop.paid", {"amount": 5, "more": "than asked"}) == Paid(amount=5)
        assert rt.event("shop.closed", {}) == Closed()
        with pytest.raises(UnknownEvent, match=r"shop\.paid"):
            rt.event("shop.payd", {})
        payloads: list[Any] = [{"amount": "5"}, {"amount": None}, [], None, "x", 5]
        for payload in payloads:
            with pytest.raises(InvalidEvent, match=r"shop\.paid"):
                rt.event("shop.paid", payload)


FORGED = [
    TimedOut("payment"),
    CancelRequested("x"),
    Cancelled("x"),
    Taken(1),
    Started(OPEN),
    ChildCompleted("root/x", None),
]


@pytest.mark.parametrize("event", FORGED)
async def test_the_events_of_the_runtime_are_nobodys_to_send(event: Event) -> None:
    async def handler(request: Errand) -> Event:
        return event

    modules, desk = running(handler)
    async with runtime([*MODULES, *modules]) as rt:
        run = await rt.start(order, OPEN)
        async with nothing_changes(rt):
            for call in (run.signal, rt.publish):
                with pytest.raises(InvalidEvent, match="of the runtime"):
                    await call(event)
            with pytest.raises(InvalidEvent, match="of the runtime"):
                await run.signal(Paid(), event)
        asked = await rt.start(desk, Errand())
        await rt.clock.advance(0)
        (failed,) = (await asked.state()).failed
        assert (failed.error, failed.attempts) == ("InvalidEvent", 1)


async def test_a_signal_is_of_events_and_of_one_at_least() -> None:
    async with runtime(MODULES) as rt:
        run = await rt.start(till, OPEN)
        async with nothing_changes(rt):
            with pytest.raises(InvalidInput, match="event"):
                await run.signal()
            with pytest.raises(InvalidInput, match="event"):
                await run.signal(key="k")
            for wrong in (None, "shop.paid", Paid, {"amount": 1}, Open()):
                with pytest.raises((UnknownEvent, InvalidEvent)):
                    await run.signal(wrong)  # type: ignore[arg-type]
                with pytest.raises((UnknownEvent, InvalidEvent)):
                    await rt.publish(wrong)  # type: ignore[arg-type]


async def test_an_event_of_a_subclass_is_an_event_of_its_own() -> None:
    class More(Paid):
        tip: int = 0

    async with runtime(MODULES) as rt:
        run = await rt.start(till, OPEN)
        with pytest.raises(UnknownEvent, match="More"):
            await run.signal(More(amount=5, tip=1))


# Looking


@pytest.mark.parametrize("seq", [0, -1, 4, 10**30, 1.0, "1", True, None])
async def test_a_seq_at_which_there_is_nothing_is_refused_and_the_bounds_are_told(seq: Any) -> None:
    async with runtime(MODULES, snapshot_every=2) as rt:
        run = await rt.start(till, OPEN)
        await run.signal(Paid(), Paid())
        with pytest.raises(SeqOutOfRange, match="1 to 3"):
            await run.replay_to(seq)
        with pytest.raises(SeqOutOfRange, match="it has 3"):
            await run.snapshot(seq)


async def test_a_replay_shows_an_event_with_what_was_before_and_after() -> None:
    async with runtime(MODULES) as rt:
        run = await rt.start(order, OPEN, run_id="o1")
        await run.signal(Paid(amount=3))
        first, last = await run.replay_to(1), await run.replay_to(2)
        assert (first.before, first.seq) == (None, 1)
        assert first.after == last.before
        assert last.after == await run.inspect()
        assert last.record == (await log(run))[1]
        assert last.instructions == last.record.instructions == (looms.complete(3),)
        assert [wait.id for wait in first.after.waits] == ["payment"]


async def test_what_is_shown_of_a_run_is_the_same_whoever_shows_it(path: Path, clock: TestClock) -> None:
    async with runtime(MODULES, path, clock, snapshot_every=2) as rt:
        run = await rt.start(order, OPEN, run_id="o1")
        await run.signal(Refunded())
        live = await run.inspect()
        async with looms.Reader(path, modules=MODULES) as reader:
            assert await reader.run("o1").inspect() == live
            assert (await reader.run("o1").replay_to(2)).after == live
            assert await reader.run("o1").snapshot(2) == live
        await run.cancel("x")
        assert (await run.inspect()).error == "as asked: x"
    async with runtime(MODULES, path, clock) as rt:
        assert (await rt.run("o1").replay_to(2)).after == live


async def test_records_are_values_that_cannot_be_changed() -> None:
    async with runtime(MODULES) as rt:
        run = await rt.start(till, OPEN)
        (record,) = await log(run)
        assert isinstance(record, Record)
        for thing, field in ((record, "seq"), (record.event, "input"), (record.event, "new")):
            with pytest.raises(AttributeError):
                setattr(thing, field, None)
        assert await log(run) == [record]


# Cancelling


async def test_a_run_that_is_asked_to_end_may_take_its_time_and_a_second_request_changes_nothing(
    path: Path, clock: TestClock
) -> None:
    lasting = Module("lasting", requires=MODULES)

    @lasting.reducer("closing", state=till.state)
    def closing(state: Any, event: Started[None] | CancelRequested | Paid) -> Any:
        return looms.step(state, looms.complete("in time")) if isinstance(event, Paid) else state

    modules = [*MODULES, lasting]
    async with runtime(modules, path, clock) as rt:
        for name in ("quick", "slow"):
            await rt.start(closing, None, run_id=name)
            await rt.run(name).cancel("first", grace=10)
            await rt.run(name).cancel("second", grace=1)
        assert owned(rt) == {"timers": 2}
        await rt.run("quick").signal(Paid())
        assert await rt.run("quick").result() == "in time"
        assert owned(rt) == {"timers": 1}
        await clock.advance(5)
    async with runtime(modules, path, clock) as rt:
        run = rt.run("slow")
        await run.cancel("third", grace=0)
        await clock.advance(4.999)
        assert (await run.inspect()).status == "waiting"
        await clock.advance(0.001)
        with pytest.raises(RunCancelled, match="first") as told:
            await run.result()
        assert told.value.reason == "first"
        assert [(record.type, record.at - BEGIN) for record in await log(run)] == [
            ("looms.started", 0),
            ("looms.cancel_requested", 0),
            ("looms.cancelled", 10_000),
        ]
        assert owned(rt) == {}
        for name in ("quick", "slow"):
            with pytest.raises(RunFinished):
                await rt.run(name).cancel("too late")


@pytest.mark.parametrize("grace", [0, -1, -1e300])
async def test_without_a_grace_the_end_comes_at_once(grace: float) -> None:
    lasting = Module("lasting", requires=MODULES)

    @lasting.reducer("closing", state=till.state)
    def closing(state: Any, event: Started[None] | CancelRequested) -> Any:
        return state

    async with runtime([*MODULES, lasting]) as rt:
        run = await rt.start(closing, None)
        await run.cancel(grace=grace)
        await rt.clock.advance(0)
        assert await types(run) == ["looms.started", "looms.cancel_requested", "looms.cancelled"]


@pytest.mark.parametrize("grace", [float("nan"), float("inf"), "5", None, True, 1e300])
async def test_a_grace_that_is_no_time_is_refused(grace: Any) -> None:
    async with runtime(MODULES) as rt:
        run = await rt.start(order, OPEN)
        async with nothing_changes(rt):
            with pytest.raises(InvalidInput, match="grace"):
                await run.cancel("x", grace=grace)


REASONS = ["", "x" * 100_000, "\0\x1b[31m", "two\nlines", "☃"]


@pytest.mark.parametrize("reason", REASONS)
async def test_a_reason_may_be_any_text(path: Path, clock: TestClock, reason: str) -> None:
    moody = Module("moody", requires=MODULES)

    @moody.reducer("moody", state=till.state)
    def mood(state: Any, event: Started[str]) -> Any:
        match event.input:
            case "fail":
                return looms.step(state, looms.fail(reason))
            case "cancelled":
                return looms.step(state, looms.cancelled(reason))
        return state

    async with runtime([*MODULES, moody], path, clock) as rt:
        runs = {how: await rt.start(mood, how, run_id=how) for how in ("fail", "cancelled", "by hand")}
        await runs["by hand"].cancel(reason)
    async with runtime([*MODULES, moody], path, clock) as rt:
        for how in runs:
            with pytest.raises((RunFailed, RunCancelled)) as told:
                await rt.run(how).result()
            assert told.value.reason == reason  # type: ignore[attr-defined]
            assert (await rt.run(how).inspect()).error == reason


async def test_a_reason_that_cannot_be_stored_is_refused() -> None:
    async with runtime(MODULES) as rt:
        for definition in (till, order):
            run = await rt.start(definition, OPEN)
            async with nothing_changes(rt):
                with pytest.raises(InvalidInput, match="reason"):
                    await run.cancel("half \ud800 a character")


async def test_with_a_child_its_effects_and_waits_end() -> None:
    ended: list[str] = []

    async def handler(request: Errand, ctx: looms.EffectContext) -> Done:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append(ctx.thread)
        return Done()

    modules, desk = running(handler)
    parents = Module("parents", requires=modules)

    @parents.reducer("parent", state=till.state)
    def parent(state: Any, event: Started[None] | Done | looms.ChildCancelled) -> Any:
        match event:
            case Started():
                children = [looms.spawn(desk, Errand(), id=name) for name in ("a", "b")]
                return looms.step(state, *children, looms.wait(Done, match={"what": "stop"}))
            case Done():
                return looms.step(state, looms.cancel("a", "no more"))
        return state

    async with runtime([*modules, parents]) as rt:
        run = await rt.start(parent, None)
        await rt.clock.advance(0)
        await run.signal(Done(what="stop"))
        await rt.clock.advance(0)
        assert ended == ["root/a"]
        assert [effect.thread for effect in (await run.inspect()).effects] == ["root/b"]
        await run.cancel()
        await rt.clock.advance(0)
        assert ended == ["root/a", "root/b"]
        assert owned(rt) == {}


# Turns


async def test_a_turn_that_would_run_away_is_refused_whole() -> None:
    async with runtime([play], max_turn_records=5) as rt:
        run = await rt.start(player, Do())
        async with nothing_changes(rt):
            with pytest.raises(ReducerError, match="max_turn_records"):
                await run.signal(Told(what=Do(emits=("a",) * 10)))
        await run.signal(Told(what=Do(emits=("a",) * 4)))
        assert len(await log(run)) == 6


async def test_more_events_in_one_call_than_a_turn_may_have_records_are_refused_before_anything_is_done() -> None:
    async with runtime([play], max_turn_records=5) as rt:
        run = await rt.start(player, Do())
        async with nothing_changes(rt):
            with pytest.raises(TurnTooLong, match=r"6 events.*at most 5.*several calls.*signal_many"):
                await run.signal(*[Told(what=Do())] * 6)
            with pytest.raises(ReducerError, match=r"at number 3 of the events that came together; send fewer at once"):
                await run.signal(*[Told(what=Do(emits=("a",)))] * 3)
        await run.signal(*[Told(what=Do())] * 5)


def test_everything_public_can_be_imported_from_the_top() -> None:
    for name in looms.__all__:
        assert getattr(looms, name) is not None
    assert shop.name == "shop"
