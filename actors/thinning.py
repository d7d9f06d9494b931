"""Thinning by policy: once a day all runs that have snapshots are looked at, and old ones are let go of.

A run that is parked takes no snapshot at which its old ones could be looked at, and a table of all snapshots by age
would be written far more often than read. Looking costs a few rows for each run that has snapshots, page by page.
"""

from collections.abc import Callable

from anyio import lowlevel

from looms.actors import logs
from looms.actors.calls import Call
from looms.actors.clock import Clock, after
from looms.actors.group import Group
from looms.actors.one_off import OneOff
from looms.actors.retention import Retention
from looms.snapshots import thinning
from looms.snapshots.errors import StoreFormatError
from looms.snapshots.store import Store

EVERY = 86_400.0  # seconds between two rounds
TRY_AGAIN = 10.0  # seconds until a run is tried again at which the disk refused
LIMIT = 1_000  # snapshots deleted in a commit


class Thinning:
    """Thins snapshots.

    Args:
        store: the store.
        clock: the time.
        retention: which are thinned.
        add: has a job put into a group.
    """

    def __init__(self, store: Store, clock: Clock, retention: Retention, add: Callable[[OneOff], None]) -> None:
        self._store = store
        self._clock = clock
        self._age = retention.snapshots
        self._every = retention.keep_every
        self._add = add

    async def run(self) -> None:
        """Thin until cancelled."""
        while self._age is not None:
            await self._round(self._clock.now() - int(self._age * 1000))
            await self._clock.sleep_until(after(self._clock, EVERY))

    async def _round(self, before: int) -> None:
        behind, gone = 0, 0
        while numbers := self._some(behind):
            behind = numbers[-1]
            for number in numbers:
                while (count := await self._thin(number, before)) == LIMIT:
                    gone += count
                gone += count
            await lowlevel.checkpoint()
        if gone:
            logs.info("snapshots thinned", snapshots=gone)

    def _some(self, behind: int) -> list[int]:
        with self._store.view() as view:
            return thinning.runs(view, behind)

    async def _thin(self, number: int, before: int) -> int:
        """Delete some snapshots of a run; returns how many."""
        while True:
            try:
                with self._store.view() as view:
                    if not thinning.spare(thinning.all_of(view, number), before, self._every):
                        return 0
                call: Call[int] = Call()
                self._add(OneOff(lambda group: len(thin(group, number, before, self._every)), call, urgent=True))
                return await call.result()
            except StoreFormatError as error:
                logs.warning("snapshots not thinned", run=number, error=str(error))
                return 0
            except Exception as error:  # noqa: BLE001 - whatever it is, they are old enough later too
                logs.warning("snapshots not thinned yet", run=number, error=f"{type(error).__name__}: {error}")
                await self._clock.sleep_until(after(self._clock, TRY_AGAIN))


def thin(group: Group, number: int, before: int, every: int) -> list[thinning.Stored]:
    """Delete some snapshots of a run that can go, and return them; fewer than ``LIMIT`` when there are no more."""
    return thinning.thin(group.reading, group.batch, number, before, every, LIMIT)
