"""Reading a store that another process may be writing, for code without an event loop."""

from typing import Any

from looms.reader import Reader
from looms.snapshots.stuck import Stuck
from looms.sync.loop import Loop
from looms.sync.run import SyncRunReading
from looms.sync.store_reading import SyncStoreReading


class SyncReader(SyncStoreReading):
    """The reading half of a ``SyncRuntime``, beside whoever writes; made by ``looms.open_reader``. For any thread."""

    def __init__(self, reader: Reader, loop: Loop) -> None:
        super().__init__(reader, loop)
        self._reader = reader

    def run(self, run_id: str) -> SyncRunReading[Any]:
        """The handle of a run, without looking whether it exists; see ``Reader.run``."""
        return SyncRunReading(self._reader.run(run_id), self._loop)

    def stuck(self) -> Stuck | None:
        """What the store's host is stuck in at present; see ``Reader.stuck``."""
        return self._loop.call(self._reader.stuck)
