"""The host: all cells of one store, and the tasks that serve them.

A signal's way: ``post`` puts it beside its run, the committer takes it into a group, where its cell plans a turn; when
the group is on disk, the sender is answered and what the turn asked for begins.
"""

import os
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from anyio.abc import TaskGroup

from looms.actors import logs
from looms.actors.asides import Asides
from looms.actors.calls import Call
from looms.actors.cell import Cell, Posted, load_cell
from looms.actors.cells import Cells
from looms.actors.clock import CheckedClock, Clock, SystemClock, after
from looms.actors.committer import Committer
from looms.actors.dispatch import Dispatcher, interrupted
from looms.actors.errors import RuntimeClosed, WrongThread
from looms.actors.finding import Handlers
from looms.actors.followers import Followers
from looms.actors.forking import Forking
from looms.actors.group import Group, Memory, Unmet
from looms.actors.importing import Importing
from looms.actors.inflow import Inflow
from looms.actors.jobs import Job, Turns, unknown
from looms.actors.joint import JointTurn
from looms.actors.lacking import MISSING_DEFINITION, lacking
from looms.actors.large_snapshots import LargeSnapshots
from looms.actors.one_off import OneOff
from looms.actors.options import Options
from looms.actors.paces import Paces
from looms.actors.removals import Removals
from looms.actors.retention import Retention
from looms.actors.retiring import Retiring
from looms.actors.stuck_runs import put_aside
from looms.actors.thinning import Thinning
from looms.actors.timers import Timers
from looms.actors.turns import suspend
from looms.actors.watchdog import Bringing, Watchdog
from looms.actors.watchers import Watchers
from looms.actors.writer import Writer, Writing
from looms.reducers.errors import LoomsError, ModuleError
from looms.reducers.looking import Unseen
from looms.reducers.registry import Registry
from looms.snapshots import effect_rows, heads, inbox, retained, stuck, type_rows
from looms.snapshots.errors import StoreFormatError
from looms.snapshots.store import Store

TRY_AGAIN = 1.0  # seconds until an inbox is looked at again whose turn could not be committed
LONGEST_DUE = 0.015  # seconds that a group is put together for, when only timers are left


Waiting: TypeAlias = "OrderedDict[str, list[Posted]]"
"""What was posted, by the id of the run that it is for, first come, first served."""


class Host:
    """Runs the cells of a store.

    Args:
        store: the store, open.
        code: today's code.
        clock: the time.
        options: what it was told.
        writer: makes what writes to the store; a thread of its own without.
    """

    def __init__(
        self,
        store: Store,
        code: Registry,
        clock: Clock,
        options: Options,
        writer: Callable[[], Writing] = Writer,
    ) -> None:
        self.store = store
        self.code = code
        self.clock = clock if isinstance(clock, SystemClock) else CheckedClock(clock)
        self.clock.now()  # a clock that gives no time is refused before anything is begun
        self.options = options
        self.followers = Followers()
        self.watchers = Watchers()
        self.inflow = Inflow()
        self.asides = Asides()
        self.cells = Cells(options.max_resident)
        with store.view() as view:
            self._memory = Memory(keeps=bool(retained.page(view, limit=1)))
            with _left_out_if_damaged():  # what is left out is noted anew, with the next record of its type
                self._memory.types = type_rows.load(view)
        self._ready: Waiting = OrderedDict()
        self._due: Waiting = OrderedDict()  # timers apart: thousands may be due at once, and callers come between
        self._due_next = False
        self._paces = Paces()
        self._to_wake: set[str] = set()
        former = stuck.read(store.path) if options.drives else None  # one for a moment leaves it to the next
        self.watchdog = Watchdog(store.path, options.stuck_after, options.on_stuck, former)
        self.committer = Committer(
            store, writer, self._new_group, self._next_job, self.watchdog, self._took, self._committed, self._failed
        )
        self.handlers = Handlers(code, store, self.cells, self._load, self.watchdog)
        self.dispatcher = Dispatcher(
            code, clock, self.post, self.committer.add, self.handlers.of, self._stop, self.watchdog
        )
        self.timers = Timers(store, clock, self.post, self.committer.add)
        self.removals = Removals(store, clock, self.asides, self.committer.add)
        self.importing = Importing(code, clock, self.removals)
        self.forking = Forking(self.committer.add, self.removals)
        self.large_snapshots = LargeSnapshots(code, self.asides, self.committer.add)
        retention = options.retention or Retention()
        self.retiring = Retiring(store, clock, retention, self.committer.add)
        self.thinning = Thinning(store, clock, retention, self.committer.add)
        self.open = False
        self.activity = 0  # grows with all that happens: whoever waits for quiet compares

    def begin(self, tasks: TaskGroup) -> None:
        """Begin to serve, in a task group that ends with the host.

        Raises:
            ModuleError: ``strict``, and there are runs whose definition is missing.
        """
        if self.options.serves:
            self._report_missing()
            put_aside(self.store, self.clock.now())
        self.open = True
        self._process, self._thread = os.getpid(), threading.get_ident()
        self._tasks = tasks
        if self.options.serves:
            self._recover()
        self.forking.serve(tasks)
        self.large_snapshots.serve(tasks)
        tasks.start_soon(self.committer.run)
        tasks.start_soon(self.removals.run)
        if self.options.drives:
            for task in (self.dispatcher.run, self.timers.run, self.retiring.run, self.thinning.run):
                tasks.start_soon(task)

    def close(self) -> None:
        """Refuse what was not committed, after the tasks have ended."""
        self.open = False
        self.watchdog.close()
        for effect, count in self.dispatcher.abandoned.items():
            why = "a thread cannot be stopped; Python waits for it at the end of the process"
            logs.warning("handlers still run", effect=effect, handlers=count, reason=why)
        closed = self.store.environment.failure or RuntimeClosed(
            f"the runtime on {self.store.path} was closed before this was committed"
        )
        self.committer.stop(closed)
        self.forking.stop(closed)
        self.removals.stop(closed)
        self.inflow.let_all_in()
        self.followers.tell_all()
        self.watchers.refuse_all(RuntimeClosed(f"the runtime on {self.store.path} was closed while this waited"))

    def post(self, run_id: str, posted: Posted) -> None:
        """Give an item to the cell of a run, which takes it in its next turn."""
        ready = self._ready if posted.timer is None else self._due
        waiting = ready.get(run_id)
        if waiting is None:
            ready[run_id] = [posted]
        else:
            waiting.append(posted)
        self.committer.wake()

    def wake(self, run_id: str) -> None:
        """Let a cell take what waits in its durable inbox."""
        self._ready.setdefault(run_id, [])
        self.committer.wake()

    async def settled(self, run_id: str) -> Cell:
        """The cell of a run, as of a commit.

        Raises:
            UnknownRun: there is no such run.
        """
        while True:
            self.check_open()
            cell = self.cells.get(run_id)
            if cell is None:
                cell = self._load(run_id)
            if not cell.busy:
                return cell
            await self.followers.next_of(run_id).wait()

    def check_open(self) -> None:
        """Raise when the host cannot be asked.

        Raises:
            RuntimeClosed: it does not serve, or not in this process.
            WrongThread: it serves in another thread, on an event loop of its own.
        """
        if not self.open:
            raise RuntimeClosed(
                f"the runtime on {self.store.path} is closed; use it inside `async with looms.Runtime(...)`"
            ) from self.store.environment.failure
        if self.store.environment.forked:
            raise RuntimeClosed(
                f"the runtime on {self.store.path} belongs to process {self._process}, which this one was forked from; "
                "ask it there, or open the store in a process that was started afresh"
            )
        if threading.get_ident() != self._thread:
            raise WrongThread(
                f"the runtime on {self.store.path} serves on the event loop of another thread; "
                "call it from there, as with anyio.from_thread.run(run.signal, event)"
            )

    def _load(self, run_id: str) -> Cell:
        with self.store.view() as view:
            head = heads.find(view, run_id)
            if head is None:
                raise unknown(run_id)
            with self.watchdog.over(Bringing(run_id)):
                cell = load_cell(view, head, self.code)
        self.cells.add(cell)
        self.cells.trim()
        return cell

    def _next_job(self) -> Job | None:
        """The turn of the cell that has waited longest; one with much to do is then last again.

        Timers that are due take turns with all else, and do not make a group longer that has been put together for a
        while: whoever sends something meanwhile is in the next one.
        """
        due = bool(self._due) and (self._due_next or not self._ready)
        if due and self.committer.gathered_for() > LONGEST_DUE:
            if not self._ready:
                return None
            due = False
        self._due_next = not due
        return self._turns(self._due if due else self._ready)

    def _turns(self, ready: Waiting) -> Job | None:
        if not ready:
            return None
        run_id, waiting = ready.popitem(last=False)
        if len(waiting) == 1 or len(waiting) <= (most := self._paces.most(run_id)):
            return Turns(run_id, waiting)
        ready[run_id] = waiting[most:]
        return Turns(run_id, waiting[:most])

    def _took(self, job: Job, seconds: float) -> None:
        """Note how long a job took: a cell that is slow takes one item at a time, so that others come between."""
        if isinstance(job, Turns):
            self._paces.took(job.run_id, len(job.posted), seconds)
        if seconds > self.watchdog.limit:
            self.watchdog.took(job, seconds)

    def _new_group(self) -> Group:
        return Group(
            self.store.new_batch(),
            self.store.view(),
            self.cells,
            self.code,
            self.options,
            self.clock.now(),
            self._memory,
        )

    def _committed(self, group: Group) -> None:
        """A group is on disk: begin what it asked for."""
        self.activity += 1
        for number, key in group.ended:
            self.dispatcher.end(number, key)
        for asked in group.asked.values() if self.options.drives else ():
            effect = asked.effect
            row = asked.row or effect_rows.untried(effect)
            self.dispatcher.begin(asked.id, asked.run_id, asked.number, effect.key, row)
        for number, key in group.hurried:
            self.dispatcher.hurry(number, key)
        for number in group.resumed:
            self.dispatcher.resume(number)
        for run_id in group.woken:
            cell = self.cells.get(run_id)
            if cell is not None:
                cell.unread = True
            self.wake(run_id)
        for run_id in group.removed:
            self.cells.drop(run_id)  # somebody may have looked at it meanwhile
        if group.removed:
            self.removals.begin()
        for status, ended in group.over:
            self.retiring.note(status, ended)
        for cell, taken in group.pictures:
            self.large_snapshots.begin(cell, taken)
        if group.first_due is not None:
            self.timers.set(group.first_due)
        self.cells.trim()
        for one in group.watched:
            if isinstance(one, Unmet):
                self._watch(one.turn, one.unseen)
            else:
                for turn in self.watchers.touched(one.number, one.spans):
                    self.committer.add(turn)
        self.followers.tell([*group.run_ids, *group.removed])
        if self.followers.rest_awaited:
            self.followers.tell_rest(group.at_rest)

    def _failed(self, group: Group, error: Exception, refused: Job | None) -> None:
        """A group was taken back: whoever waits for its cells looks again, and what is in an inbox is tried later."""
        self.activity += 1
        if isinstance(refused, Turns):
            if not refused.heard:
                logs.warning("commit failed", run_id=refused.run_id, error=f"{type(error).__name__}: {error}")
            if not isinstance(error, StoreFormatError):
                self._wake_later(refused.run_id)
        self.followers.tell(group.run_ids)
        self.followers.tell_rest(group.run_ids)

    def _watch(self, turn: JointTurn[Any], unseen: Unseen) -> None:
        """Have a joint turn that found nothing wait, without a place among the calls that are soon answered."""
        if turn.last or turn.call.unheard:
            turn.call.answer(None)
        else:
            turn.call.uncount()
            self.watchers.add(turn, unseen.number, unseen.reads)

    def _wake_later(self, run_id: str) -> None:
        async def later() -> None:
            await self.clock.sleep_until(after(self.clock, TRY_AGAIN))
            self._to_wake.discard(run_id)
            self.wake(run_id)

        if run_id not in self._to_wake:
            self._to_wake.add(run_id)
            self._tasks.start_soon(later)

    def _stop(self, number: int, error: LoomsError) -> None:
        """Suspend a run whose code does not lead to what it asked for."""

        def stop(group: Group) -> None:
            cell = group.cell_of(number)
            if cell is not None and cell.suspended is None and cell.run.end is None:
                suspend(group, cell, error)

        self.committer.add(OneOff(stop, Call()))

    def _report_missing(self) -> None:
        """Say what today's modules lack, and what waits for it.

        Raises:
            ModuleError: ``strict``, and there are runs whose definition is missing.
        """
        with self.store.view() as view:
            found = lacking(view, self.code, self._memory.types)
        for lack in found:
            logs.warning(lack.event, reason=lack.reason, **lack.details)
        lost = [f"{lack.details['runs']} of {lack.reason}" for lack in found if lack.event == MISSING_DEFINITION]
        if lost and self.options.strict:
            raise ModuleError(f"{self.store.path} has runs that today's modules cannot serve: {'; '.join(lost)}")

    def _recover(self) -> None:
        """Take up what was outstanding when the store was last open: nothing else is read.

        A row that is damaged is its run's misfortune, and keeps nobody else from going on.
        """
        after: tuple[int, int, int] | None = None
        run = 0
        lost: Counter[str] = Counter()
        with self.store.view() as view:
            while places := effect_rows.places(view, after):
                for place in places:
                    with _left_out_if_damaged():
                        head, row = heads.head(view, place[0]), effect_rows.get(view, place)
                        if row is not None and row.effect not in self.code.effects:
                            lost[row.effect] += 1
                        elif head is not None and row is not None:
                            id = effect_rows.id_of(head, *place[1:])
                            self.dispatcher.begin(id, head.run_id, place[0], place[1:], interrupted(row))
                after = places[-1]
            while numbers := inbox.runs(view, run):
                for number in numbers:
                    with _left_out_if_damaged():
                        head = heads.head(view, number)
                        if head is not None and head.status != "suspended":
                            self.wake(head.run_id)
                run = numbers[-1]
        for effect, count in lost.items():
            reason = f"{self.code.no_effect(effect)}; it stays outstanding until it is back"
            logs.warning("effect missing", effect=effect, outstanding=count, reason=reason)


@contextmanager
def _left_out_if_damaged() -> Iterator[None]:
    try:
        yield
    except StoreFormatError as error:
        logs.warning("left out, as it is damaged", table=error.table, run=error.run, error=str(error))
