"""The runtime: a store with the host that serves it, inside an application."""

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager, AsyncExitStack, nullcontext
from types import TracebackType
from typing import IO, Any, Literal, Self, TypeVar, overload

from looms.actors.clock import Clock, SystemClock
from looms.actors.errors import RuntimeClosed
from looms.actors.followers import NextCommit
from looms.actors.host import Host
from looms.actors.options import Options
from looms.actors.publishing import Published
from looms.actors.requests import Request
from looms.actors.requests_served import ask
from looms.actors.retention import Retention
from looms.actors.run_ids import new_run_id
from looms.actors.service import Receipt, Service
from looms.actors.serving import serve
from looms.bulk import Addressed, all_taken, signal_each
from looms.driving import driver_of
from looms.environment_reading import EnvironmentReading
from looms.importing import Import, Wanted
from looms.pruning import let_go, plan, wanted
from looms.reducers.definitions import Definition
from looms.reducers.errors import LoomsError
from looms.reducers.events import Event
from looms.reducers.givens import listener, refused, word
from looms.reducers.modules import Module
from looms.reducers.registry import Registry
from looms.reducers.state import State
from looms.run import Run
from looms.snapshots.environment import Durability, Environment, checked_map_size
from looms.snapshots.store import Store as EnvironmentStore
from looms.snapshots.stuck import Stuck
from looms.store import Store, delete_store
from looms.summaries import Imported, Pruned

S = TypeVar("S", bound=State)
I = TypeVar("I")  # noqa: E741 - the input
O = TypeVar("O")  # noqa: E741 - the output


class Runtime(EnvironmentReading):
    """Runs in a store, served while the context is open::

        async with looms.Runtime("orders.looms", modules=[payments, orders]) as runtime:
            run = await runtime.start(order, PlaceOrder(order_id="o1", amount=40), run_id="o1")

    Args:
        path: the store's folder; it is made when it is not there.
        modules: the application's modules, in any order.
        clock: where the time comes from; the machine's without.
        durability: ``"commit"``: what is acknowledged is on disk. ``"relaxed"``: the last commits may be lost when the
            machine loses power, never when the process ends.
        snapshot_every: records between snapshots: a cold run folds at most so many.
        max_resident: runs kept in memory though they have no work.
        max_mailbox: events that a run's mailbox holds.
        max_turn_records: records that one event may lead to in a turn.
        map_size: bytes that the store may grow to; 1 TiB without, where addresses allow it.
        strict: refuse to open a store with runs whose definition is missing; else those are suspended.
        retention: how long runs are kept that are over; for ever without.
        stuck_after: seconds after which the log is told that a reducer, or another piece of code on the event loop,
            does not return, and which; None: never.
        on_stuck: is told the same, as often, in a thread of its own.

    Raises:
        ModuleError: the modules do not fit together.
        InvalidInput: an option that cannot be.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        modules: Iterable[Module],
        clock: Clock | None = None,
        durability: Durability = "commit",
        snapshot_every: int = 256,
        max_resident: int = 10_000,
        max_mailbox: int = 1_024,
        max_turn_records: int = 10_000,
        map_size: int | None = None,
        strict: bool = False,
        retention: Retention | None = None,
        stuck_after: float | None = 1.0,
        on_stuck: Callable[[Stuck], None] | None = None,
    ) -> None:
        if clock is not None and not all(callable(getattr(clock, name, None)) for name in ("now", "sleep_until")):
            refused("clock", clock, "a looms.Clock: something with now() and sleep_until(at)")
        super().__init__(path, clock or SystemClock())
        self._code = Registry(modules)
        self._options = Options(
            snapshot_every, max_resident, max_mailbox, max_turn_records, strict, stuck_after, on_stuck, retention
        )
        word("durability", durability, "commit", "relaxed")
        checked_map_size(map_size)
        self._durability: Durability = durability
        self._map_size = map_size
        self._open: AsyncExitStack | None = None
        self._host: Host | None = None

    async def __aenter__(self) -> Self:
        """Open the store and serve it.

        Raises:
            StoreInUse: a host has it already.
            StoreFormatError: something else is there, or a newer version's store.
            ModuleError: ``strict``, and definitions are missing.
        """
        if self._open is not None:
            raise RuntimeClosed(f"the runtime on {self.path} is open already; make another one for another context")
        async with AsyncExitStack() as stack:
            opened = EnvironmentStore(self.path, map_size=self._map_size, durability=self._durability)
            store = stack.enter_context(opened)
            self._host = await stack.enter_async_context(self._served(store))
            self._open = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        """Stop serving: handlers are cancelled and stay outstanding; what was acknowledged is on disk."""
        opened, self._open = self._open, None
        return None if opened is None else await opened.__aexit__(kind, error, trace)

    def _served(self, store: EnvironmentStore) -> AbstractAsyncContextManager[Host]:
        """The store, served while the context is open."""
        return serve(store, self._code, self.clock, self._options)

    @overload
    async def start(
        self,
        definition: Definition[S, None, O],
        *,
        run_id: str | None = None,
        exists: Literal["error", "return"] = "error",
    ) -> Run[S, O]: ...
    @overload
    async def start(
        self,
        definition: Definition[S, I, O],
        input: I,
        *,
        run_id: str | None = None,
        exists: Literal["error", "return"] = "error",
    ) -> Run[S, O]: ...
    async def start(
        self,
        definition: Definition[Any, Any, Any],
        input: Any = None,
        *,
        run_id: str | None = None,
        exists: Literal["error", "return"] = "error",
    ) -> Run[Any, Any]:
        """Start a run.

        Args:
            definition: what its root thread is: a reducer of one of the modules.
            input: what its ``Started`` holds.
            run_id: its id, 1 to 255 bytes of UTF-8; without, it gets one that sorts by time.
            exists: with ``"return"`` a run of this definition that is there under the id will do.

        Returns:
            The run, once its start is on disk with all that follows from it.

        Raises:
            RunExists: the id is taken.
            InvalidInput: the input or the id does not fit.
            ModuleError: the definition is of no module here.
            ReducerError: the code raised; there is no such run.
        """
        service = self._service()
        started = await self.host.inflow.admit(lambda: service.start(definition, input, run_id, exists))
        return Run(self, (await started.result()).run_id)

    def run(self, run_id: str) -> Run[Any, Any]:
        """The handle of a run, without looking whether it exists.

        Raises:
            InvalidInput: no run could have that id.
        """
        return Run(self, run_id)

    def store(self, cls: type[S], id: str, initial: S | None = None) -> Store[S]:
        """The handle of a store, without looking whether it exists.

        Args:
            cls: the class of its states, declared with ``@module.store(name)``.
            id: its id, 1 to 255 bytes of UTF-8.
            initial: the first call creates it with this where it is absent; else this is of no interest.

        Raises:
            TypeError: the class is no store.
            ModuleError: it is of no module here.
            InvalidInput: no store could have that id.
            InvalidState: the initial state does not fit its type.
        """
        return Store(self, cls, id, initial)

    async def delete_store(self, cls: type[State], id: str) -> bool:
        """Delete a store, whatever it holds: with its log, for good. Whoever waits on it gets ``UnknownStore``.

        Returns:
            Whether there was one.

        Raises:
            TypeError, ModuleError, InvalidInput: as for ``store``.
        """
        return await delete_store(self, cls, id)

    @overload
    async def signal_many(
        self, signals: Iterable[Addressed], *, errors: Literal["raise"] = "raise"
    ) -> list[Receipt]: ...
    @overload
    async def signal_many(
        self, signals: Iterable[Addressed], *, errors: Literal["return"]
    ) -> list[Receipt | LoomsError]: ...
    async def signal_many(
        self, signals: Iterable[Addressed], *, errors: Literal["raise", "return"] = "raise"
    ) -> list[Any]:
        """Send many signals, to any runs, in few commits: each is taken or refused by itself, as by ``run.signal``.

        What goes to one run is taken in the order in which it is given. The signals are gone through as there is room
        for them, so they may come from a generator over a large file; it is called on the event loop.

        Args:
            signals: for each, the run's id, the event, and perhaps an idempotency key; with keys, the whole can be sent
                again after a crash.
            errors: what to do when some are refused: raise, or return each error in the place of its receipt.

        Returns:
            The receipts, in order, once all are on disk.

        Raises:
            InvalidInput: what cannot be gone through with ``for``, or another ``errors``.
            SignalsRefused: some were refused; it has what became of each. The others are recorded.
            SignalsBrokenOff: what gave the signals raised; those before are settled, and it has what became of each.
            RuntimeClosed: the runtime was closed meanwhile; it says how many are recorded.
        """
        word("errors", errors, "raise", "return")
        outcomes = await signal_each(self.host, signals)
        return all_taken(outcomes) if errors == "raise" else outcomes

    async def publish(self, event: Event, *, key: str | None = None, retain: float | None = None) -> Published:
        """Give an event to every run that waits for it, all in one commit.

        Args:
            event: the event.
            key: an idempotency key: when it was there before, nobody gets the event again.
            retain: seconds to keep the event when nobody waits for it; the first wait that matches in time takes it.

        Returns:
            The ids of the runs that took it, once it is on disk.

        Raises:
            UnknownEvent, InvalidEvent: the event cannot be recorded.
        """
        service = self._service()
        published = await self.host.inflow.admit(lambda: service.publish(event, key, retain))
        return await published.result()

    def event(self, type: str, payload: Any) -> Event:
        """The event that a name and some plain data say, as a webhook or a queue brings them.

        Args:
            type: the registered name, ``module.event``.
            payload: a dict of its fields; others in it are left out.

        Raises:
            UnknownEvent: no module here has it; the closest name is told.
            InvalidEvent: the payload does not fit; the message has the path.
        """
        kind = self._code.event_named(type)
        made: Event = kind.from_plain(payload)
        return made

    async def import_runs(
        self,
        source: str | os.PathLike[str] | IO[bytes],
        *,
        rename: Mapping[str, str] | None = None,
        prefix: str = "",
        new_ids: bool = False,
        effects: Literal["hold", "redispatch"] = "hold",
        on_conflict: Literal["error", "skip"] = "error",
        progress: Callable[[Imported], None] | None = None,
    ) -> Imported:
        """Bring in what ``export_runs`` wrote, from this store or another one: runs with their logs, to the byte.

        All of the file is looked at before anything is written. Then it comes in, each run as a whole.

        Args:
            source: the file, or something binary with ``read``; compressed or not.
            rename: new ids, by the old ones. What runs say of each other (who sent something, whom they signal) stays
                as it is.
            prefix: what is put before the ids of the runs that are not in ``rename``.
            new_ids: all of them get new ids; ``forked_from`` tells which each one was.
            effects: what is outstanding in them is held, as in a fork, since it may be running where they come from; or
                it is dispatched, but for what was held there.
            on_conflict: a run whose id is taken is an error, and nothing is imported; or it is left out.
            progress: is told now and then how far it is.

        Returns:
            How much was imported.

        Raises:
            StoreFormatError: the file is not what was written, or is cut; the message has the line.
            RunExists: an id is taken.
            InvalidInput: an id or an option that cannot be.
            OSError: the file cannot be read.
        """
        host = self.host
        new_id = (lambda old: new_run_id(self.clock.now())) if new_ids else None
        if not isinstance(rename, Mapping | None):
            refused("rename", rename, "a dict of new ids, by the old ones")
        wanted = Wanted(dict(rename or {}), prefix, new_id, effects, on_conflict)
        listener("progress", progress)

        async def asked(request: Request) -> Any:
            return await ask(Service(host), host, request).result()

        return await Import(wanted, asked, self.view, progress).run(source)

    async def prune(
        self,
        *,
        finished_older: float | None = None,
        archive: str | os.PathLike[str] | None = None,
        snapshots_older: float | None = None,
        keep_every: int = 10_000,
        definition: Definition[Any, Any, Any] | str | None = None,
        dry_run: bool = False,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> Pruned:
        """Let go of what is old, now: runs that are over, and snapshots that are closer together than they need be.
        ``retention=`` does it by policy.

        Args:
            finished_older: delete runs that have been over for so many seconds.
            archive: export these first, to a file that is not there yet (``.gz`` at its end compresses it), or into a
                folder under a name with the time. None is deleted before the file is whole and on disk, and none that
                is not whole in it.
            snapshots_older: thin the snapshots that are older than so many seconds; the newest of a run is kept.
            keep_every: of these so many are kept that at least so many records lie between them.
            definition: only of runs of this definition.
            dry_run: only tell what would go.
            progress: is told now and then what is done (``"archiving"``, ``"deleting"``, ``"thinning"``), of how many
                that is done, and how many there are.

        Returns:
            How much went.

        Raises:
            InvalidInput: an option that cannot be, or a file that is there already.
            OSError: the archive cannot be written; nothing was deleted.
        """
        host, now = self.host, self.clock.now()
        listener("progress", progress)
        found = await plan(self, wanted(now, finished_older, archive, snapshots_older, keep_every, definition))
        if dry_run:
            return Pruned(len(found.old.numbers), found.spare.snapshots, 0)
        return await let_go(self, nullcontext(driver_of(host)), found, now, progress or (lambda *_: None))

    @property
    def host(self) -> Host:
        """What serves the store.

        Raises:
            RuntimeClosed: the context is not open, or not in this process.
            WrongThread: it is open on another thread's event loop.
        """
        if self._host is None:
            raise RuntimeClosed(
                f"the runtime on {self.path} is not open; use it inside `async with looms.Runtime(...)`"
            )
        self._host.check_open()
        return self._host

    @property
    def code(self) -> Registry:
        """Today's code."""
        return self._code

    def looking(self, run_id: str) -> AbstractContextManager[None]:
        """A block in which a run's past is put to code: on the loop of the host the watchdog looks on."""
        return nullcontext() if self._host is None else self._host.watchdog.looking(run_id)

    def next_commit(self, run_id: str | None = None) -> NextCommit:
        """The next commit, or the next that touches a run."""
        followers = self.host.followers
        return followers.next() if run_id is None else followers.next_of(run_id)

    def _service(self) -> Service:
        return Service(self.host)

    def _environment(self) -> Environment:
        return self.host.store.environment
