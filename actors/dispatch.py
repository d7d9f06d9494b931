"""Dispatch: outstanding effects are run, tried again, and their outcomes brought to the runs that asked.

Each effect has a *lane* of its own name, in which at most ``concurrency`` handlers run at once, first come, first
served. An attempt counts when it begins: its number is on disk before the handler runs, so a handler that takes its
process with it uses its attempts up.
"""

import random
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

import anyio
import msgspec
from anyio.abc import TaskGroup

from looms.actors import logs
from looms.actors.attempts import Answered, Failed, attempt
from looms.actors.calls import Call
from looms.actors.cell import Posted
from looms.actors.clock import Clock, after
from looms.actors.emitting import Context, Emitter
from looms.actors.group import Group
from looms.actors.handlers import Handler
from looms.actors.threads import Threads
from looms.actors.watchdog import Watchdog
from looms.reducers.calls import CALL
from looms.reducers.effects import Effect, Retry
from looms.reducers.errors import EffectOver, LoomsError
from looms.reducers.folded import EffectKey
from looms.reducers.items import EffectAnswer, EffectGaveUp, Item, Letter
from looms.reducers.plan import Undelivered
from looms.reducers.registry import Registry
from looms.snapshots import effect_rows
from looms.snapshots.rows import EffectRow

TRY_AGAIN = 1.0  # seconds between attempts to write an outcome that the disk refused
THREADS = 40  # of handlers that are not async, in a lane without a limit

Place = tuple[int, EffectKey]
"""Which effect: the run's number, and the effect's key in it."""


class Pursued:
    """An outstanding effect in this process."""

    __slots__ = ("ended", "hurry", "id", "key", "number", "row", "run_id", "scope", "stuck", "thread")

    def __init__(self, id: str, run_id: str, number: int, key: EffectKey, row: EffectRow) -> None:
        self.id = id
        self.run_id = run_id
        self.number = number
        self.key = key
        self.row = row
        self.thread = ""
        self.ended = False
        self.stuck = False  # its run is suspended, for its code does not lead to what is called
        self.scope: anyio.CancelScope | None = None
        self.hurry: anyio.Event | None = None

    @property
    def names(self) -> dict[str, str]:
        """What it is called in logs."""
        step = {} if self.row.step is None else {"step": self.row.step}
        return {"effect": self.row.effect, "effect_id": self.id, **step}


class Lane:
    """The outstanding effects of one name."""

    __slots__ = ("_told", "effect", "queue", "running", "threads")

    def __init__(self, effect: Effect[Any], freed: Callable[[], None]) -> None:
        self.effect = effect
        self.queue: deque[Pursued] = deque()
        self.running = 0
        self.threads = Threads(effect.concurrency or THREADS, freed)
        self._told: set[str] = set()

    @property
    def free(self) -> bool:
        """Whether another handler may run; one in a thread that was given up still has its place."""
        limit = self.effect.concurrency
        return limit is None or self.running + self.threads.abandoned < limit

    def tell_unnamed(self, answered: Answered, code: Registry) -> None:
        """Tell once of each event that the handler returns though its annotation names others."""
        for type in {letter.type for letter in answered.letters} - self._told:
            if not self.effect.answers_with(code.events[type].cls):
                self._told.add(type)
                logs.warning(
                    "effect answered with what its annotation does not name", effect=self.effect.name, type=type
                )


class Record(msgspec.Struct, frozen=True):
    """A job: write how far an effect's attempts are, if it is still outstanding; answers whether it is."""

    place: Place
    row: EffectRow
    call: Call[bool]
    urgent: bool = False

    def __call__(self, group: Group) -> None:
        """Put it into a group."""
        key = (self.place[0], *self.place[1])
        there = effect_rows.get(group.reading, key) is not None
        if there:
            effect_rows.put(group.batch, key, self.row)
        group.answer(self.call, there)

    def refuse(self, error: BaseException) -> None:
        """Tell the dispatcher."""
        self.call.refuse(error)


class Dispatcher:
    """Runs outstanding effects.

    Args:
        code: today's code.
        clock: the time.
        post: gives an item to the cell of a run.
        add: has a job put into a group.
        asked: gives the thread that asked for an effect, and what its attempts call.
        stop: has a run suspended whose code does not lead to what it asked for.
        watchdog: is told of the steps of handlers that are on the loop.
    """

    def __init__(
        self,
        code: Registry,
        clock: Clock,
        post: Callable[[str, Posted], None],
        add: Callable[[Record], None],
        asked: Callable[[str, EffectKey, Effect[Any]], tuple[str, Handler]],
        stop: Callable[[int, LoomsError], None],
        watchdog: Watchdog,
    ) -> None:
        self._code = code
        self._clock = clock
        self._post = post
        self._add = add
        self._asked = asked
        self._stop = stop
        self._watchdog = watchdog
        self._lanes: dict[str, Lane] = {}
        self._pursued: dict[Place, Pursued] = {}
        self._lacking: set[str] = set()  # of which it was said that today's code lacks them
        self._tasks: TaskGroup | None = None
        self._freed = anyio.Event()
        self._early: list[tuple[Lane, Pursued]] = []  # that wait for their next attempt since before this one runs

    async def run(self) -> None:
        """Run handlers until cancelled; those that are running are cancelled too, and stay outstanding."""
        try:
            async with anyio.create_task_group() as self._tasks:
                for lane, pursued in self._early:
                    self._tasks.start_soon(self._later, lane, pursued)
                self._early.clear()
                while True:
                    for lane in self._lanes.values():
                        self._pump(lane)
                    await self._freed.wait()
                    self._freed = anyio.Event()
        finally:
            self._tasks = None  # a commit that was being written may end after this, and ask for more

    def begin(self, id: str, run_id: str, number: int, key: EffectKey, row: EffectRow) -> None:
        """An effect is outstanding; it is run as soon as it may be."""
        if row.held:
            return
        effect = self._code.effects.get(row.effect)
        if effect is None:
            if row.effect not in self._lacking:
                self._lacking.add(row.effect)
                reason = f"{self._code.no_effect(row.effect)}; it stays outstanding until it is back"
                logs.warning("effect missing", effect=row.effect, effect_id=id, reason=reason)
            return
        pursued = Pursued(id, run_id, number, key, row)
        self._pursued[(number, key)] = pursued
        lane = self._lanes.setdefault(row.effect, Lane(effect, lambda: self._freed.set()))
        if row.due is not None and row.due > self._clock.now():
            if self._tasks is None:
                self._early.append((lane, pursued))
            else:
                self._tasks.start_soon(self._later, lane, pursued)
        else:
            lane.queue.append(pursued)
            self._pump(lane)

    def end(self, number: int, key: EffectKey) -> None:
        """An effect is over, however it ended; a handler that still runs is cancelled."""
        pursued = self._pursued.pop((number, key), None)
        if pursued is not None:
            pursued.ended = True
            if pursued.scope is not None:
                pursued.scope.cancel()

    def hurry(self, number: int, key: EffectKey) -> None:
        """Have an effect tried now, if it waits for its next attempt."""
        pursued = self._pursued.get((number, key))
        if pursued is not None and pursued.hurry is not None:
            pursued.hurry.set()

    def resume(self, number: int) -> None:
        """Try again what a run's code did not lead to."""
        lane = self._lanes.get(CALL.name)
        stuck = [one for one in self._pursued.values() if one.stuck and one.number == number]
        if lane is not None:
            for pursued in stuck:
                pursued.stuck = False
                lane.queue.append(pursued)
            self._pump(lane)

    @property
    def in_threads(self) -> int:
        """How many handlers are in threads, and waited for."""
        return sum(lane.threads.waited_for for lane in self._lanes.values())

    @property
    def abandoned(self) -> dict[str, int]:
        """How many handlers are in threads that were given up and do not end, by the effect's name."""
        return {name: lane.threads.abandoned for name, lane in self._lanes.items() if lane.threads.abandoned}

    def _start(self, task: Callable[..., Coroutine[Any, Any, None]], *args: Any) -> None:
        if self._tasks is not None:
            self._tasks.start_soon(task, *args)

    def _pump(self, lane: Lane) -> None:
        """Start what may run."""
        while self._tasks is not None and lane.queue and lane.free:
            pursued = lane.queue.popleft()
            if not pursued.ended:
                lane.running += 1
                self._start(self._pursue, lane, pursued)

    async def _later(self, lane: Lane, pursued: Pursued) -> None:
        """Queue an effect when its next attempt is due, or when somebody wants it now."""
        pursued.hurry = anyio.Event()
        with anyio.CancelScope() as pursued.scope:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._until, pursued.row.due or 0, pursued.hurry)
                await pursued.hurry.wait()
                tasks.cancel_scope.cancel()
        pursued.scope = pursued.hurry = None
        lane.queue.append(pursued)
        self._pump(lane)

    async def _until(self, due: int, then: anyio.Event) -> None:
        await self._clock.sleep_until(due)
        then.set()

    async def _pursue(self, lane: Lane, pursued: Pursued) -> None:
        """Make one attempt, and see to what came of it."""
        try:
            with anyio.CancelScope() as pursued.scope:
                await self._attempt(lane, pursued)
        finally:
            pursued.scope = None
            lane.running -= 1
        if not (pursued.ended or pursued.stuck) and (pursued.number, pursued.key) in self._pursued:
            self._start(self._later, lane, pursued)
        self._pump(lane)

    async def _attempt(self, lane: Lane, pursued: Pursued) -> None:
        handler: Handler | None = None
        problem: LoomsError | None = None
        try:
            pursued.thread, handler = self._asked(pursued.run_id, pursued.key, lane.effect)
        except EffectOver:  # by a commit that is being made, and may fail: until then nobody looks again
            pursued.row = msgspec.structs.replace(pursued.row, due=after(self._clock, TRY_AGAIN))
            return
        except LoomsError as error:
            if lane.effect is CALL:
                pursued.stuck = True
                self._stop(pursued.number, error)
                return
            problem = error
        retry = lane.effect.retry if handler is None else handler.retry
        row, now = pursued.row, self._clock.now()
        if row.attempts >= retry.attempts or _too_late(row, retry, now):
            await self._give_up(pursued, row.error or "", row.message or "")
            return
        begun = msgspec.structs.replace(
            row, attempts=row.attempts + 1, first_at=row.first_at or now, due=None, running=True, since=now
        )
        if not await self._write(pursued, begun):
            return
        if handler is None:  # what was asked for cannot be read: the run says so, and others go on
            await self._failed(retry, pursued, Failed(type(problem).__name__, str(problem)))
            return
        emitter = Emitter(lambda letter, position: self._bring_emitted(pursued, letter, position), self._code)
        ctx = Context(pursued.run_id, pursued.thread, pursued.id, begun.attempts, emitter.emit)
        outcome = await attempt(handler, ctx, self._code, self._clock, lane.threads, self._watchdog)
        if isinstance(outcome, Answered):
            lane.tell_unnamed(outcome, self._code)
            await self._bring(pursued, EffectAnswer(pursued.key, outcome.letters, position=emitter.emitted))
        else:
            await self._failed(retry, pursued, outcome, emitter.emitted)

    async def _failed(self, retry: Retry, pursued: Pursued, outcome: Failed, emitted: int = 0) -> None:
        """Decide whether there is another attempt, and when."""
        row = pursued.row
        delay = retry.delay(row.attempts, random.random())
        due = after(self._clock, delay)
        if outcome.for_good or row.attempts >= retry.attempts or _too_late(row, retry, due):
            await self._give_up(pursued, outcome.error, outcome.message, emitted)
            return
        logs.warning(
            "effect failed",
            **pursued.names,
            attempt=row.attempts,
            error=f"{outcome.error}: {outcome.message}",
            again_in=delay,
        )
        failed = msgspec.structs.replace(
            row, due=due, running=False, since=None, error=outcome.error, message=outcome.message
        )
        await self._write(pursued, failed)

    async def _give_up(self, pursued: Pursued, error: str, message: str, emitted: int = 0) -> None:
        row = pursued.row
        logs.warning("effect gave up", **pursued.names, attempts=row.attempts, error=error)
        await self._bring(pursued, EffectGaveUp(pursued.key, error, message, row.attempts, emitted))

    async def _write(self, pursued: Pursued, row: EffectRow) -> bool:
        """Write how far the attempts are; False when the effect is over."""
        there = await self._insist(lambda call: self._add(Record((pursued.number, pursued.key), row, call)))
        pursued.row = row
        return bool(there)

    async def _bring(self, pursued: Pursued, item: Item) -> None:
        """Bring an outcome to the run; it is committed when this returns."""
        pursued.scope = None  # what ends the effect now is its outcome, and there is nothing left to cancel
        await self._insist(lambda call: self._post(pursued.run_id, Posted(item, call, pursued.number)))
        self._pursued.pop((pursued.number, pursued.key), None)

    async def _bring_emitted(self, pursued: Pursued, letter: Letter, position: int) -> None:
        """Bring an event that a handler emits on the way."""
        item = EffectAnswer(pursued.key, (letter,), final=False, position=position)
        outcome = await self._insist(lambda call: self._post(pursued.run_id, Posted(item, call, pursued.number)))
        if isinstance(outcome, Undelivered):
            raise EffectOver(outcome.reason)

    async def _insist(self, ask: Callable[[Call[Any]], None]) -> Any:
        """Ask until the disk takes it: an outcome that the outside world knows of must not be lost."""
        while True:
            call: Call[Any] = Call()
            ask(call)
            try:
                return await call.result()
            except Exception as error:  # noqa: BLE001 - whatever is wrong with one run, those of others go on
                logs.warning("outcome not written yet", error=f"{type(error).__name__}: {error}")
                await self._clock.sleep_until(after(self._clock, TRY_AGAIN))


def interrupted(row: EffectRow) -> EffectRow:
    """How far the attempts of an effect are of which a former process says that it is running."""
    if not row.running:
        return row
    return msgspec.structs.replace(
        row, running=False, since=None, error="Interrupted", message="the process ended during the attempt"
    )


def _too_late(row: EffectRow, retry: Retry, at: int) -> bool:
    """Whether no attempt may begin at a moment, so long after the first."""
    return retry.give_up is not None and row.first_at is not None and at > row.first_at + retry.give_up * 1000
