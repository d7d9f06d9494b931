"""What a caller or a handler changes in what it was given changes no run."""

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec

from looms import (
    ChildCompleted,
    Event,
    Module,
    Reduced,
    Retry,
    Started,
    State,
    complete,
    invoke,
    replace,
    spawn,
    step,
    wait,
)
from looms.testing import TestClock, runtime
from tests.actors.logged import Logged, said

lists = Module("lists")
seen: list[list[int]] = []


@lists.event("given")
class Given(Event):
    items: list[int]


@lists.event("kept")
class Kept(Event):
    items: list[int]


@lists.effect("spoil", retry=Retry(attempts=3, backoff=1, jitter=0))
async def spoil(items: list[int]) -> None:
    items.append(666)
    seen.append(items)
    raise OSError("not this time")


class Lists(State):
    items: list[int] = msgspec.field(default_factory=list)


@lists.reducer("holder", state=Lists)
def holder(state: Lists, event: Started[list[int]] | Given | Kept) -> Reduced[Lists]:
    match event:
        case Started(input=items):
            return step(replace(state, items=items), wait(Kept, match={"items": [1]}), invoke(spoil, items))
        case Given(items=items) | Kept(items=items):
            return replace(state, items=items)


async def test_what_a_caller_changes_in_what_it_was_shown_or_gave_changes_no_run(path: Path, clock: TestClock) -> None:
    async with runtime([lists], path, clock) as rt:
        given, event = [1], Given(items=[1, 2])
        run = await rt.start(holder, given, run_id="l1")
        given.append(9)
        await run.signal(event, Kept(items=[7]))
        event.items.append(9)
        before = await run.inspect()
        shown: Any = await run.inspect()
        shown.state.items.append(9)
        shown.threads["root"].state.items.append(9)
        shown.threads.clear()
        shown.waits[0].match["items"].append(9)
        shown.effects[0].request.append(9)
        shown.mailbox[0].payload["items"].append(9)
        shown.mailbox[0].event.items.append(9)
        assert await run.inspect() == before
        assert (await run.state()).items == [1, 2]
    async with runtime([lists], path, clock) as rt:
        assert (await rt.run("l1").inspect()).state == before.state


async def test_every_attempt_gets_the_request_as_it_was_asked(clock: TestClock) -> None:
    seen.clear()
    async with runtime([lists], clock=clock) as rt:
        run = await rt.start(holder, [1], run_id="l1")
        await clock.advance(10)
        assert seen == [[1, 666]] * 3
        assert (await run.inspect()).error == "lists.spoil: OSError: not this time"


class Point(msgspec.Struct, frozen=True):
    x: int


async def test_a_parent_is_told_what_its_child_completed_with_as_the_childs_type(path: Path, clock: TestClock) -> None:
    module = Module("family")

    class Told(State):
        texts: tuple[str, ...] = ()

    @module.reducer("counter", state=State, input=Decimal, output=Decimal)
    def counter(state: State, event: Started[Decimal]) -> Reduced[State]:
        return step(state, complete(event.input))

    @module.reducer("pointer", state=State, input=int, output=Point)
    def pointer(state: State, event: Started[int]) -> Reduced[State]:
        return step(state, complete(Point(event.input)))

    @module.reducer("parent", state=Told)
    def parent(state: Told, event: Started[None] | ChildCompleted) -> Reduced[Told]:
        if isinstance(event, ChildCompleted):
            return replace(state, texts=(*state.texts, repr(event.output)))
        return step(state, spawn(counter, Decimal("1.50"), id="c"), spawn(pointer, 4, id="p"))

    async with runtime([module], path, clock) as rt:
        run = await rt.start(parent, run_id="p1")
        assert (await run.state()).texts == ("Decimal('1.50')", "Point(x=4)")
        told = [r.event.output async for r in run.events() if isinstance(r.event, ChildCompleted)]
        assert told == [Decimal("1.50"), Point(4)]
    async with runtime([module], path, clock) as rt:  # folded from the log
        assert (await rt.run("p1").state()).texts == ("Decimal('1.50')", "Point(x=4)")
        assert (await rt.verify("p1")).ok


async def test_a_moment_of_another_zone_in_a_state_is_the_same_live_and_after_a_restart(
    path: Path, clock: TestClock, logged: Logged
) -> None:
    """A snapshot would bring it back in UTC, where it may be another day: so there is none, and the log says why."""
    module = Module("zones")

    @module.event("asked")
    class Asked(Event):
        pass

    class Opened(State):
        at: datetime | None = None
        day: str = ""

    @module.reducer("desk", state=Opened)
    def desk(state: Opened, event: Started[None] | Asked) -> Reduced[Opened]:
        if isinstance(event, Asked) and state.at is not None:
            return replace(state, day=f"{state.at:%d}")
        return replace(state, at=datetime(2026, 1, 2, tzinfo=timezone(timedelta(hours=2))))

    async with runtime([module], path, clock, snapshot_every=1) as rt:
        await rt.start(desk, run_id="z1")
    async with runtime([module], path, clock, snapshot_every=1) as rt:
        run = rt.run("z1")
        await run.signal(Asked())
        assert (await run.state()).day == "02"
        assert [s async for s in run.snapshots()] == []
    reasons = [entry["reason"] for entry in said(logged, "no snapshot")]
    assert reasons[0] == (
        "the state: a datetime of zone UTC+02:00 would come back in UTC; keep moments in UTC, as .astimezone(UTC) does"
        " - at `$.at`"
    )
    assert datetime(2026, 1, 2, tzinfo=timezone(timedelta(hours=2))).astimezone(UTC).day == 1
