"""Reading a store that another process may be writing, for code without an event loop."""

from typing import Any, TypeVar

from looms.reader import Reader
from looms.reducers.state import State
from looms.snapshots.stuck import Stuck
from looms.sync.environment_reading import SyncEnvironmentReading
from looms.sync.loop import Loop
from looms.sync.run import SyncRunReading
from looms.sync.store import SyncStoreReading

S = TypeVar("S", bound=State)


class SyncReader(SyncEnvironmentReading):
    """The reading half of a ``SyncRuntime``, beside whoever writes; made by ``looms.open_reader``. For any thread."""

    def __init__(self, reader: Reader, loop: Loop) -> None:
        super().__init__(reader, loop)
        self._reader = reader

    def run(self, run_id: str) -> SyncRunReading[Any]:
        """The handle of a run, without looking whether it exists; see ``Reader.run``."""
        return SyncRunReading(self._reader.run(run_id), self._loop)

    def store(self, cls: type[S], id: str) -> SyncStoreReading[S]:
        """The handle of a store, without looking whether it exists; see ``Reader.store``."""
        return SyncStoreReading(self._reader.store(cls, id), self._loop)

    def stuck(self) -> Stuck | None:
        """What the store's host is stuck in at present; see ``Reader.stuck``."""
        return self._loop.call(self._reader.stuck)
