"""A story with something of everything, told step by step on a clock that is moved: the same every time.

Told again on a store that already holds a part of it, it comes to the same end: calls have keys or ids, and each step
has its time.
"""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from looms import Event, RunActive, RunExists, RunFinished, UnknownRun
from looms.snapshots import copying, heads
from looms.snapshots.store import Store
from looms.testing import TestClock, runtime
from looms.testing.clock import BEGIN
from looms.testing.runtimes import RuntimeOnTestClock
from tests.crash.works import Asked, Mood, Told, Trip, Word, clerk, desk, modules, trip

Step = Callable[[RuntimeOnTestClock], Awaitable[Any]]

OPTIONS: dict[str, Any] = {"snapshot_every": 4, "max_mailbox": 3}


async def tell(store: Path) -> None:
    """Tell the story in a store, from its beginning or from wherever it is."""
    Mood.bad = False
    begun = _time(store)
    with copied_in_parts():
        await _tell(store, begun)


async def _tell(store: Path, begun: int) -> None:
    async with runtime(modules, store, TestClock(begun), **OPTIONS) as rt:
        await rt.clock.advance(0)
        for at, step in STORY:
            if step in TO_BE_REMOVED and begun > BEGIN + at * 1000:
                continue  # it was done, and it may be removed since: its id is free then
            await rt.clock.advance(max(0, BEGIN + at * 1000 - rt.clock.now()) / 1000)
            await step(rt)
            await rt.clock.advance(0)


def _time(path: Path) -> int:
    """The time of the last thing that happened in a store."""
    if not path.exists():
        return BEGIN
    with Store(path) as store, store.view() as view:
        return max((head.updated_at for head in heads.list_runs(view, limit=1_000)), default=BEGIN)


async def _start(definition: Any, input: Any, run_id: str, rt: RuntimeOnTestClock) -> None:
    await rt.start(definition, input, run_id=run_id, exists="return")


async def _signal(
    run_id: str, key: str, events: tuple[Event, ...], retain: float | None, rt: RuntimeOnTestClock
) -> None:
    await rt.run(run_id).signal(*events, key=key, retain=retain)


async def _publish(event: Event, key: str, retain: float | None, rt: RuntimeOnTestClock) -> None:
    await rt.publish(event, key=key, retain=retain)


async def _cancel(run_id: str, rt: RuntimeOnTestClock) -> None:
    with suppress(RunFinished, UnknownRun):  # it was done before
        await rt.run(run_id).cancel("enough")


async def _delete(run_id: str, rt: RuntimeOnTestClock) -> None:
    with suppress(RunActive, UnknownRun):  # it was done before
        await rt.run(run_id).delete()


@contextmanager
def copied_in_parts() -> Iterator[None]:
    """Have histories copied in small parts, so that a fork takes several commits."""
    before, copying.RECORDS = copying.RECORDS, 5
    try:
        yield
    finally:
        copying.RECORDS = before


async def _fork(run_id: str, key: str, fork_id: str, effects: Any, rt: RuntimeOnTestClock) -> None:
    """Fork a run at the event that came with a key."""
    (at,) = [record.seq async for record in rt.run(run_id).events() if record.key == key]
    with suppress(RunExists):  # it was done before
        await rt.run(run_id).fork(at, fork_id, effects=effects)


async def _release(run_id: str, rt: RuntimeOnTestClock) -> None:
    """Have the effects of a fork run that are held."""
    for effect in (await rt.run(run_id).inspect()).effects:
        if effect.held:
            await rt.run(run_id).retry_effect(effect.id)


async def _mood(bad: bool, rt: RuntimeOnTestClock) -> None:
    Mood.bad = bad


async def _resume(run_id: str, rt: RuntimeOnTestClock) -> None:
    await rt.run(run_id).resume()


async def _pass(rt: RuntimeOnTestClock) -> None:
    """Let time pass."""


def start(definition: Any, input: Any, run_id: str) -> Step:
    return partial(_start, definition, input, run_id)


def signal(run_id: str, *events: Event, key: str, retain: float | None = None) -> Step:
    return partial(_signal, run_id, key, events, retain)


def fork(run_id: str, key: str, fork_id: str, effects: str = "hold") -> Step:
    return partial(_fork, run_id, key, fork_id, effects)


def publish(event: Event, key: str, retain: float | None = None) -> Step:
    return partial(_publish, event, key, retain)


REMOVED = ("trip 3", "trip 7")
TO_BE_REMOVED = [start(trip, Trip(3, "wait"), REMOVED[0]), start(trip, Trip(7, "child"), REMOVED[1])]

# Seconds since the beginning, and what happens then. There is never more than one effect at a time, since the order of
# those that answer at the same moment is nobody's promise.
STORY: list[tuple[float, Step]] = [
    (0, start(desk, 0, "desk 0")),
    (0, start(desk, 1, "desk 1")),
    (0, start(desk, 2, "desk 2")),
    (0, start(desk, 3, "desk 3")),
    (0, signal("desk 0", Asked(1, "fold"), Asked(2, "emit"), Asked(3, "fold"), key="k1")),
    (0, signal("desk 0", Asked(4, "tell", "desk 1"), key="k2")),
    (0, signal("desk 1", Asked(5, "lose"), key="k3")),
    # Deadlines: one that an event meets, one that passes, alternatives.
    (1, signal("desk 1", Asked(6, "wait", "a"), Asked(7, "wait", "b"), key="k4")),
    (1, signal("desk 1", Asked(7, "wait", "b"), key="k4b")),
    (1.01, publish(Word("a", 1), "p1")),
    (2, signal("desk 2", Asked(8, "choose", "c"), key="k5")),
    (2.01, publish(Word("z", 8), "p2")),
    (3, signal("desk 2", Asked(9, "choose", "c"), key="k6")),
    (4, publish(Word("a", 2), "p3")),
    # Effects: that fail at first, that fail for good, that say things on the way, that say nothing, in threads.
    (5, signal("desk 0", Asked(6, "stamp"), key="k7")),
    (5.5, signal("desk 0", Asked(7, "stamp"), key="k7b")),
    (6, signal("desk 0", Asked(8, "press"), key="k8")),
    (7, signal("desk 3", Asked(4, "stamp"), key="k9")),
    (7.5, signal("desk 3", Asked(2, "stamp"), key="k9b")),
    # Children: over at once, waiting, failing, asking for effects, dropped.
    (8, signal("desk 1", Asked(4, "spawn", "x"), key="k10")),
    (9, signal("desk 1", Asked(6, "spawn", "y"), key="k11")),
    (10, signal("desk 1", Asked(1, "drop", "z"), key="k12")),
    # Short runs, that tell their desk and end in all ways.
    (11, TO_BE_REMOVED[0]),
    (11, start(trip, Trip(4, "wait"), "trip 4")),
    (11, start(trip, Trip(5, "wait"), "trip 5")),
    (12, start(trip, Trip(8, "stamp"), "trip 8")),
    (13, start(trip, Trip(8, "child"), "trip 9")),
    (14, start(trip, Trip(12, "press"), "trip 12")),
    # What came before there was anybody to take it.
    (15, signal("desk 4", Told(1, "early"), key="k13", retain=10)),
    (15, publish(Word("later", 3), "p4", retain=10)),
    (15, publish(Word("never", 3), "p5", retain=1)),
    (17, start(desk, 4, "desk 4")),
    (17, signal("desk 4", Asked(1, "wait", "later"), key="k14")),
    (17, signal("desk 4", Asked(1, "wait", "never"), key="k15")),
    # Ends: cancelled while it waits and while it asks, removed.
    (18, TO_BE_REMOVED[1]),
    (18, partial(_cancel, "trip 7")),
    # Code that raises on what others send: what comes is kept, in order, until the code is well again.
    (19, start(clerk, 2, "clerk")),
    (20, partial(_mood, True)),
    (20, signal("desk 0", Asked(10, "tell", "clerk"), key="k16")),
    (20, signal("desk 1", Asked(20, "tell", "clerk"), key="k17")),
    (22, signal("desk 0", Asked(30, "tell", "clerk"), key="k18")),
    (22, partial(_mood, False)),
    (22, partial(_resume, "clerk")),
    (23, signal("desk 0", Asked(40, "tell", "clerk"), key="k19")),
    (24, partial(_delete, REMOVED[0])),
    (24, partial(_delete, REMOVED[1])),
    # Forks: in one commit and in several, with deadlines that are long over, with effects, of a fork.
    (25, fork("desk 3", "k9", "fork 3")),
    (25, fork("desk 1", "k4b", "fork 1")),
    (26, fork("desk 0", "k7b", "fork 0")),
    (27, fork("fork 0", "k7b", "fork 00")),
    (28, partial(_release, "fork 0")),
    (29, fork("desk 0", "k8", "fork 8", "redispatch")),
    (30, partial(_release, "fork 00")),
    (31, partial(_release, "fork 3")),
    (36, _pass),
]
