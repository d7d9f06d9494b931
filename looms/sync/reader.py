"""Reading a store that another process may be writing, for code without an event loop."""

import os
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import IO, Any, Self

from looms.care.backup import Backup
from looms.care.checking import Checked
from looms.care.stats import Stats
from looms.outstanding import OutstandingEffect
from looms.reader import Reader
from looms.reducers.definitions import Definition
from looms.summaries import Commit, Exported, RunSummary
from looms.sync.items import Items
from looms.sync.loop import Loop
from looms.sync.run import SyncRunReading
from looms.verifying import Verification


class SyncReader:
    """The reading half of a ``SyncRuntime``, beside whoever writes; made by ``looms.open_reader``. For any thread."""

    def __init__(self, reader: Reader, loop: Loop) -> None:
        self.path = reader.path
        self._reader = reader
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
        """Close it; nobody else notices. Whoever still waits gets ``RuntimeClosed``; a second time is harmless."""
        self._loop.close()

    def run(self, run_id: str) -> SyncRunReading[Any]:
        """The handle of a run, without looking whether it exists; see ``Reader.run``."""
        return SyncRunReading(self._reader.run(run_id), self._loop)

    def runs(
        self,
        *,
        definition: Definition[Any, Any, Any] | str | None = None,
        status: str | None = None,
        limit: int | None = None,
    ) -> Iterator[RunSummary]:
        """The runs, in the order in which they were started; see ``Reader.runs``."""
        return Items(self._loop, self._reader.runs(definition=definition, status=status, limit=limit))

    def commits(self, *, after: int = 0, follow: bool = False) -> Iterator[Commit]:
        """Everything that was recorded; with ``follow`` the next commit is waited for. See ``Reader.commits``."""
        return Items(self._loop, self._reader.commits(after=after, follow=follow))

    def effects(self, run_id: str | None = None) -> Iterator[OutstandingEffect]:
        """The effects that are outstanding; see ``Reader.effects``."""
        return Items(self._loop, self._reader.effects(run_id))

    def verify(self, run_id: str) -> Verification:
        """Put a run's log to today's code, and say where it would decide otherwise; see ``Reader.verify``."""
        return self._loop.call(self._reader.verify, run_id)

    def stats(self, *, top: int = 10) -> Stats:
        """What is in the store, and where its bytes are; see ``Reader.stats``."""
        return self._loop.call(self._reader.stats, top=top)

    def check(self, *run_ids: str) -> Checked:
        """Check the store: every table against the log; see ``Reader.check``."""
        return self._loop.call(self._reader.check, *run_ids)

    def backup(self, target: str | os.PathLike[str]) -> Backup:
        """Copy the store into a new folder, as of one commit; see ``Reader.backup``."""
        return self._loop.call(self._reader.backup, target)

    def export_runs(
        self,
        target: str | os.PathLike[str] | IO[bytes],
        run_ids: Iterable[str] | None = None,
        *,
        definition: Definition[Any, Any, Any] | str | None = None,
        status: str | None = None,
        progress: Callable[[Exported], None] | None = None,
    ) -> Exported:
        """Write runs as lines of JSON; see ``Reader.export_runs``. ``progress`` is told in the loop's thread."""
        return self._loop.call(
            self._reader.export_runs, target, run_ids, definition=definition, status=status, progress=progress
        )
