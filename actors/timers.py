"""Timers: one task that sleeps until the first row of the table is due, and posts what is due to its cells.

Nothing is scanned when a host starts, and nothing of a timer is in memory: however many there are, one moment is known.
"""

from collections.abc import Callable

import anyio
import msgspec

from looms.actors import logs
from looms.actors.calls import Call
from looms.actors.cell import Posted
from looms.actors.clock import Clock, after
from looms.actors.group import Group
from looms.actors.index_rows import GRACE
from looms.actors.retained import RUNTIME, drop
from looms.reducers.errors import LoomsError
from looms.reducers.items import GraceOver, TimerFired
from looms.snapshots import heads, timers
from looms.snapshots.store import Store
from looms.snapshots.timers import TimerKey

AT_ONCE = 1_000  # due timers posted together
TRY_AGAIN = 1.0  # seconds


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
        add: Callable[[Lapse], None],
    ) -> None:
        self._store = store
        self._clock = clock
        self._post = post
        self._add = add
        self._next: int | None = None
        self._sooner = anyio.Event()

    def set(self, due: int) -> None:
        """A timer was set that is due then."""
        if self._next is None or due < self._next:
            self._next = due
            self._sooner.set()

    async def run(self) -> None:
        """Fire what is due until cancelled."""
        while True:
            with self._store.view() as view:
                self._next = timers.first_due(view)
            self._sooner = anyio.Event()
            if self._next is not None and self._next <= self._clock.now():
                await self._fire()
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

    async def _fire(self) -> None:
        """Post what is due, and return when it is settled: its rows are gone then."""
        calls: list[Call[object]] = []
        with self._store.view() as view:
            for key in timers.due(view, self._clock.now(), AT_ONCE):
                call: Call[object] = Call()
                calls.append(call)
                if key.run == RUNTIME:
                    self._add(Lapse(key.seq, call))
                else:
                    head = heads.stored(view, key.run)
                    self._post("" if head is None else head.run_id, _item(key, call))
        try:
            for call in calls:
                await call.result()
        except LoomsError as error:
            logs.warning("timers not fired yet", error=str(error))
            await self._clock.sleep_until(after(self._clock, TRY_AGAIN))


def _item(key: TimerKey, call: Call[object]) -> Posted:
    if key.index == GRACE:
        return Posted(GraceOver(key.seq), call, timer=key)
    return Posted(TimerFired((key.seq, key.index)), call, timer=key)
