"""Watchers: joint turns of callers that have found nothing yet, and are done again when what they have read is written.

Each is found by the keys under which it has read: a write names ranges of keys, and nobody else looks. What waits here
is held by this process alone; what a run waits for is in the store (`looms.snapshots.read_rows`).
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from looms.actors.group import Span


class Watcher(Protocol):
    """What waits. Its place among the others is kept when it has looked once more in vain."""

    since: int

    def refuse(self, error: BaseException) -> None:
        """It will not be done any more."""
        ...


class Watchers:
    """Those who wait, by the run that they have read."""

    def __init__(self) -> None:
        self._of_run: dict[int, list[tuple[bytes, int]]] = {}  # what was read, and whose: the place
        self._waiting: dict[int, tuple[Any, int, Sequence[bytes]]] = {}  # by their places
        self._count = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, watcher: Watcher, number: int, reads: Sequence[bytes]) -> None:
        """Have somebody wait.

        Args:
            watcher: who.
            number: of the run that was read.
            reads: the keys under which it was.
        """
        if not watcher.since:
            self._count += 1
            watcher.since = self._count
        self._waiting[watcher.since] = watcher, number, reads
        keys = self._of_run.setdefault(number, [])
        for read in reads:
            insort(keys, (read, watcher.since))

    def remove(self, watcher: Watcher) -> bool:
        """Somebody waits no more; False when it did not."""
        if watcher.since not in self._waiting:
            return False
        _, number, reads = self._waiting.pop(watcher.since)
        keys = self._of_run[number]
        for read in reads:
            del keys[bisect_left(keys, (read, watcher.since))]
        if not keys:
            del self._of_run[number]
        return True

    def touched(self, number: int, spans: Iterable[Span]) -> list[Any]:
        """Take out those who have read something in these ranges, in the order in which they came."""
        keys = self._of_run.get(number)
        if not keys:
            return []
        places: set[int] = set()
        for start, end in spans:
            places.update(place for _, place in keys[bisect_left(keys, (start,)) : bisect_left(keys, (end,))])
        found = [self._waiting[place][0] for place in sorted(places)]
        for watcher in found:
            self.remove(watcher)
        return found

    def refuse_all(self, error: BaseException) -> None:
        """Nothing will be written any more."""
        for watcher, _, _ in list(self._waiting.values()):
            self.remove(watcher)
            watcher.refuse(error)
