"""What is due at a moment happens then: never before, once, however far away it is, and leaves nothing behind."""

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import anyio
import msgspec
import pytest

import looms
from looms import (
    Definition,
    Event,
    Instruction,
    Module,
    Reduced,
    ReducerError,
    Retry,
    Started,
    State,
    TimedOut,
    complete,
    fail,
    invoke,
    replace,
    sleep,
    spawn,
    step,
    wait,
)
from looms.actors.cell import Posted
from looms.reducers.items import TimerFired
from looms.snapshots import timers
from looms.testing import TestClock, runtime
from looms.testing.clock import BEGIN
from tests.actors.desk import log, types
from tests.actors.rows import owned, rows

watch = Module("watch")

DAY = 86_400
BERLIN = ZoneInfo("Europe/Berlin")


@watch.event("rung")
class Rung(Event):
    n: int = 0


class Alarm(msgspec.Struct, frozen=True):
    """When to ring: one of these, or several."""

    seconds: tuple[float, ...] = ()
    until: tuple[datetime, ...] = ()
    deadline: datetime | None = None


class Heard(State):
    at: tuple[int, ...] = ()
    of: tuple[str, ...] = ()
    rung: int = 0


@watch.reducer("alarm", state=Heard)
def alarm(state: Heard, event: Started[Alarm] | TimedOut | Rung) -> Reduced[Heard]:
    match event:
        case Started(input=Alarm(seconds=seconds, until=until, deadline=deadline)):
            asked = [sleep(each) for each in seconds] + [sleep(until=each) for each in until]
            if deadline is not None:
                asked.append(wait(Rung, deadline=deadline))
            return step(state, *asked)
        case TimedOut(wait=id):
            return replace(state, of=(*state.of, id))
        case Rung():
            return replace(state, rung=state.rung + 1)


@watch.reducer("loop", state=Heard)
def loop(state: Heard, event: Started[None] | Rung | TimedOut) -> Reduced[Heard]:
    """Waits for the same thing again and again."""
    again = wait(Rung, timeout=60)
    match event:
        case Started():
            return step(state, again)
        case Rung(n=-1):
            return step(state, complete())
        case Rung():
            return step(replace(state, rung=state.rung + 1), again)
        case TimedOut(wait=id):
            return step(replace(state, of=(*state.of, id)), again)


BEGINNING = datetime.fromtimestamp(BEGIN / 1000, UTC)

ALARMS = {
    "a millisecond": (Alarm(seconds=(0.001,)), 0.001),
    "less than a millisecond": (Alarm(seconds=(0.000_1,)), 0.001),
    "25 days, more than 32 bits of milliseconds": (Alarm(seconds=(25 * DAY,)), 25 * DAY),
    "200 years": (Alarm(seconds=(200 * 365 * DAY,)), 200 * 365 * DAY),
    "the last day": (
        Alarm(until=(datetime(9999, 12, 31, 23, 59, 59, 999_000, UTC),)),
        (datetime(9999, 12, 31, 23, 59, 59, 999_000, UTC) - BEGINNING).total_seconds(),
    ),
    "a moment far in the east": (
        Alarm(until=(datetime(2026, 1, 1, 14, 0, tzinfo=timezone(timedelta(hours=14))),)),
        0,
    ),
    "a moment in summer, elsewhere": (
        Alarm(until=(datetime(2026, 7, 1, 2, 0, tzinfo=BERLIN),)),
        (datetime(2026, 7, 1, 0, 0, tzinfo=UTC) - BEGINNING).total_seconds(),
    ),
    "an hour that is skipped there": (  # 2:30 is no time in Berlin on that day: it is read as 3:30 summer time
        Alarm(until=(datetime(2026, 3, 29, 2, 30, tzinfo=BERLIN),)),
        (datetime(2026, 3, 29, 1, 30, tzinfo=UTC) - BEGINNING).total_seconds(),
    ),
    "an hour that comes twice, the first": (
        Alarm(until=(datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN),)),
        (datetime(2026, 10, 25, 0, 30, tzinfo=UTC) - BEGINNING).total_seconds(),
    ),
    "an hour that comes twice, the second": (
        Alarm(until=(datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN, fold=1),)),
        (datetime(2026, 10, 25, 1, 30, tzinfo=UTC) - BEGINNING).total_seconds(),
    ),
    "a microsecond after the whole second": (
        Alarm(until=(BEGINNING + timedelta(seconds=5, microseconds=1),)),
        5.001,
    ),
    "a deadline in another zone": (
        Alarm(deadline=datetime(2026, 1, 2, 5, 30, tzinfo=timezone(timedelta(hours=5, minutes=30)))),
        DAY,
    ),
}


@pytest.mark.parametrize("what", ALARMS)
async def test_an_alarm_rings_at_its_moment_and_not_a_millisecond_before(
    path: Path, clock: TestClock, what: str
) -> None:
    given, seconds = ALARMS[what]
    due = BEGIN + round(seconds * 1000)
    async with runtime([watch], path, clock) as rt:
        run = await rt.start(alarm, given, run_id="a1")
        if due > BEGIN:
            await clock.advance((due - BEGIN - 1) / 1000)
            assert await types(run) == ["looms.started"]
            assert [wait.due for wait in (await run.inspect()).waits] == [due]
    async with runtime([watch], path, clock) as rt:
        run = rt.run("a1")
        await clock.advance((due - clock.now()) / 1000)
        assert [(record.type, record.at) for record in (await log(run))[1:]] == [("looms.timed_out", due)]
        assert owned(rt) == {}


PAST = [
    Alarm(seconds=(0,)),
    Alarm(seconds=(-5,)),
    Alarm(seconds=(-1e300,)),
    Alarm(until=(BEGINNING,)),
    Alarm(until=(datetime(1950, 1, 1, tzinfo=UTC),)),
    Alarm(until=(datetime(1, 1, 2, tzinfo=timezone(timedelta(hours=12))),)),
    Alarm(deadline=datetime(2025, 1, 1, tzinfo=UTC)),
]


@pytest.mark.parametrize("given", PAST)
async def test_what_is_past_is_due_at_once_in_a_turn_of_its_own(given: Alarm) -> None:
    async with runtime([watch]) as rt:
        run = await rt.start(alarm, given)
        assert [record.type async for record in run.events(to=1)] == ["looms.started"]
        await rt.clock.advance(0)
        assert [(record.type, record.at) for record in (await log(run))[1:]] == [("looms.timed_out", BEGIN)]
        assert [len(commit.turns) async for commit in rt.commits()] == [1, 1]
        assert owned(rt) == {}


NO_TIME = [float("nan"), float("inf"), float("-inf"), 1e300, 9_000 * 366 * DAY, 10**400]


@pytest.mark.parametrize("seconds", NO_TIME)
async def test_what_is_no_time_is_refused_and_named_and_nothing_is_started(seconds: float) -> None:
    def asking(state: Heard, event: Started[float] | TimedOut) -> Reduced[Heard]:
        return step(state, wait(Rung, timeout=seconds)) if isinstance(event, Started) else state

    def sleeping(state: Heard, event: Started[float] | TimedOut) -> Reduced[Heard]:
        return step(state, sleep(seconds)) if isinstance(event, Started) else state

    bad = Module("bad", requires=[watch])
    async with runtime([watch, bad]) as rt:
        pass
    definitions = [bad.reducer(f.__name__, state=Heard)(f) for f in (asking, sleeping)]
    async with runtime([watch, bad]) as rt:
        for definition in definitions:
            with pytest.raises(ReducerError) as refused:
                await rt.start(definition, 1.0, run_id="x")
            assert isinstance(refused.value.__cause__, ValueError)
            assert str(seconds)[:20] in str(refused.value.__cause__)
        assert [summary async for summary in rt.runs()] == []
        assert rows(rt) == {}


@pytest.mark.parametrize("moment", [datetime(2026, 5, 1), datetime(9999, 12, 31, 23, 59, 59, 999_999)])  # noqa: DTZ001
def test_a_moment_without_a_zone_is_refused_with_what_it_lacks(moment: datetime) -> None:
    with pytest.raises(ValueError, match="time zone"):
        sleep(until=moment)
    with pytest.raises(ValueError, match="time zone"):
        wait(Rung, deadline=moment)


@pytest.mark.parametrize(
    "moment",
    [datetime.max.replace(tzinfo=UTC), datetime(9999, 12, 31, 20, 0, tzinfo=timezone(timedelta(hours=-12)))],
)
def test_a_moment_after_the_year_9999_is_refused_and_named(moment: datetime) -> None:
    with pytest.raises(ValueError, match=r"datetime\.datetime\(9999, 12, 31, .* year 9999"):
        sleep(until=moment)
    with pytest.raises(ValueError, match="year 9999"):
        wait(Rung, deadline=moment)


async def test_thousands_of_alarms_of_one_moment_all_ring_then_once_and_in_order(path: Path, clock: TestClock) -> None:
    async with runtime([watch], path, clock) as rt:
        run = await rt.start(alarm, Alarm(seconds=(60,) * 2_500), run_id="a1")
        await clock.advance(59.999)
        assert await types(run) == ["looms.started"]
        await clock.advance(0.001)
        assert (await run.state()).of == tuple(f"1:{n}" for n in range(2_500))
        assert {record.at for record in (await log(run))[1:]} == {BEGIN + 60_000}
        assert owned(rt) == {}


async def test_alarms_of_many_runs_at_one_moment_share_few_commits(path: Path, clock: TestClock) -> None:
    async with runtime([watch], path, clock) as rt:
        runs = [await rt.start(alarm, Alarm(seconds=(60,))) for _ in range(300)]
        before = len([commit async for commit in rt.commits()])
        await clock.advance(60)
        for run in runs:
            assert await types(run) == ["looms.started", "looms.timed_out"]
        assert len([commit async for commit in rt.commits()]) - before <= 10


async def test_a_run_that_waits_a_thousand_times_owns_one_wait_and_one_timer(path: Path, clock: TestClock) -> None:
    async with runtime([watch], path, clock) as rt:
        run = await rt.start(loop, None, run_id="l1")
        one = {"waits": 1, "shapes": 1, "timers": 1}
        assert owned(rt) == one
        for n in range(20):
            await run.signal(*(Rung(n=m) for m in range(50)))
            if n % 5 == 0:
                assert owned(rt) == one
        await clock.advance(600)
        assert len((await run.inspect()).waits) == 1
        assert owned(rt) == one
        assert ((await run.state()).rung, len((await run.state()).of)) == (1_000, 10)
        await run.signal(Rung(n=-1))
        assert owned(rt) == {}


def ending(how: str) -> tuple[list[Module], Definition[Heard, None, None]]:
    """A run with everything that leaves rows, its children too; it ends as the test says."""

    async def forever(request: str) -> Rung:
        raise OSError("the line is dead")

    module = Module("ending", requires=[watch])
    call = module.effect("call", retry=Retry(attempts=9, backoff=1_000))(forever)

    def busy() -> list[Instruction]:
        return [wait(Rung, match={"n": 7}, timeout=100, group="g"), sleep(50, id="nap"), invoke(call, "x")]

    @module.reducer("child", state=Heard)
    def child(state: Heard, event: Started[int] | Rung | TimedOut) -> Reduced[Heard]:
        match event:
            case Started(input=0):
                return step(state, *busy())
            case Started(input=depth):
                return step(state, *busy(), spawn(child, depth - 1, id="inner"))
        return state

    @module.reducer("parent", state=Heard, input=type(None), output=type(None))
    def parent(state: Heard, event: Started[None] | Rung | TimedOut) -> Reduced[Heard]:
        match event:
            case Started():
                return step(state, *busy(), spawn(child, 2), spawn(child, 0, id="other"))
            case Rung():
                return step(state, complete() if how == "completed" else fail("enough"), sleep(5), invoke(call, "y"))
        return state

    return [watch, module], parent


@pytest.mark.parametrize("how", ["completed", "failed", "cancelled", "deleted"])
async def test_a_run_that_is_over_owns_nothing_and_is_over_at_once(path: Path, clock: TestClock, how: str) -> None:
    modules, parent = ending(how)
    async with runtime(modules, path, clock) as rt:
        run = await rt.start(parent, None, run_id="p1")
        await clock.advance(0)
        assert owned(rt) == {"waits": 5, "shapes": 1, "timers": 10, "effects": 5}
        if how in ("completed", "failed"):
            await run.signal(Rung(n=7))
        else:
            await run.cancel()
        assert owned(rt) == {}
        if how == "deleted":
            await run.delete()
            await clock.advance(0)
            assert rows(rt) == {}
        else:
            assert (await run.inspect()).status == how
            assert [summary.status async for summary in rt.runs()] == [how]
            before = await log(run)
            await clock.advance(10_000)
            assert await log(run) == before


async def test_a_deadline_and_its_event_in_one_turn_settle_once(path: Path, clock: TestClock) -> None:
    async with runtime([watch], path, clock) as rt:
        await rt.start(alarm, Alarm(deadline=BEGINNING + timedelta(seconds=60)), run_id="a1")
    await clock.advance(60)
    async with runtime([watch], path, clock) as rt:
        run = rt.run("a1")
        await run.signal(Rung())
        await clock.advance(0)
        state = await run.state()
        assert (len(state.of), state.rung) in ((0, 1), (1, 1))
        records = (await log(run))[1:]
        settled = [r for r in records if r.satisfied or r.type == "looms.timed_out"]
        assert len(settled) == 1
        assert owned(rt) == {}


async def test_nothing_depends_on_the_time_zone_of_the_process(
    path: Path, clock: TestClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Pacific/Chatham")
    async with runtime([watch], path, clock) as rt:
        run = await rt.start(alarm, Alarm(until=(datetime(2026, 1, 1, 1, 0, tzinfo=BERLIN),)))
        await clock.advance(0)
        assert await types(run) == ["looms.started", "looms.timed_out"]


class Held:
    """A clock that shows what it is told to, and on which nobody ever wakes."""

    def __init__(self) -> None:
        self.at = BEGIN

    def now(self) -> int:
        return self.at

    async def sleep_until(self, at: int) -> None:
        await anyio.sleep_forever()


async def test_who_sends_something_while_many_timers_are_due_does_not_wait_for_them(path: Path) -> None:
    clock = Held()
    async with looms.Runtime(path, modules=[watch], clock=clock) as rt:
        for n in range(50):
            await rt.start(alarm, Alarm(seconds=(10,)), run_id=f"a{n}")
        probe = await rt.start(alarm, Alarm(deadline=datetime(9999, 1, 1, tzinfo=UTC)), run_id="probe")
        clock.at += 10_000
        with rt.host.store.view() as view:
            due = timers.due(view, clock.at, 100)
        for key in due:
            posted = Posted(TimerFired((key.seq, key.index)), number=key.run, timer=key)
            rt.host.post(f"a{key.run - 1}", posted)
        receipt = await probe.signal(Rung(n=1))
        commits = [commit async for commit in rt.commits()]
        taken = [turn.run_id for turn in next(commit.turns for commit in commits if len(commit.turns) > 1)]
        assert (len(due), receipt.seq, taken.count("probe")) == (50, 2, 1)
        assert taken.index("probe") <= 1
