"""Who waits for the next commit: register first, then look, so no wake-up is lost and nobody polls."""

from collections.abc import Iterable
from weakref import WeakValueDictionary

import anyio


class NextCommit:
    """Something that happens once. It is forgotten when nobody waits for it any more."""

    __slots__ = ("__weakref__", "_done")

    def __init__(self) -> None:
        self._done = anyio.Event()

    def set(self) -> None:
        """It happened."""
        self._done.set()

    async def wait(self) -> None:
        """Return when it has happened."""
        await self._done.wait()


class Followers:
    """Those who wait for a commit, of one run or of any."""

    def __init__(self) -> None:
        self._of_run: WeakValueDictionary[str, NextCommit] = WeakValueDictionary()
        self._of_any = NextCommit()

    def next_of(self, run_id: str) -> NextCommit:
        """The next commit that touches a run."""
        found = self._of_run.get(run_id)
        if found is None:
            found = self._of_run[run_id] = NextCommit()
        return found

    def next(self) -> NextCommit:
        """The next commit."""
        return self._of_any

    def tell(self, run_ids: Iterable[str]) -> None:
        """A commit is done that touched these runs."""
        for run_id in run_ids:
            told = self._of_run.pop(run_id, None)
            if told is not None:
                told.set()
        of_any, self._of_any = self._of_any, NextCommit()
        of_any.set()

    def tell_all(self) -> None:
        """Wake everybody: there will be no more commits."""
        self.tell(list(self._of_run))
