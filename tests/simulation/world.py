"""The world that a runtime lives in: time, a disk that fails by plan, worker threads, and crashes.

All that a host asks of its machine is answered here, on the simulated loop. Where the runtime has no seam for it
(threads that it asks anyio for, the stopwatch of its committer, the random part of a backoff), `installed` puts it in.
"""

import asyncio
import random
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import Any, NoReturn
from unittest import mock

import anyio
import anyio.from_thread
import anyio.to_thread

from looms import Runtime, StoreError, StoreFull, driving
from looms.actors import committer
from looms.actors.clock import Clock
from looms.actors.host import Host
from looms.actors.options import Options
from looms.actors.serving import serve
from looms.reducers.registry import Registry
from looms.snapshots.errors import StoreFailed
from looms.snapshots.store import Store
from looms.stores import turns
from tests.simulation.loop import SimulatedLoop
from tests.simulation.operations import Fault, Settings
from tests.simulation.tightening import Bound, tightened

BEGIN = 1_767_225_600_000  # 2026-01-01T00:00:00Z
LOOK = 60.0  # seconds between looks at the clock, as the machine's has it
CALM = (
    400.0  # seconds after which all that was waited for with a deadline is over, and all that is tried again is tried
)

SECONDS_IN_A_THREAD = 0.0, 0.0, 0.001, 0.001, 0.02, 0.02, 1.0, 25.0


class Died(BaseException):
    """The process is no more."""


class World:
    """The machine of a story.

    Attributes:
        chance: the seed's.
        life: which process this is, from 1.
        commits: how many commits there were, also those that failed.
        dead: the process has died, and the store takes nothing.
        failed: the disk has failed, and the runtime ends.
    """

    def __init__(self, chance: random.Random, faults: tuple[Fault, ...]) -> None:
        self.chance = chance
        self.loop = SimulatedLoop(chance)
        self.life = 0
        self.commits = 0
        self.dead = self.failed = False
        self.crashes: list[str] = []
        self._faults = {fault.commit: fault for fault in faults}
        self._stopwatch = 0.0
        self._set_by = self._set_latest = 0.0  # seconds
        self._threads: set[asyncio.Task[Any]] = set()

    # The clock

    def now(self) -> int:
        """Milliseconds since 1970."""
        return BEGIN + int((self.loop.time() + self._set_by) * 1000 + 1e-6)

    def moment(self) -> float:
        """Seconds, whoever sets the clock."""
        return self.loop.time()

    async def sleep_until(self, at: int) -> None:
        """Return when it is that time, or later."""
        while (left := at - self.now()) > 0:  # noqa: ASYNC110 - it is the clock that is waited for
            await anyio.sleep(min(left / 1000, LOOK))

    def jump(self, seconds: float) -> None:
        """Set the clock."""
        self._set_by += seconds
        self._set_latest = max(self._set_latest, self._set_by)

    def uuid4(self) -> uuid.UUID:
        """An id that nobody else has."""
        return uuid.UUID(int=self.chance.getrandbits(128), version=4)

    # The disk

    async def commit(self, make: Callable[[], object], host: bool = True) -> None:
        """Make a commit of the host, or of another process, or whatever the plan has in store for it."""
        self.commits += 1
        fault = self._faults.get(self.commits)
        await anyio.sleep(self.chance.choice((0.0, 0.0005, 0.002, 0.01)))
        if fault is not None and fault.seconds:
            await anyio.sleep(fault.seconds)
        if host and self.dead:
            raise Died
        match fault:
            case Fault(kind="full"):
                raise StoreFull("the disk is full, says the simulation")
            case Fault(kind="broken"):
                raise StoreError("the disk is broken, says the simulation")
            case Fault(kind="before"):
                self.die(f"before commit {self.commits}", host)
            case Fault(kind="lost"):
                self.failed = self.failed or host
                raise StoreFailed("the disk failed, says the simulation")
        make()
        if isinstance(fault, Fault) and fault.kind == "kept":
            self.failed = self.failed or host
            raise StoreFailed("the disk failed, says the simulation")
        if isinstance(fault, Fault) and fault.kind == "after":
            self.die(f"after commit {self.commits}", host)

    def serve(self, store: Store, code: Registry, clock: Clock, options: Options) -> AbstractAsyncContextManager[Host]:
        """Serve a store whose disk this world has."""
        return serve(store, code, clock, options, lambda: SimulatedWriter(self, host=options.drives))

    def calm_down(self) -> None:
        """Nothing goes wrong from now on, and it is as late as it ever was."""
        self._set_by = self._set_latest
        self._faults.clear()

    # The process

    def die(self, where: str, host: bool = True) -> NoReturn:
        """Be no more: whoever still runs is not heard by anybody."""
        self.crashes.append(where)
        if not host:
            raise Died(where)
        self.dead = True
        for thread in self._threads:
            thread.cancel()
        raise Died(where)

    def begin(self) -> None:
        """A new process."""
        self.life += 1
        self.dead = self.failed = False

    def close(self) -> None:
        """End the loop, and whoever still waits in it."""
        for task in asyncio.all_tasks(self.loop):
            task._log_destroy_pending = False  # type: ignore[attr-defined] # it is told of as stuck
        self.loop.close()

    # Threads

    async def in_thread(
        self, function: Callable[..., Any], *args: Any, abandon_on_cancel: bool = False, limiter: Any = None, **_: Any
    ) -> Any:
        """What `anyio.to_thread.run_sync` does, with the function called in one piece after a while."""
        await anyio.lowlevel.checkpoint()
        async with limiter or _Unlimited():
            with anyio.CancelScope(shield=not abandon_on_cancel):
                return await self._thread(function, args)

    async def _thread(self, function: Callable[..., Any], args: Any) -> Any:
        done = self.loop.create_future()

        async def thread() -> None:
            answer: Any = None
            failure: BaseException | None = None
            try:
                await asyncio.sleep(self.chance.choice(SECONDS_IN_A_THREAD))
                answer = function(*args)
            except asyncio.CancelledError:
                failure = Died("with its process")
            except BaseException as error:  # noqa: BLE001 - raised where the thread is waited for
                failure = error
            if done.done():
                return
            if failure is None:
                done.set_result(answer)
            else:
                done.set_exception(failure)

        def ended(task: asyncio.Task[Any]) -> None:
            self._threads.discard(task)
            if not done.done():  # it died before it had begun
                done.set_exception(Died("with its process"))

        task = self.loop.create_task(thread())
        self._threads.add(task)
        task.add_done_callback(ended)
        return await done

    def stopwatch(self) -> float:
        """What `perf_counter` says: now and then something takes long."""
        self._stopwatch += self.chance.choice((0.0, 0.00001, 0.0001, 0.003, 0.02))
        return self._stopwatch


class _Unlimited:
    async def __aenter__(self) -> None:
        pass

    async def __aexit__(self, *_: object) -> None:
        pass


class SimulatedWriter:
    """A host's writer, whose commits the world makes."""

    def __init__(self, world: World, host: bool) -> None:
        self._world = world
        self._host = host

    async def write(self, commit: Callable[[], object]) -> None:
        """Have a commit made, or not."""
        with anyio.CancelScope(shield=True):
            await self._world.commit(commit, self._host)

    def close(self) -> None:
        """There is no thread to end."""


@asynccontextmanager
async def _nobody_hears(folder: str) -> AsyncIterator[Any]:
    """What ``ring`` does where there can be no socket."""
    raise OSError("there are no sockets in the simulation")
    yield  # pragma: no cover


class SimulatedRuntime(Runtime):
    """A runtime in a simulated world."""

    def __init__(self, world: World, path: str, **options: Any) -> None:
        super().__init__(path, clock=world, durability="relaxed", stuck_after=None, **options)
        self._world = world

    def _served(self, store: Store) -> AbstractAsyncContextManager[Host]:
        return self._world.serve(store, self.code, self.clock, self._options)


@contextmanager
def installed(world: World, settings: Settings, bounds: tuple[Bound, ...]) -> Iterator[None]:
    """Have the runtime ask this world where it would ask the machine, with bounds as tight as that."""
    random.seed(world.chance.random())  # of which backoffs take their jitter
    helping = Options(
        settings.snapshot_every, settings.max_resident, settings.max_mailbox, settings.max_turn_records, drives=False
    )
    with (
        tightened(bounds),
        mock.patch.object(anyio.to_thread, "run_sync", world.in_thread),
        mock.patch.object(anyio.from_thread, "check_cancelled", return_value=None),
        mock.patch.object(committer, "perf_counter", world.stopwatch),
        mock.patch.object(turns, "_chance", world.chance),
        mock.patch.object(driving, "HELPING", helping),  # it cannot know those of the application
        mock.patch.multiple(
            driving, SystemClock=lambda: world, ring=_nobody_hears, serve=world.serve, uuid=world, LOOK=5.0
        ),
    ):
        yield
