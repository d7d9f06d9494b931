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
    """Those who wait for a commit, of one run or of any, or for the one in which a run comes to rest."""

    def __init__(self) -> None:
        self._of_run: WeakValueDictionary[str, NextCommit] = WeakValueDictionary()
        self._resting: WeakValueDictionary[str, NextCommit] = WeakValueDictionary()
        self._of_any = NextCommit()

    def next_of(self, run_id: str) -> NextCommit:
        """The next commit that touches a run."""
        return _one(self._of_run, run_id)

    def rest_of(self, run_id: str) -> NextCommit:
        """The next commit after which a run is over, suspended or gone: the others wake nobody who waits for this."""
        return _one(self._resting, run_id)

    @property
    def rest_awaited(self) -> bool:
        """Whether anybody waits for a run to come to rest."""
        return bool(self._resting)

    def next(self) -> NextCommit:
        """The next commit."""
        return self._of_any

    def tell(self, run_ids: Iterable[str]) -> None:
        """A commit is done that touched these runs."""
        _tell(self._of_run, run_ids)
        of_any, self._of_any = self._of_any, NextCommit()
        of_any.set()

    def tell_rest(self, run_ids: Iterable[str]) -> None:
        """A commit is done after which these runs are over, suspended or gone."""
        _tell(self._resting, run_ids)

    def tell_all(self) -> None:
        """Wake everybody: there will be no more commits."""
        self.tell(list(self._of_run))
        self.tell_rest(list(self._resting))


def _one(waiting: WeakValueDictionary[str, NextCommit], run_id: str) -> NextCommit:
    found = waiting.get(run_id)
    if found is None:
        found = waiting[run_id] = NextCommit()
    return found


def _tell(waiting: WeakValueDictionary[str, NextCommit], run_ids: Iterable[str]) -> None:
    for run_id in run_ids if waiting else ():
        told = waiting.pop(run_id, None)
        if told is not None:
            told.set()
