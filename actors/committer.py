"""The committer: one task that puts groups together and commits them, one after the other.

While a group is written by a worker thread, the loop answers the callers of the group before, and what they send next
gathers for the group after: under load the groups grow, and each flush to disk is shared by more turns.
"""

from collections import deque
from collections.abc import Callable
from contextlib import closing
from functools import partial
from time import perf_counter
from typing import Any

import anyio
from anyio import lowlevel

from looms.actors.calls import Call
from looms.actors.group import Group
from looms.actors.jobs import Job
from looms.actors.watchdog import Watchdog
from looms.actors.writer import Writing
from looms.snapshots.errors import StoreFailed
from looms.snapshots.store import Store

MOST_RECORDS = 1_024  # in a group, about: a larger one keeps the loop and the callers waiting
LONGEST = 0.030  # seconds that a group is put together for, about: whoever is in it waits for its commit
SLICE = 0.002  # seconds of planning, or of answering, before the loop may serve others
ANSWERS = 64  # given before the loop may serve those who got them: each wakes a task


class Committer:
    """Commits what comes, in groups.

    Args:
        store: the store.
        writer: makes what writes to it, for as long as this runs.
        new_group: makes an empty group over the store's last commit.
        next_job: gives the turn of a cell that has work, or None.
        watchdog: is told which job is being planned.
        took: is told how many seconds a job took to be planned.
        committed: is told of each group that is committed.
        failed: is told of each group that is taken back, of the error, and of the job that was refused, if one was.
    """

    def __init__(
        self,
        store: Store,
        writer: Callable[[], Writing],
        new_group: Callable[[], Group],
        next_job: Callable[[], Job | None],
        watchdog: Watchdog,
        took: Callable[[Job, float], None],
        committed: Callable[[Group], None],
        failed: Callable[[Group, Exception, Job | None], None],
    ) -> None:
        self._store = store
        self._writer = writer
        self._new_group = new_group
        self._next_job = next_job
        self._watchdog = watchdog
        self._took = took
        self._committed = committed
        self._failed = failed
        self._jobs: deque[Job] = deque()
        self._alone = 0  # how many of the next jobs are to be committed each by itself
        self._began: float | None = None  # when the present group got its first job
        self._work = anyio.Event()
        self._idle = anyio.Event()
        self._idle.set()
        self._over = anyio.Event()

    def add(self, job: Job) -> None:
        """Have a job put into the next group."""
        self._jobs.append(job)
        self.wake()

    def wake(self) -> None:
        """There is work."""
        if self._idle.is_set():
            self._idle = anyio.Event()
        self._work.set()

    @property
    def idle(self) -> bool:
        """Whether there is nothing to do."""
        return self._idle.is_set()

    def gathered_for(self) -> float:
        """How many seconds the present group has been put together for; 0 while there is nothing in it."""
        return 0.0 if self._began is None else perf_counter() - self._began

    async def until_idle(self) -> None:
        """Return when there is nothing to do."""
        while not self._idle.is_set():
            await self._idle.wait()

    async def run(self) -> None:
        """Commit what comes until cancelled; what is being written then is written, and its callers are answered.

        Raises:
            StoreFailed: the disk failed. Who waits was told so.
        """
        try:
            with closing(self._writer()) as writer:
                while True:
                    await self._work.wait()
                    self._work = anyio.Event()
                    while await self._commit_next(writer):
                        await lowlevel.checkpoint()
                    if not self._work.is_set():
                        self._idle.set()
        finally:
            self._over.set()

    async def settled(self, call: Call[Any]) -> None:
        """Return when a call has its answer, or nothing will be committed any more."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._give_up, tasks.cancel_scope)
            await call.settled()
            tasks.cancel_scope.cancel()

    async def _give_up(self, waiting: anyio.CancelScope) -> None:
        await self._over.wait()
        waiting.cancel()

    def stop(self, error: Exception) -> None:
        """Refuse what was not committed, after ``run`` has ended."""
        while (job := self._take()) is not None:
            job.refuse(error)
        self._idle.set()

    def _take(self) -> Job | None:
        return self._jobs.popleft() if self._jobs else self._next_job()

    async def _commit_next(self, writer: Writing) -> bool:
        """Put a group together and commit it; False when there was nothing to do."""
        jobs: list[Job] = []
        group = self._new_group()
        try:
            await self._gather(group, jobs)
            group.close()
            if not jobs:
                return False
            commit = partial(self._store.commit, group.batch, urgent=all(job.urgent for job in jobs))
            if not group.batch.empty:
                await writer.write(commit)
        except StoreFailed as error:
            await self._end_with(group, jobs, error)
            raise
        except Exception as error:  # noqa: BLE001 - whatever went wrong, whoever waits must hear of it
            group.take_back()
            self._failed(group, error, self._try_apart(jobs, error))
            return True
        except BaseException:
            group.take_back()
            self._jobs.extendleft(reversed(jobs))
            raise
        finally:
            group.close()
        self._alone = max(0, self._alone - 1)
        group.committed()
        self._committed(group)
        await self._answer(group)
        return True

    async def _end_with(self, group: Group, jobs: list[Job], error: StoreFailed) -> None:
        """Tell whoever waits that the disk failed: nothing more is committed, and the host is over."""
        group.take_back()
        self._failed(group, error, None)
        self._jobs.extendleft(reversed(jobs))
        self.stop(error)
        with anyio.CancelScope(shield=True):
            await lowlevel.checkpoint()  # they hear of it before they are cancelled

    async def _gather(self, group: Group, jobs: list[Job]) -> None:
        """Put what there is into a group, up to a size and a time."""
        began = paused = perf_counter()
        self._began = None
        watchdog = self._watchdog
        while group.records < MOST_RECORDS and (job := self._take()) is not None:
            jobs.append(job)
            before = watchdog.begin(job)
            try:
                job(group)
            finally:
                watchdog.what = None
            self._began = began
            now = perf_counter()
            self._took(job, now - before)
            if self._alone or now - began > LONGEST:
                return
            if now - paused > SLICE:
                await lowlevel.checkpoint()
                paused = perf_counter()

    async def _answer(self, group: Group) -> None:
        """Answer the callers of a group that is on disk, some at a time."""
        with anyio.CancelScope(shield=True):
            for first in range(0, len(group.answers), ANSWERS):
                if first:
                    await lowlevel.checkpoint()
                for answer in group.answers[first : first + ANSWERS]:
                    answer.give()
            group.answers.clear()  # an error holds the frames that it went through, and so this group

    def _try_apart(self, jobs: list[Job], error: Exception) -> Job | None:
        """A group failed: of several jobs each is tried by itself; a single one is refused, and returned."""
        if len(jobs) > 1:
            self._alone = len(jobs)
            self._jobs.extendleft(reversed(jobs))
            return None
        for job in jobs:
            self._alone = max(0, self._alone - 1)
            job.refuse(error)
            return job
        return None
