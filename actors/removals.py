"""Removals: the rows of deleted runs go bit by bit, so that no commit is held up by a long log."""

from collections.abc import Callable
from functools import partial
from typing import Any

import anyio
import anyio.from_thread

from looms.actors import logs
from looms.actors.asides import Asides
from looms.actors.calls import Call
from looms.actors.clock import Clock, after
from looms.actors.deleting import delete_rows
from looms.actors.group import Group
from looms.actors.one_off import OneOff
from looms.snapshots import removal, scattered
from looms.snapshots.errors import StoreFull
from looms.snapshots.store import Store

TRY_AGAIN = 1.0  # seconds
FOUND = 100_000  # rows of a discarded run that are looked for at once
FEWER = 1_000, 100, 10  # rows that are deleted in a commit: as many as a full store has room for


class Removals:
    """Removes what is left of deleted runs.

    Args:
        store: the store.
        clock: the time.
        asides: where rows are looked for.
        add: has a job put into a group.

    Attributes:
        kept: the numbers of runs that are hidden as deleted ones are, since they are being copied; by who asked for it.
    """

    def __init__(self, store: Store, clock: Clock, asides: Asides, add: Callable[[OneOff], None]) -> None:
        self._store = store
        self._clock = clock
        self._asides = asides
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
                alone = self._discarded(numbers)
                together = [number for number in numbers if number not in alone]
                if together and not await self._step(together):  # perhaps because of one of them, which is damaged
                    alone += [number for number in together if not await self._step([number])]
                for number in alone:
                    if not await self._discard(number):
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

    def _discarded(self, numbers: list[int]) -> list[int]:
        with self._store.view() as view:
            return [number for number in numbers if removal.is_discarded(view, number)]

    async def _step(self, numbers: list[int]) -> bool:
        """Remove some rows of these runs; False when that could not be done, and has to be tried otherwise."""

        def step(limit: int, group: Group, now: list[int]) -> None:
            with self._store.view() as view:
                removal.steps(view, group.batch, now, limit)

        for limit in FEWER:
            try:
                await self._change(numbers, partial(step, limit))
            except StoreFull:
                continue  # rows lie on many pages, and each is written anew before the old one goes: so fewer at once
            except Exception as error:  # noqa: BLE001 - whatever it is, what is left is only not removed yet
                logs.debug("removed otherwise", runs=numbers[:10], error=f"{type(error).__name__}: {error}")
                return False
            return True
        return False

    async def _discard(self, number: int) -> bool:
        """Remove some rows of a run that may be anywhere; False when that could not be done."""
        try:
            rows = await self._asides.call(scattered.find, self._store, number, FOUND, _heed)
            await self._delete(number, rows)
            if len(rows) < FOUND:
                await self._change([number], _finish)
        except Exception as error:  # noqa: BLE001 - whatever it is, what is left is only not removed yet
            logs.warning("not removed yet", runs=[number], error=f"{type(error).__name__}: {error}")
            return False
        return True

    async def _delete(self, number: int, rows: list[scattered.Row]) -> None:
        """Delete these rows of a run; in a full store fewer at once."""
        at, fewer = 0, list(FEWER)
        while at < len(rows):
            try:
                await self._change([number], partial(_delete, rows[at : at + fewer[0]]))
            except StoreFull:
                if len(fewer) == 1:
                    raise
                del fewer[0]
            else:
                at += fewer[0]

    async def _change(self, numbers: list[int], do: Callable[[Group, list[int]], Any]) -> None:
        """Do something in a commit with those of these runs that are still to be removed."""

        def change(group: Group) -> None:
            kept = set(self.kept.values())
            do(group, [one for one in numbers if one not in kept and removal.is_pending(group.reading, one)])

        call: Call[None] = Call()
        self._add(OneOff(change, call, urgent=True))
        await call.result()


def _delete(rows: list[scattered.Row], group: Group, now: list[int]) -> None:
    for number in now:
        delete_rows(group, number, rows)


def _finish(group: Group, now: list[int]) -> None:
    for number in now:
        removal.finish(group.batch, number)


def _heed(_: int) -> None:
    """End the search of a worker thread when the host ends."""
    anyio.from_thread.check_cancelled()
