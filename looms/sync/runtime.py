"""A store with the host that serves it, for code without an event loop."""

import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import IO, Any, Literal, TypeVar, overload

from looms.actors.publishing import Published
from looms.actors.service import Receipt
from looms.bulk import Addressed
from looms.reducers.definitions import Definition
from looms.reducers.errors import LoomsError
from looms.reducers.events import Event
from looms.reducers.state import State
from looms.runtime import Runtime
from looms.summaries import Imported, Pruned
from looms.sync.environment_reading import SyncEnvironmentReading
from looms.sync.loop import Loop
from looms.sync.run import SyncRun
from looms.sync.store import SyncStore

S = TypeVar("S", bound=State)
I = TypeVar("I")  # noqa: E741 - the input
O = TypeVar("O")  # noqa: E741 - the output


class SyncRuntime(SyncEnvironmentReading):
    """Runs in a store, served until it is closed; made by ``looms.open``. As ``Runtime`` without ``await``.

    It may be called from any thread, from several at once, and from one in which an event loop is running (a notebook),
    which then stands still for that long.
    """

    def __init__(self, runtime: Runtime, loop: Loop) -> None:
        super().__init__(runtime, loop)
        self._runtime = runtime

    @overload
    def start(
        self,
        definition: Definition[S, None, O],
        *,
        run_id: str | None = None,
        exists: Literal["error", "return"] = "error",
    ) -> SyncRun[S, O]: ...
    @overload
    def start(
        self,
        definition: Definition[S, I, O],
        input: I,
        *,
        run_id: str | None = None,
        exists: Literal["error", "return"] = "error",
    ) -> SyncRun[S, O]: ...
    def start(
        self,
        definition: Definition[Any, Any, Any],
        input: Any = None,
        *,
        run_id: str | None = None,
        exists: Literal["error", "return"] = "error",
    ) -> SyncRun[Any, Any]:
        """Start a run, and return its handle once it is on disk; see ``Runtime.start``."""
        run = self._loop.call(self._runtime.start, definition, input, run_id=run_id, exists=exists)
        return SyncRun(run, self._loop)

    def run(self, run_id: str) -> SyncRun[Any, Any]:
        """The handle of a run, without looking whether it exists; see ``Runtime.run``."""
        return SyncRun(self._runtime.run(run_id), self._loop)

    def store(self, cls: type[S], id: str, initial: S | None = None) -> SyncStore[S]:
        """The handle of a store, without looking whether it exists; see ``Runtime.store``."""
        return SyncStore(self._runtime.store(cls, id, initial), self._loop)

    def delete_store(self, cls: type[State], id: str) -> bool:
        """Delete a store, whatever it holds; see ``Runtime.delete_store``."""
        return self._loop.call(self._runtime.delete_store, cls, id)

    @overload
    def signal_many(self, signals: Iterable[Addressed], *, errors: Literal["raise"] = "raise") -> list[Receipt]: ...
    @overload
    def signal_many(self, signals: Iterable[Addressed], *, errors: Literal["return"]) -> list[Receipt | LoomsError]: ...
    def signal_many(self, signals: Iterable[Addressed], *, errors: Literal["raise", "return"] = "raise") -> list[Any]:
        """Send many signals in few commits; see ``Runtime.signal_many``. They are gone through in the loop's thread."""
        ask: Callable[..., Awaitable[list[Any]]] = self._runtime.signal_many
        return self._loop.call(ask, signals, errors=errors)

    def publish(self, event: Event, *, key: str | None = None, retain: float | None = None) -> Published:
        """Give an event to every run that waits for it, all in one commit; see ``Runtime.publish``."""
        return self._loop.call(self._runtime.publish, event, key=key, retain=retain)

    def event(self, type: str, payload: Any) -> Event:
        """The event that a name and some plain data say; see ``Runtime.event``."""
        return self._runtime.event(type, payload)

    def prune(
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
        """Let go of what is old, now; see ``Runtime.prune``. ``progress`` is told in the loop's thread."""
        return self._loop.call(
            self._runtime.prune,
            finished_older=finished_older,
            archive=archive,
            snapshots_older=snapshots_older,
            keep_every=keep_every,
            definition=definition,
            dry_run=dry_run,
            progress=progress,
        )

    def import_runs(
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
        """Bring in what was exported; see ``Runtime.import_runs``. ``progress`` is told in the loop's thread."""
        return self._loop.call(
            self._runtime.import_runs,
            source,
            rename=rename,
            prefix=prefix,
            new_ids=new_ids,
            effects=effects,
            on_conflict=on_conflict,
            progress=progress,
        )
