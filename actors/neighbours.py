"""What others do to a store beside its host: who reads for so long that the file grows, and who removes its files.

Nobody can be thrown out: whoever reads an old state must find its pages, or would read something else. So the host says
who it is, and somebody ends that process. (What processes had that died is cleared away every few commits.)
"""

import os

import anyio

from looms.actors import logs
from looms.snapshots import folder
from looms.snapshots.store import Store

LOOK = 60.0  # seconds between looks: a view is there for milliseconds, so one that is met twice is stuck

View = tuple[int, str, int | None]  # the process, the thread, the state


class Neighbours:
    """Looks now and then at who else is there.

    Args:
        store: the store.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._file = folder.identity(store.path)
        self._met: set[View] = set()
        self._told: set[View] = set()
        self._in_place = True

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            await anyio.sleep(LOOK)
            self._look_at_readers()
            self._look_at_files()

    def _look_at_readers(self) -> None:
        met: set[View] = set()
        for slot in self._store.environment.readers():
            view = (slot.pid, slot.thread, slot.state)
            if slot.behind == 0 or slot.pid == os.getpid():
                continue
            met.add(view)
            if view in self._met and view not in self._told:
                self._told.add(view)
                reason = f"process {slot.pid} reads the state of {slot.behind} transactions ago: end it, or wait for it"
                logs.warning("the file grows while somebody reads", path=self._store.path, pid=slot.pid, reason=reason)
        self._met = met
        self._told &= met

    def _look_at_files(self) -> None:
        in_place = folder.identity(self._store.path) == self._file and folder.has_lock_file(self._store.path)
        if self._in_place and not in_place:
            reason = "what is committed from now on may be lost with the host: stop it, and see to the folder"
            logs.warning("files of the store were removed or replaced", path=self._store.path, reason=reason)
        self._in_place = in_place
