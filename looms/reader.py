"""Reading a store that another process may be writing."""

import os
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack
from types import TracebackType
from typing import IO, Any, Self

import anyio

from looms.actors.background import background
from looms.actors.clock import SystemClock
from looms.actors.doorbell import ring
from looms.actors.errors import RuntimeClosed
from looms.actors.followers import Followers, NextCommit
from looms.care.aside import aside
from looms.care.backup import Backup, backup
from looms.care.checking import Checked, checked
from looms.care.stats import Stats, stats
from looms.commits import read_commits
from looms.exporting import chosen, export
from looms.listing import list_runs
from looms.outstanding import OutstandingEffect, list_effects
from looms.reducers.definitions import Definition
from looms.reducers.givens import items
from looms.reducers.givens import path as given_path
from looms.reducers.modules import Module
from looms.reducers.registry import Registry
from looms.run_reading import RunReading
from looms.snapshots.environment import Environment
from looms.snapshots.view import View
from looms.summaries import Commit, Exported, RunSummary
from looms.verifying import Verification, verify

LOOK = 1.0  # seconds between looks for a host


class Reader:
    """The reading half of a runtime, beside whoever writes::

        async with looms.Reader("orders.looms", modules=[payments, orders]) as reader:
            state = await reader.run("o1").state()

    Args:
        path: the store's folder.
        modules: the application's modules. Without any, all is shown but states that are not in a snapshot.

    Raises:
        ModuleError: the modules do not fit together.
    """

    def __init__(self, path: str | os.PathLike[str], *, modules: Iterable[Module] = ()) -> None:
        self.path = given_path("path", path)
        given = items("modules", modules, "a list of modules, such as [payments, orders]")
        self._code = Registry(given) if given else None
        self._followers = Followers()
        self._environment: Environment | None = None
        self._open: AsyncExitStack | None = None

    async def __aenter__(self) -> Self:
        """Open the store for reading.

        Raises:
            StoreNotFound, StoreFormatError: there is no store, or one that this version does not know.
        """
        async with AsyncExitStack() as stack:
            self._environment = Environment(self.path)
            stack.callback(self._environment.close)
            tasks = await stack.enter_async_context(background())
            tasks.start_soon(self._listen)
            self._open = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        """Close it; nobody else notices."""
        opened, self._open = self._open, None
        return None if opened is None else await opened.__aexit__(kind, error, trace)

    def run(self, run_id: str) -> RunReading[Any]:
        """The handle of a run, without looking whether it exists.

        Raises:
            InvalidInput: no run could have that id.
        """
        return RunReading(self, run_id)

    def runs(
        self,
        *,
        definition: Definition[Any, Any, Any] | str | None = None,
        status: str | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[RunSummary]:
        """The runs, in the order in which they were started; as ``Runtime.runs``."""
        return list_runs(self, definition, status, limit)

    def commits(self, *, after: int = 0, follow: bool = False) -> AsyncIterator[Commit]:
        """Everything that was recorded, commit by commit; as ``Runtime.commits``."""
        return read_commits(self, after, follow)

    def effects(self, run_id: str | None = None) -> AsyncIterator[OutstandingEffect]:
        """The effects that are outstanding; as ``Runtime.effects``."""
        return list_effects(self, run_id)

    async def verify(self, run_id: str) -> Verification:
        """Put a run's log to today's code, and say where it would decide otherwise; as ``Runtime.verify``.

        Returns:
            What was found; ``sound`` where that is nothing.

        Raises:
            UnknownRun: there is no such run.
            ModuleError: the reader was given no modules.
            StoreFormatError: a record is damaged or missing.
        """
        return await verify(self, run_id)

    async def export_runs(
        self,
        target: str | os.PathLike[str] | IO[bytes],
        run_ids: Iterable[str] | None = None,
        *,
        definition: Definition[Any, Any, Any] | str | None = None,
        status: str | None = None,
        progress: Callable[[Exported], None] | None = None,
    ) -> Exported:
        """Write runs as lines of JSON, with all that ``Runtime.import_runs`` needs to have the same runs elsewhere.

        Each run is written as of the seq that it has when its turn comes; whoever writes the store may go on.

        Args:
            target: a file's path, which appears when it is complete and on disk (``.gz`` at its end compresses it), or
                something binary with ``write``.
            run_ids: these runs; all without. An export of all has the kept events and the publications' keys too.
            definition, status: of all, those of this definition and with this status only.
            progress: is told now and then how far it is.

        Returns:
            How much was written.

        Raises:
            UnknownRun: a run of these is not there.
            InvalidInput: the file is there already, or the choice cannot be meant.
            OSError: the file cannot be written.
        """
        return await export(self, target, chosen(run_ids, definition, status), SystemClock().now(), progress)

    async def stats(self, *, top: int = 10) -> Stats:
        """What is in the store, and where its bytes are, measured in a worker thread.

        Args:
            top: so many of the largest runs. To find them the whole log is read; with 0 it is not.
        """
        self.view().close()
        return await aside(lambda step: stats(self.path, top=top, step=step))

    async def backup(self, target: str | os.PathLike[str]) -> Backup:
        """Copy the store into a new folder, as of one commit, in a worker thread. Others go on meanwhile.

        Args:
            target: the folder of the copy, which is not there yet. It appears when it is complete and on disk.

        Raises:
            StoreFull: no room for the copy; nothing is left of it.
            StoreError: the target is there already, or its folder does not allow it.
        """
        self.view().close()
        return await aside(lambda step: backup(self.path, target, step=step))

    async def check(self, *run_ids: str) -> Checked:
        """Check the store: every table against the log, in a worker thread. `looms.check` is the same without a loop.

        Args:
            run_ids: those runs alone; the whole store without.

        Raises:
            UnknownRun: there is no such run.
        """
        self.view().close()
        return await aside(lambda step: checked(self, run_ids, self._code, step=step))

    @property
    def code(self) -> Registry | None:
        """Today's code, where modules were given."""
        return self._code

    def view(self) -> View:
        """A short look at the store as of its last commit."""
        if self._open is None or self._environment is None:
            raise RuntimeClosed(f"the reader on {self.path} is not open; use it inside `async with looms.Reader(...)`")
        return self._environment.view()

    def next_commit(self, run_id: str | None = None) -> NextCommit:
        """The next time that there may be something new."""
        return self._followers.next()

    async def _listen(self) -> None:
        """Be told of commits by the host, whenever there is one."""
        while True:
            try:
                async with ring(self.path) as bell:
                    while await bell.rings():
                        self._followers.tell([])
            except OSError:
                pass
            await anyio.sleep(LOOK)
            self._followers.tell([])
