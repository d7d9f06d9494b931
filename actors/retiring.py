"""Retiring: runs that are over are deleted when they are old enough, without anybody asking.

Runs stand in a table by when they ended, so the next one to go is its first row: nothing is scanned, and where nothing
is old enough nobody looks until something is. What has come of age goes together, some runs a commit.
"""

import math
from collections.abc import Callable

import anyio

from looms.actors import logs
from looms.actors.calls import Call
from looms.actors.clock import Clock, after
from looms.actors.group import Group
from looms.actors.one_off import OneOff
from looms.actors.retention import Retention
from looms.reducers.moments import LAST
from looms.snapshots import heads, removal
from looms.snapshots.errors import StoreFormatError, StoreFull
from looms.snapshots.store import Store

RUNS = 64  # deleted in a commit
EVERY = 60.0  # seconds between two rounds, at least: what ends second by second does not go commit by commit
TRY_AGAIN = 10.0  # seconds until a round is tried again that the disk refused


class Retiring:
    """Deletes what is old enough.

    Args:
        store: the store.
        clock: the time.
        retention: how long runs are kept.
        add: has a job put into a group.
    """

    def __init__(self, store: Store, clock: Clock, retention: Retention, add: Callable[[OneOff], None]) -> None:
        self._store = store
        self._clock = clock
        self._retention = retention
        self._add = add
        self._ages = {status: retention.age(status) for status in heads.FINISHED}
        self._aside: set[int] = set()  # that are damaged: nobody can delete them
        self._next: int | None = None
        self._rest = 0  # until then nobody looks again
        self._sooner = anyio.Event()

    def note(self, status: str, ended: int) -> None:
        """A run ended so then (milliseconds since 1970)."""
        due = self._due(status, ended)
        if due is not None and (self._next is None or due < self._next):
            self._next = due
            self._sooner.set()

    async def run(self) -> None:
        """Delete what is old enough until cancelled."""
        while True:
            self._sooner = anyio.Event()
            old, self._next = self._look()
            if old:
                await self._delete(old)
            elif self._next is None:
                await self._sooner.wait()
            else:
                await self._until(self._next)

    def _look(self) -> tuple[list[int], int | None]:
        """Some runs that are old enough, and when the first is that is not yet."""
        now = self._clock.now()
        old: list[tuple[int, int]] = []
        dues: list[int | None] = []
        most = RUNS + len(self._aside)
        with self._store.view() as view:
            for status, age in self._ages.items():
                if age == math.inf:
                    continue
                old += heads.ended(view, status, now - math.ceil(age * 1000), limit=most)
                found = heads.ended(view, status, limit=most)
                dues += [self._due(status, ended) for ended, number in found if number not in self._aside][:1]
        numbers = [number for _, number in sorted(old) if number not in self._aside]
        return numbers[:RUNS], min((due for due in dues if due is not None), default=None)

    def _due(self, status: str, ended: int) -> int | None:
        age = self._ages.get(status, math.inf)
        return None if age == math.inf else min(max(ended, 0) + math.ceil(age * 1000), LAST)

    async def _until(self, due: int) -> None:
        """Return when that moment has come, or one before it that was noted meanwhile."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._sleep, max(due, self._rest), tasks.cancel_scope)
            await self._sooner.wait()
            tasks.cancel_scope.cancel()

    async def _sleep(self, due: int, scope: anyio.CancelScope) -> None:
        await self._clock.sleep_until(due)
        scope.cancel()

    async def _delete(self, numbers: list[int]) -> None:
        call: Call[tuple[int, list[int]]] = Call()
        self._add(OneOff(lambda group: delete(group, numbers), call, urgent=True))
        try:
            count, damaged = await call.result()
        except StoreFull as error:
            if len(numbers) == 1:
                await self._put_off(numbers, error)
            else:  # in a full store fewer at once; the others are found again
                await self._delete(numbers[: max(len(numbers) // 16, 1)])
        except Exception as error:  # noqa: BLE001 - whatever it is, they are old enough later too
            await self._put_off(numbers, error)
        else:
            self._aside.update(damaged)
            self._rest = after(self._clock, EVERY)
            logs.info("runs deleted", runs=count, damaged=len(damaged))

    async def _put_off(self, numbers: list[int], error: Exception) -> None:
        logs.warning("not deleted yet", runs=len(numbers), error=f"{type(error).__name__}: {error}")
        await self._clock.sleep_until(after(self._clock, TRY_AGAIN))


def delete(group: Group, numbers: list[int]) -> tuple[int, list[int]]:
    """Delete runs by their numbers, of those that are there and over.

    Returns:
        How many these are, and which of the numbers are of runs that are too damaged to be deleted.
    """
    count, damaged = 0, []
    for number in numbers:
        try:
            head = heads.head(group.reading, number)
        except StoreFormatError:
            damaged.append(number)
            continue
        if head is not None and head.status in heads.FINISHED:
            removal.begin(group.batch, head)
            group.remove(head.run_id)
            count += 1
    return count, damaged
