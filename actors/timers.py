"""Timers: one task that sleeps until the first row of the table is due, and posts what is due to its cells.

Nothing is scanned when a host starts, and nothing of a timer is in memory: however many there are, one moment is known.
"""

from collections.abc import Callable

import anyio
import msgspec

from looms.actors import logs
from looms.actors.calls import Call
from looms.actors.cell import Posted, Round
from looms.actors.clock import Clock, after
from looms.actors.group import Group
from looms.actors.index_rows import GRACE
from looms.actors.jobs import Job
from looms.actors.one_off import OneOff
from looms.actors.retained import RUNTIME, drop
from looms.reducers.items import GraceOver, TimerFired
from looms.snapshots import heads, timers
from looms.snapshots.errors import StoreFormatError
from looms.snapshots.store import Store
from looms.snapshots.timers import TimerKey

AT_ONCE = 1_000  # due timers posted together
TRY_AGAIN = 1.0  # seconds until a disk that takes nothing is tried again
ASIDE = 10.0  # seconds until a timer is tried again that alone cannot be written


class Lapse(msgspec.Struct, frozen=True):
    """A job: the time of a kept event is over."""

    n: int
    call: Call[object]
    urgent: bool = True

    def __call__(self, group: Group) -> None:
        """Put it into a group."""
        drop(group, self.n)
        group.answer(self.call)

    def refuse(self, error: BaseException) -> None:
        """It will lapse later."""
        self.call.refuse(error)


class Timers:
    """Fires what is due.

    Args:
        store: the store.
        clock: the time.
        post: gives an item to the cell of a run.
        add: has a job put into a group.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        post: Callable[[str, Posted], None],
        add: Callable[[Job], None],
    ) -> None:
        self._store = store
        self._clock = clock
        self._post = post
        self._add = add
        self._next: int | None = None
        self._sooner = anyio.Event()
        self._aside: dict[TimerKey, int] = {}  # that cannot be written though others can: when they are tried again

    def set(self, due: int) -> None:
        """A timer was set that is due then."""
        if self._next is None or due < self._next:
            self._next = due
            self._sooner.set()

    async def run(self) -> None:
        """Fire what is due until cancelled."""
        while True:
            now = self._clock.now()
            self._aside = {key: until for key, until in self._aside.items() if until > now}
            with self._store.view() as view:
                due = timers.due(view, now, AT_ONCE + len(self._aside))
                later = timers.first_due(view, now)
            self._next = min((at for at in (later, *self._aside.values()) if at is not None), default=None)
            self._sooner = anyio.Event()
            due = [key for key in due if key not in self._aside]
            if due:
                await self._fire(due)
            else:
                await self._sleep(self._next)

    async def _sleep(self, due: int | None) -> None:
        """Return when that moment has come, or when a timer was set that is due before it."""
        async with anyio.create_task_group() as tasks:
            if due is not None:
                tasks.start_soon(self._until, due, tasks.cancel_scope)
            await self._sooner.wait()
            tasks.cancel_scope.cancel()

    async def _until(self, due: int, scope: anyio.CancelScope) -> None:
        await self._clock.sleep_until(due)
        scope.cancel()

    async def _fire(self, due: list[TimerKey]) -> None:
        """Fire these; where one cannot be written, find out whether it is that one or the disk."""
        failed = await self._round(due)
        if failed is None:
            return
        if not await self._takes_a_write(failed):
            await self._clock.sleep_until(after(self._clock, TRY_AGAIN))
        elif await self._round([failed]) is not None:
            self._aside[failed] = after(self._clock, ASIDE)

    async def _round(self, due: list[TimerKey]) -> TimerKey | None:
        """Post what is due, and return when it is settled: its rows are gone then.

        Returns:
            The first one that could not be written, if there is one; those behind it were not tried.
        """
        round, posted = Round(), []
        with self._store.view() as view:
            for key in due:
                call: Call[object] = Call()
                posted.append((key, call))
                if key.run == RUNTIME:
                    self._add(Lapse(key.seq, call))
                    continue
                try:
                    head = heads.stored(view, key.run)
                except StoreFormatError as error:
                    call.refuse(error)
                else:
                    run_id = "" if head is None else head.run_id
                    self._post(run_id, Posted(_item(key), call, key.run, timer=key, round=round))
        failed = None
        for key, call in posted:
            try:
                call.get() if call.answered else await call.result()
            except Exception as error:  # noqa: BLE001 - whatever is wrong with one run, the timers of others go on
                logs.warning("timer not fired yet", due=key.due, error=f"{type(error).__name__}: {error}")
                failed = failed or key
        return failed

    async def _takes_a_write(self, key: TimerKey) -> bool:
        """Whether the disk takes anything now: the row of this timer is written as it is."""

        def write(group: Group) -> None:
            if timers.is_set(group.reading, key):
                timers.put(group.batch, key)

        call: Call[object] = Call()
        self._add(OneOff(write, call))
        try:
            await call.result()
        except Exception:  # noqa: BLE001 - whatever it is, nothing was written
            return False
        return True


def _item(key: TimerKey) -> GraceOver | TimerFired:
    return GraceOver(key.seq) if key.index == GRACE else TimerFired((key.seq, key.index))
