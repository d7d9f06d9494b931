"""What can be asked of a store as a whole, for code without an event loop."""

import os
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import IO, Any, Self

from looms.care.backup import Backup
from looms.care.checking import Checked
from looms.care.stats import Stats
from looms.environment_reading import EnvironmentReading
from looms.outstanding import OutstandingEffect
from looms.reducers.definitions import Definition
from looms.reducers.state import State
from looms.summaries import Commit, Exported, RunSummary
from looms.sync.items import Items
from looms.sync.loop import Loop
from looms.verifying import Verification


class SyncEnvironmentReading:
    """A store, to read until it is closed. For any thread."""

    def __init__(self, opened: EnvironmentReading, loop: Loop) -> None:
        self.path = opened.path
        self.clock = opened.clock
        self._opened = opened
        self._loop = loop

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        # Its handles may be in use still, so it stays open until the end of the main thread.
        if (loop := getattr(self, "_loop", None)) is not None:
            loop.warn_if_open(self)

    def close(self) -> None:
        """Close it. Whoever still waits for an answer, in any thread, gets ``RuntimeClosed``.

        A runtime stops serving: handlers are cancelled and stay outstanding; what was acknowledged is on disk. A second
        time is harmless.
        """
        self._loop.close()

    def runs(
        self,
        *,
        definition: Definition[Any, Any, Any] | str | None = None,
        status: str | None = None,
        limit: int | None = None,
    ) -> Iterator[RunSummary]:
        """The runs, in the order in which they were started; see ``Runtime.runs``."""
        return Items(self._loop, self._opened.runs(definition=definition, status=status, limit=limit))

    def commits(self, *, after: int = 0, follow: bool = False) -> Iterator[Commit]:
        """Everything that was recorded; with ``follow`` the next commit is waited for. See ``Runtime.commits``."""
        return Items(self._loop, self._opened.commits(after=after, follow=follow))

    def effects(self, run_id: str | None = None) -> Iterator[OutstandingEffect]:
        """The effects that are outstanding; see ``Runtime.effects``."""
        return Items(self._loop, self._opened.effects(run_id))

    def list_stores(self, cls: type[State]) -> list[str]:
        """The ids of all stores of a class; see ``Runtime.list_stores``."""
        return self._loop.call(self._opened.list_stores, cls)

    def verify(self, run_id: str) -> Verification:
        """Put a run's log to today's code, and say where it would decide otherwise; see ``Runtime.verify``."""
        return self._loop.call(self._opened.verify, run_id)

    def stats(self, *, top: int = 10) -> Stats:
        """What is in the store, and where its bytes are; see ``Runtime.stats``."""
        return self._loop.call(self._opened.stats, top=top)

    def check(self, *run_ids: str) -> Checked:
        """Check the store: every table against the log; see ``Runtime.check``."""
        return self._loop.call(self._opened.check, *run_ids)

    def backup(self, target: str | os.PathLike[str]) -> Backup:
        """Copy the store into a new folder, as of one commit; see ``Runtime.backup``."""
        return self._loop.call(self._opened.backup, target)

    def export_runs(
        self,
        target: str | os.PathLike[str] | IO[bytes],
        run_ids: Iterable[str] | None = None,
        *,
        definition: Definition[Any, Any, Any] | str | None = None,
        status: str | None = None,
        progress: Callable[[Exported], None] | None = None,
    ) -> Exported:
        """Write runs as lines of JSON; see ``Runtime.export_runs``. ``progress`` is told in the loop's thread."""
        return self._loop.call(
            self._opened.export_runs, target, run_ids, definition=definition, status=status, progress=progress
        )
