"""Calling: what each operation asks of the runtime."""

from collections import Counter
from typing import Any

import anyio

from looms import LoomsError, Runtime, Store, UnknownRun
from looms.snapshots.errors import StoreFailed
from tests.simulation import flows
from tests.simulation import operations as ops
from tests.simulation.application import app
from tests.simulation.handling import Handling
from tests.simulation.history import Followed, History, Log, Seen
from tests.simulation.world import World

OVER = "completed", "failed", "cancelled"


class Calling:
    """Calls a runtime, for all senders.

    Args:
        runtime: whom.
        world: the machine.
        history: where it is noted what was seen.
        handling: the world outside.
        leaving: the logs of runs that are being deleted; when the process dies, somebody finds out whether they were.
    """

    def __init__(
        self, runtime: Runtime, world: World, history: History, handling: Handling, leaving: list[Log]
    ) -> None:
        self._runtime = runtime
        self._world = world
        self._history = history
        self._handling = handling
        self._leaving = leaving
        self._deleting: set[str] = set()
        self._starting: Counter[str] = Counter()

    async def call(self, operation: ops.AnyOperation) -> Any:
        """Do what an operation says, and return what was answered.

        Raises:
            LoomsError: it was refused.
        """
        runtime = self._runtime
        match operation:
            case ops.Start():
                return await self._start(operation)
            case ops.Signal(run=run, events=events, key=key, retain=retain):
                return await runtime.run(run).signal(*events, key=key, retain=retain)
            case ops.SignalMany(signals=signals):
                addressed = [(run, event) if key is None else (run, event, key) for run, event, key in signals]
                return await runtime.signal_many(addressed, errors="return")
            case ops.Publish(event=event, key=key, retain=retain):
                return await runtime.publish(event, key=key, retain=retain)
            case ops.Cancel(run=run, grace=grace):
                await runtime.run(run).cancel("somebody said so", grace=grace)
            case ops.Resume(run=run):
                await runtime.run(run).resume()
            case ops.Mend():
                self._handling.mended += 1
            case ops.Fork():
                return await self._fork(operation)
            case ops.Delete(run=run):
                return await self._delete(run)
            case ops.RetryEffect(run=run, which=which):
                effect_id = await self._effect(run, which)
                if effect_id is not None:
                    await runtime.run(run).retry_effect(effect_id)
            case ops.SettleEffect(run=run, which=which, events=events):
                effect_id = await self._effect(run, which)
                if effect_id is None:
                    return None
                await runtime.run(run).settle_effect(effect_id, *events)
                return effect_id
            case ops.Look(run=run, replayed=replayed):
                await self._look(run, replayed)
            case ops.Follow(run=run, records=records):
                await self._follow(run, records)
            case ops.StartFlow(run=run, script=script):
                await runtime.start(flows.play, script, run_id=run, exists="return")
            case ops.RingFlow(run=run, id=id, key=key):
                return await runtime.run(run).signal(flows.Rang(id), key=key)
            case ops.PutItems(store=store, ids=ids):
                await self._store(store).update(flows.put(ids))
            case ops.TakeItem():
                return await self._take(operation)
            case ops.CountUp(store=store):
                await self._store(store).update(flows.count_one)
            case ops.DropStore():
                return await runtime.delete_store(flows.Stock, "gone")
            case ops.Jump(seconds=seconds):
                self._world.jump(seconds)
            case ops.Crash():
                self._world.die(f"at {self._world.now()}")
            case ops.Reopen():
                raise AssertionError("a story reopens by itself")
        return None

    def _store(self, id: str) -> Store[flows.Stock]:
        return self._runtime.store(flows.Stock, id, flows.Stock())

    async def _take(self, operation: ops.TakeItem) -> str | None:
        store, claim = self._store(operation.store), flows.taken_by(operation.name)
        try:
            item: flows.Item = await store.take(select=flows.free, claim=claim, timeout=operation.timeout)
            return item.id
        except TimeoutError:
            return None

    async def _start(self, operation: ops.Start) -> str:
        while operation.run in self._deleting:  # noqa: ASYNC110 - time costs nothing here
            await anyio.sleep(0.02)
        self._starting[operation.run] += 1
        try:
            definition: Any = app.definitions[f"sim.{operation.definition}"]
            run: Any = await self._runtime.start(
                definition, operation.script, run_id=operation.run, exists=operation.exists
            )
            return str(run.id)
        finally:
            self._starting[operation.run] -= 1

    async def _fork(self, operation: ops.Fork) -> int:
        run = self._runtime.run(operation.run)
        at = max(1, round((await run.inspect()).seq * operation.at))
        self._history.forks.append((operation.fork, operation.run, at))
        await run.fork(at, operation.fork, effects=operation.effects)
        return at

    async def _delete(self, run_id: str) -> bool:
        """Delete a run that is over, and keep its log for whoever judges."""
        if run_id in self._deleting:
            return False
        self._deleting.add(run_id)
        try:
            while self._starting[run_id]:  # noqa: ASYNC110
                await anyio.sleep(0.02)
            run = self._runtime.run(run_id)
            state = await run.inspect()
            if state.status not in OVER:
                return False
            log = Log(run_id, [record async for record in run.events()], deleted=True)
            if state.forked_from is not None:
                log.source, log.past = state.forked_from
            self._leaving.append(log)
            try:
                await run.delete()
            except LoomsError as error:
                if not isinstance(error, StoreFailed):
                    self._leaving.remove(log)
                raise
            if not self._world.dead:
                self._leaving.remove(log)
                self._history.logs.append(log)
            return True
        finally:
            self._deleting.discard(run_id)

    async def _effect(self, run: str, which: int) -> str | None:
        effects = (await self._runtime.run(run).inspect()).effects
        return effects[which % len(effects)].id if effects else None

    async def _look(self, run_id: str, replayed: float | None) -> None:
        run, now = self._runtime.run(run_id), self._world.moment()
        former = self._history.former(run_id)
        state = await run.inspect()
        if replayed is not None:
            seq = max(1, round(state.seq * replayed))
            try:
                state = (await run.replay_to(seq)).after
            except UnknownRun:
                return
        if not self._world.dead and self._history.former(run_id) == former:
            self._history.seen.append(Seen(run_id, now, state, replayed is not None, former))

    async def _follow(self, run_id: str, records: int) -> None:
        read: list[Any] = []
        with anyio.move_on_after(30):
            async for record in self._runtime.run(run_id).events(follow=True):
                read.append(record)
                if len(read) == records:
                    break
        if not self._world.dead:
            self._history.followed.append(Followed(run_id, read))
