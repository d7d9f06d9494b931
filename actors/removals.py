"""Removals: the rows of deleted runs go bit by bit, so that no commit is held up by a long log."""

from collections.abc import Callable
from typing import Any

import anyio

from looms.actors import logs
from looms.actors.calls import Call
from looms.actors.clock import Clock, after
from looms.actors.group import Group
from looms.actors.one_off import OneOff
from looms.snapshots import removal
from looms.snapshots.store import Store

TRY_AGAIN = 1.0  # seconds


class Removals:
    """Removes what is left of deleted runs.

    Args:
        store: the store.
        clock: the time.
        add: has a job put into a group.

    Attributes:
        kept: the numbers of runs that are hidden as deleted ones are, since they are being copied; by who asked for it.
    """

    def __init__(self, store: Store, clock: Clock, add: Callable[[OneOff], None]) -> None:
        self._store = store
        self._clock = clock
        self._add = add
        self._waiting: list[OneOff] = []
        self._more = anyio.Event()
        self._more.set()  # a removal may have been cut off by the end of the last host
        self.kept: dict[Call[Any], int] = {}

    def begin(self) -> None:
        """A run was deleted, or what was copied of one is of no use."""
        self._more.set()

    async def run(self) -> None:
        """Remove what there is until cancelled."""
        while True:
            await self._more.wait()
            self._more = anyio.Event()
            while numbers := self._pending():
                if not await self._step(numbers):  # perhaps because of one of them
                    for number in numbers:
                        if not await self._step([number]):
                            await self._clock.sleep_until(after(self._clock, TRY_AGAIN))
            waiting, self._waiting = self._waiting, []
            for job in waiting:
                self._add(job)

    def when_done(self, job: OneOff) -> None:
        """Have a job put into a group when nothing is left of all that was deleted so far."""
        self._waiting.append(job)
        self._more.set()

    def stop(self, error: Exception) -> None:
        """Refuse the jobs that wait, after ``run`` has ended."""
        for job in self._waiting:
            job.refuse(error)

    def _pending(self) -> list[int]:
        with self._store.view() as view:
            pending = removal.pending(view, 256 + len(self.kept))
        return [number for number in pending if number not in self.kept.values()]

    async def _step(self, numbers: list[int]) -> bool:
        """Remove some rows of these runs; False when that could not be done."""

        def step(group: Group) -> None:
            kept = set(self.kept.values())
            now = [number for number in numbers if number not in kept and removal.is_pending(group.reading, number)]
            with self._store.view() as view:
                removal.steps(view, group.batch, now)

        call: Call[None] = Call()
        self._add(OneOff(step, call, urgent=True))
        try:
            await call.result()
        except Exception as error:  # noqa: BLE001 - whatever it is, what is left is only not removed yet
            logs.warning("not removed yet", runs=numbers[:10], error=f"{type(error).__name__}: {error}")
            return False
        return True
