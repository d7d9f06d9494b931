"""A story: a plan happens, in one process after the other, until all has been said and everything is at rest."""

import os
import random
import shutil
import tempfile
import traceback
from collections import deque

import anyio

import looms
from looms import LoomsError, Reader, Retention, Runtime, StoreError, StoreInUse
from looms.snapshots.errors import StoreFailed
from tests.simulation import application, flows
from tests.simulation.application import app
from tests.simulation.asking import ask_each, leaves
from tests.simulation.calling import Calling
from tests.simulation.flows import flow
from tests.simulation.handling import Handling
from tests.simulation.history import Called, History, Log, Try
from tests.simulation.inquiries import inquire
from tests.simulation.loop import Stuck
from tests.simulation.operations import (
    AskSignal,
    DropStore,
    Plan,
    Publish,
    Reopen,
    RingFlow,
    Signal,
    SignalMany,
    Start,
    StartFlow,
)
from tests.simulation.world import Died, SimulatedRuntime, World, installed

MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None  # where a disk costs nothing
QUIET = 250.0  # seconds without a commit, after which there will be none
MOST_QUIET = 100  # times that long until a story has come to rest
OLD = 3.0  # seconds after which snapshots may go, where they are thinned
LOOK = 2.0  # seconds between looks at what other processes do
AGAIN = 3  # tries of what a disk refused


def tell(plan: Plan) -> History:
    """Let a plan happen, and return what was observed."""
    world = World(random.Random(plan.seed), plan.faults)
    story = Story(plan, world)
    folder = tempfile.mkdtemp(prefix="looms-simulation-", dir=MEMORY)
    try:
        with installed(world, plan.settings, plan.bounds):
            world.loop.run_until_complete(story.run(f"{folder}/s"))
    except Stuck as stuck:
        story.history.broken.append(str(stuck))
    except Exception:  # noqa: BLE001 - whatever a story ends with, it is told
        story.history.broken.append(traceback.format_exc())
    finally:
        story.history.tried_commits = world.commits
        world.close()
        shutil.rmtree(folder)
    return story.history


class Story:
    """A plan that happens.

    Args:
        plan: the plan.
        world: where.
    """

    def __init__(self, plan: Plan, world: World) -> None:
        self.history = History(plan)
        self._world = world
        self._handling = Handling(world, self.history)
        self._leaving: list[Log] = []
        self._left: dict[int, deque[Called]] = {}  # what is to be called, by the sender
        self._asking: dict[int, deque[Called]] = {}  # the same of other processes
        for operation in plan.operations:
            called = Called(operation)
            self.history.called.append(called)
            whose = self._asking if isinstance(operation, AskSignal) else self._left
            whose.setdefault(operation.sender, deque()).append(called)
        application.outside = self._handling

    async def run(self, path: str) -> None:
        """Let it happen, from the first process to the last."""
        async with anyio.create_task_group() as others:
            for left in self._asking.values():
                others.start_soon(ask_each, self._world, path, left)
            await self._be_host(path)
        await self._look_again(path)

    async def _be_host(self, path: str) -> None:
        """Be the host, in one process after the other."""
        while not await self._live(path):  # noqa: ASYNC110 - nobody tells of the next process
            await anyio.sleep(self._world.chance.choice((0.0, 1.0, 100.0)))
        if not self.history.logs_are_final:
            self._world.begin()
            async with self._runtime(path) as runtime:
                await self._finish(runtime)

    async def _finish(self, runtime: Runtime) -> None:
        """Let everything come to rest, and note what is there then."""
        self._world.calm_down()
        self._handling.mended = 1_000_000
        await self._come_to_rest(runtime)
        await self._take_down(runtime)
        await inquire(runtime, self.history)
        self.history.logs_are_final = True

    def _runtime(self, path: str) -> SimulatedRuntime:
        settings = self.history.plan.settings
        return SimulatedRuntime(
            self._world,
            path,
            modules=[app, flow],
            snapshot_every=settings.snapshot_every,
            max_resident=settings.max_resident,
            max_mailbox=settings.max_mailbox,
            max_turn_records=settings.max_turn_records,
            retention=Retention(snapshots=OLD, keep_every=3) if settings.thins else None,
        )

    async def _live(self, path: str) -> bool:
        """Live through one process; whether all was said in the end."""
        world = self._world
        world.begin()
        try:
            async with self._runtime(path) as runtime:
                calling = Calling(runtime, world, self.history, self._handling, self._leaving)
                async with anyio.create_task_group() as tasks:
                    for left in self._left.values():
                        tasks.start_soon(self._send, calling, left, tasks.cancel_scope)
                if not any(self._left.values()):
                    while any(self._asking.values()):  # noqa: ASYNC110
                        await anyio.sleep(LOOK)
                    await self._rest()
                    if (
                        world.chance.random() < 0.5
                    ):  # else the next process has to find what this one may have forgotten
                        await self._finish(runtime)
        except StoreInUse:
            await anyio.sleep(LOOK)  # somebody else is the host for a moment
        except BaseException as error:
            expected = Died if world.dead else StoreFailed if world.failed else ()
            if not all(isinstance(leaf, expected) for leaf in leaves(error)):
                raise
        self.history.crashes = world.crashes
        return not any(self._left.values()) and not any(self._asking.values())

    async def _rest(self) -> None:
        """Return when nothing has happened for long."""
        for _ in range(MOST_QUIET):
            commits = self._world.commits
            await anyio.sleep(QUIET)
            if self._world.commits == commits:
                return
        raise Stuck("it does not come to rest: there are ever more commits")

    async def _send(self, calling: Calling, left: deque[Called], closing: anyio.CancelScope) -> None:
        """Call one operation after the other."""
        while left:
            called = left[0]
            await anyio.sleep(called.operation.pause)
            if isinstance(called.operation, Reopen):
                left.popleft()
                closing.cancel()
                return
            again = await self._try(calling, called, left)
            if not again:
                left.popleft()

    async def _try(self, calling: Calling, called: Called, left: deque[Called]) -> bool:
        """Call an operation; whether it is to be called again."""
        world, operation = self._world, called.operation
        one = Try(world.life, world.moment())
        called.tries.append(one)
        try:
            answer, error = await calling.call(operation), None
        except LoomsError as refusal:
            answer, error = None, refusal
        except BaseException:
            if not repeatable(operation):
                left.popleft()  # nobody will know what became of it
            raise
        errors = answer if isinstance(answer, list) else [error]
        if world.dead or any(isinstance(one, StoreFailed) for one in errors):
            if not repeatable(operation):
                left.popleft()
            raise Died if world.dead else StoreFailed("so the process is over")
        one.answer, one.error, one.answered = answer, error, world.moment()
        return isinstance(error, StoreError) and repeatable(operation) and len(called.tries) < AGAIN

    async def _come_to_rest(self, runtime: Runtime) -> None:
        """Let all that was held up go on, until there is nothing that goes on."""
        await self._rest()
        for _ in range(3):
            held_up = [one.run_id async for one in runtime.runs(status="suspended")]
            self.history.held_up.update(held_up)
            for run_id in held_up:
                await runtime.run(run_id).resume()
            await self._rest()

    async def _take_down(self, runtime: Runtime) -> None:
        """Note what is there in the end."""
        history = self.history
        history.finished_at = self._world.now()
        history.commits = [commit async for commit in runtime.commits()]
        whose = {flows.play.name: history.flows, "flow.stock": history.stores}
        for summary in [one async for one in runtime.runs()]:
            run = runtime.run(summary.run_id)
            records = [record async for record in run.events()]
            state = await run.inspect()
            log = Log(summary.run_id, records, state=state)
            if state.forked_from is not None:
                log.source, log.past = state.forked_from
            whose.get(summary.definition, history.logs).append(log)
        known = {_beginning(log) for log in history.logs}
        for log in self._leaving:  # the process died while they were deleted: they were, if they are not there
            if _beginning(log) not in known:
                known.add(_beginning(log))
                history.logs.append(log)

    async def _look_again(self, path: str) -> None:
        """Compare what another process sees with what the runtime saw, and check the store."""
        broken = self.history.broken
        async with Reader(path, modules=[app, flow]) as reader:
            for log in [*self.history.logs, *self.history.flows, *self.history.stores]:
                if log.state is not None:
                    cold = await reader.run(log.run_id).inspect()
                    if cold != log.state:
                        broken.append(f"{log.run_id}: folded cold it is {cold}, and live it is {log.state}")
        broken += [f"check: {finding}" for finding in looms.check(path, modules=[app, flow]).findings]


def repeatable(operation: object) -> bool:
    """Whether a sender calls it again that got no answer: it has a key, or does no harm."""
    match operation:
        case Signal(key=key) | Publish(key=key):
            return key is not None
        case SignalMany(signals=signals):
            return all(key is not None for _, _, key in signals)
        case Start(exists=exists):
            return exists == "return"
        case RingFlow(key=key):
            return key is not None
        case StartFlow() | DropStore():
            return True
    return False


def _beginning(log: Log) -> object:
    """What tells a run from another of its id."""
    first = log.records[0]
    return log.run_id, first.at, first.payload["input"]["id"], log.past
