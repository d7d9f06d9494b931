"""What can be asked of a store as a whole, whether a runtime writes it or a reader looks on."""

import os
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import IO, Any

from anyio import lowlevel

from looms.actors.clock import Clock
from looms.actors.followers import NextCommit
from looms.care.aside import aside
from looms.care.backup import Backup, backup
from looms.care.checking import Checked, checked
from looms.care.stats import Stats, stats
from looms.commits import read_commits
from looms.exporting import chosen, export
from looms.listing import list_runs, list_stores
from looms.outstanding import OutstandingEffect, list_effects
from looms.reducers.definitions import Definition
from looms.reducers.givens import path as given_path
from looms.reducers.registry import Registry
from looms.reducers.state import State
from looms.snapshots.environment import Environment
from looms.snapshots.view import View
from looms.stores.definition import store_of
from looms.summaries import Commit, Exported, RunSummary
from looms.verifying import Verification, verify


class EnvironmentReading(ABC):
    """A store in a folder, to read.

    Attributes:
        path: the folder.
        clock: where the time comes from.
    """

    def __init__(self, path: str | os.PathLike[str], clock: Clock) -> None:
        self.path = given_path("path", path)
        self.clock = clock

    def looking(self, run_id: str) -> AbstractContextManager[None]:
        """A block in which a run's past is put to code. Who only reads keeps nobody waiting, so nobody is told."""
        return nullcontext()

    def runs(
        self,
        *,
        definition: Definition[Any, Any, Any] | str | None = None,
        status: str | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[RunSummary]:
        """The runs, in the order in which they were started.

        Args:
            definition: those of this definition only.
            status: those with this status only.
            limit: at most so many.

        Raises:
            InvalidInput: a status that there is not.
        """
        return list_runs(self, definition, status, limit)

    def commits(self, *, after: int = 0, follow: bool = False) -> AsyncIterator[Commit]:
        """Everything that was recorded, commit by commit.

        Args:
            after: begin behind this number.
            follow: go on with the commits from now on.
        """
        return read_commits(self, after, follow)

    def effects(self, run_id: str | None = None) -> AsyncIterator[OutstandingEffect]:
        """The effects that are outstanding, by run and then oldest first: attempts, last error, next time.

        Errors are raised by the iteration, but for an id that is none.

        Args:
            run_id: those of this run; all without.

        Raises:
            UnknownRun: there is no such run.
            InvalidInput: no run could have that id.
        """
        return list_effects(self, run_id)

    async def list_stores(self, cls: type[State]) -> list[str]:
        """The ids of all stores of a class, in ascending order of code points.

        Args:
            cls: the class of their states.

        Raises:
            TypeError: the class is no store.
        """
        await lowlevel.checkpoint()
        with self.view() as reading:
            return list_stores(reading, store_of(cls))

    async def verify(self, run_id: str) -> Verification:
        """Put a run's log to today's code, record by record, and say where it would decide otherwise.

        Nothing is written. A run that goes on meanwhile is verified up to where it was.

        Args:
            run_id: the run.

        Returns:
            What was found; ``sound`` where that is nothing. ``ok`` says only that each decision would be the same.

        Raises:
            UnknownRun: there is no such run.
            ModuleError: there are no modules, as of a reader that was given none.
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
        return await export(self, target, chosen(run_ids, definition, status), self.clock.now(), progress)

    async def stats(self, *, top: int = 10) -> Stats:
        """What is in the store, and where its bytes are, measured in a worker thread.

        Args:
            top: so many of the largest runs. To find them the whole log is read; with 0 it is not.
        """
        self._environment()
        return await aside(lambda step: stats(self.path, top=top, step=step))

    async def backup(self, target: str | os.PathLike[str]) -> Backup:
        """Copy the store into a new folder, as of one commit, in a worker thread. Others go on meanwhile.

        Args:
            target: the folder of the copy, which is not there yet. It appears when it is complete and on disk.

        Raises:
            StoreFull: no room for the copy; nothing is left of it.
            StoreError: the target is there already, or its folder does not allow it.
        """
        self._environment()
        return await aside(lambda step: backup(self.path, target, step=step))

    async def check(self, *run_ids: str) -> Checked:
        """Check the store: every table against the log, in a worker thread. `looms.check` is the same without a loop.

        Args:
            run_ids: those runs alone; the whole store without.

        Raises:
            UnknownRun: there is no such run.
        """
        environment = self._environment()
        return await aside(lambda step: checked(environment, run_ids, self.code, step=step))

    def view(self) -> View:
        """A short look at the store as of its last commit."""
        return self._environment().view()

    @property
    @abstractmethod
    def code(self) -> Registry | None:
        """Today's code, where modules were given."""

    @abstractmethod
    def next_commit(self, run_id: str | None = None) -> NextCommit:
        """The next commit, or the next that touches a run: the next time that there may be something new."""

    @abstractmethod
    def _environment(self) -> Environment:
        """The open store.

        Raises:
            RuntimeClosed: it is not open.
        """
