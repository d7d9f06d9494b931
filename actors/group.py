"""A group: the turns that share a commit, while it is put together.

Turns are planned one after the other over the batch, so each sees what those before it have done. Nothing leaves a
group before its commit: callers are answered, effects begin and other cells wake afterwards. A group that cannot be
committed is taken back, cell by cell.
"""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from looms.actors import index_rows, logs
from looms.actors.calls import Answer, Call
from looms.actors.cell import Cell, Posted, load_cell
from looms.actors.cells import Cells
from looms.actors.delivery import send
from looms.actors.options import Options
from looms.actors.requests import pack_answer
from looms.actors.retained import Retained
from looms.reducers.codec import Unfit
from looms.reducers.errors import ReducerError, RunSuspended
from looms.reducers.folded import EffectKey, FoldedRun, Outstanding
from looms.reducers.items import (
    CancelAsked,
    Delivery,
    EffectAnswer,
    EffectGaveUp,
    SignalReturned,
    pack_item,
    unpack_item,
)
from looms.reducers.plan import (
    Accepted,
    Deferred,
    Duplicate,
    Ignored,
    Outcome,
    Refused,
    Stuck,
    Turn,
    Undelivered,
    plan,
)
from looms.reducers.registry import Registry
from looms.snapshots import effect_rows, heads, history, inbox, keys, requests, timers
from looms.snapshots.batch import Batch
from looms.snapshots.rows import Head
from looms.snapshots.view import View


class Before(msgspec.Struct, frozen=True):
    """A cell that takes a turn, and what of it a failed commit brings back."""

    cell: Cell
    head: Head
    snapshot: int


class Asked(msgspec.Struct, frozen=True):
    """An effect that a turn asked for."""

    run_id: str
    number: int
    effect: Outstanding


class Group:
    """The turns of one commit.

    Args:
        batch: what the commit will write.
        below: the store as of the commit before.
        cells: the cells in memory.
        code: today's code.
        options: the host's options.
        now: the time, in milliseconds since 1970.
        retained: the events that were kept for whoever waits for them next.

    Attributes:
        reading: the store as of this batch.
        touched: the cells that took a turn, as they were before.
        asked, ended: the effects to begin and to end after the commit.
        removed: the ids of runs that are gone.
        hurried: the effects to be tried now.
        woken: the ids of runs with something new in their durable inbox.
        first_due: when the first of the timers that were set is due.
    """

    def __init__(
        self, batch: Batch, below: View, cells: Cells, code: Registry, options: Options, now: int, retained: Retained
    ) -> None:
        self._below = below
        self.batch = batch
        self.reading = batch.over(below)
        self.code = code
        self.options = options
        self.now = now
        self.touched: dict[str, Before] = {}
        self.asked: dict[tuple[int, EffectKey], Asked] = {}
        self.ended: list[tuple[int, EffectKey]] = []
        self.woken: set[str] = set()
        self.removed: list[str] = []
        self.hurried: list[tuple[int, EffectKey]] = []
        self.first_due: int | None = None
        self.records = 0
        self._answers: list[Answer] = []
        self._told: list[tuple[Callable[..., None], str, dict[str, Any]]] = []
        self._cells = cells
        self.retained = retained

    def cell(self, run_id: str) -> Cell | None:
        """The cell of a run; None when there is no such run.

        Raises:
            StoreFormatError: a record of it is damaged or missing.
        """
        cell = self._cells.get(run_id)
        if cell is None:
            head = heads.find(self.reading, run_id)
            if head is None:
                return None
            cell = load_cell(self.reading, head, self.code)
            self._cells.add(cell)
        return cell

    def cell_of(self, number: int) -> Cell | None:
        """The cell of a run by its number."""
        head = heads.head(self.reading, number)
        return None if head is None else self.cell(head.run_id)

    def remove(self, run_id: str) -> None:
        """Note that a run is gone."""
        self.removed.append(run_id)
        self._cells.drop(run_id)

    def answer(self, call: Call[Any] | None, value: Any = None) -> None:
        """Have a call answered when the commit is done."""
        if call is not None:
            self._settle(Answer(call, value))

    def refuse(self, call: Call[Any] | None, error: BaseException) -> None:
        """Have a call refused when the commit is done."""
        if call is not None:
            self._settle(Answer(call, error=error))

    def _settle(self, answer: Answer) -> None:
        self._answers.append(answer)
        if answer.call.request is not None:
            requests.answer(self.batch, answer.call.request, pack_answer(answer))

    def begin(self, head: Head) -> Cell:
        """The cell of a run that begins in this group; it is there for the others once it has a first record."""
        return Cell(head, FoldedRun(head.run_id, head.number, head.definition))

    def turn(self, cell: Cell, posted: list[Posted]) -> list[Outcome]:
        """Let a cell take what was posted, and see to what becomes of it.

        Args:
            cell: the cell; one of a suspended run keeps what the runtime brings and refuses the rest.
            posted: what came, in order.

        Returns:
            What became of the items that were tried.
        """
        if not posted:
            return []
        if cell.suspended is not None:
            self._put_by(cell, posted)
            return []
        mark = cell.run.journal.mark()
        grace = cell.run.cancelling
        turn = plan(
            cell.run,
            [one.item for one in posted],
            self.code,
            self.now,
            self.options.limits,
            self._known_keys(cell.head.number, posted),
        )
        self._write(cell, turn, mark, grace)
        for one, outcome in zip(posted, turn.outcomes, strict=False):
            self._conclude(cell, one, outcome)
        if turn.stuck is not None:
            self._suspend(cell, turn.stuck, posted[len(turn.outcomes) - 1 :])
        self.retained.offer(self, cell, mark)
        return turn.outcomes

    def _known_keys(self, number: int, posted: Iterable[Posted]) -> dict[str, int]:
        """Which of the items' keys are taken, and by what."""
        known: dict[str, int] = {}
        for one in posted:
            key = one.item.key if isinstance(one.item, Delivery) else None
            found = None if key is None else keys.get(self.reading, number, key)
            if key is not None and found is not None:
                known[key] = msgspec.msgpack.decode(found, type=int)
        return known

    def _write(self, cell: Cell, turn: Turn, mark: int, grace: Any) -> None:
        """Put a turn's records, and all rows that follow from them, into the batch."""
        if not turn.entries:
            return
        run, before = cell.run, self._touch(cell)
        changed = index_rows.changes(run, mark, grace)
        head = self.batch.append(before, [entry.pack() for entry in turn.entries])
        self.records += len(turn.entries)
        started = turn.entries[0].row.at if before.seq == 0 else before.started_at
        cell.head = msgspec.structs.replace(
            head, status=run.status, started_at=started, updated_at=run.at, error=run.end.error if run.end else None
        )
        heads.put(self.batch, None if before.seq == 0 else before, cell.head)
        index_rows.write(self.batch, self.reading, head.number, changed)
        self.asked.update(
            ((head.number, effect.key), Asked(run.run_id, head.number, effect)) for effect in changed.asked
        )
        for key in changed.ended:
            if self.asked.pop((head.number, key), None) is None:
                self.ended.append((head.number, key))
        self.set_timer(index_rows.first_due(changed))
        send(self, cell, turn.entries)
        self._tell(cell, before, turn)
        if cell.problem is None and run.seq - cell.snapshot >= self.options.snapshot_every:
            self._snapshot(cell)

    def _tell(self, cell: Cell, before: Head, turn: Turn) -> None:
        """Have the application's log told of a turn, once it is committed."""
        run = cell.run
        self._tell_later(logs.debug, "turn", run_id=run.run_id, first=before.seq + 1, last=run.seq)
        if before.seq == 0:
            self._tell_later(logs.info, "run started", run_id=run.run_id, definition=run.definition)
        if run.end is not None:
            self._tell_later(logs.info, f"run {run.end.status}", run_id=run.run_id, seq=run.seq, error=run.end.error)

    def _tell_later(self, level: Callable[..., None], event: str, **values: Any) -> None:
        self._told.append((level, event, values))

    def _snapshot(self, cell: Cell) -> None:
        try:
            history.snapshot(self.batch, cell.run, self.code)
        except Unfit as error:
            logs.warning("no snapshot", run_id=cell.run.run_id, seq=cell.run.seq, reason=str(error))
        cell.snapshot = cell.run.seq

    def set_timer(self, due: int | None) -> None:
        """Note that a timer was set."""
        if due is not None:
            self.first_due = due if self.first_due is None else min(self.first_due, due)

    def _touch(self, cell: Cell) -> Head:
        """Note that a cell is part of this group, and return its head."""
        if cell.head.run_id not in self.touched:
            self.touched[cell.head.run_id] = Before(cell, cell.head, cell.snapshot)
            self._cells.add(cell)
        cell.busy = True
        return cell.head

    def _conclude(self, cell: Cell, posted: Posted, outcome: Outcome) -> None:
        """See to what becomes of an item that was tried."""
        item, number = posted.item, cell.head.number
        match outcome:
            case Accepted(seq=seq):
                if isinstance(item, Delivery) and item.key is not None:
                    keys.put(self.batch, number, item.key, msgspec.msgpack.encode(seq))
                self.answer(posted.call, outcome)
            case Duplicate(seq=seq):
                self._warn_of_another(cell, item, seq)
                self.answer(posted.call, outcome)
            case Ignored():
                self.answer(posted.call, outcome)
            case Refused(error=error):
                self.refuse(posted.call, error)
            case Undelivered(reason=reason):
                self._send_back(item, cell.run.run_id, reason)
                self.answer(posted.call, outcome)
            case Deferred():
                self._keep(cell, posted)
                return
            case Stuck():
                return
        self._forget(number, posted)

    def _forget(self, number: int, posted: Posted) -> None:
        """Delete the rows that brought an item which is done."""
        if posted.message is not None:
            inbox.delete(self.batch, number, posted.message)
        if posted.timer is not None:
            timers.delete(self.batch, posted.timer)

    def _keep(self, cell: Cell, posted: Posted) -> None:
        """Have an item wait in the durable inbox; what brought it is done."""
        if posted.message is None:
            inbox.put(self.batch, cell.head.number, pack_item(posted.item))
            self._cells.add(cell)
            if posted.timer is not None:
                timers.delete(self.batch, posted.timer)
            if isinstance(posted.item, EffectGaveUp) or (isinstance(posted.item, EffectAnswer) and posted.item.final):
                effect_rows.delete(self.batch, (cell.head.number, *posted.item.effect))
        cell.unread = True
        self.answer(posted.call, Deferred())

    def _send_back(self, item: Any, run_id: str, reason: str) -> None:
        """Tell the thread that sent a signal that it could not be delivered."""
        if not isinstance(item, Delivery) or item.sender is None or item.sender_thread is None:
            return
        sender, seq = item.sender
        number = heads.number_of(self.reading, sender)
        if number is not None:
            for letter in item.letters:
                self.message(sender, number, SignalReturned(seq, item.sender_thread, run_id, letter.type, reason))

    def message(self, run_id: str, number: int, item: Any) -> None:
        """Put an item into the durable inbox of a run, which takes it after the commit."""
        inbox.put(self.batch, number, pack_item(item))
        self.woken.add(run_id)

    def _suspend(self, cell: Cell, error: ReducerError, left: list[Posted]) -> None:
        """Suspend a run whose code raised: what it could not take stays, what callers sent is refused."""
        before = self._touch(cell)
        cell.head = msgspec.structs.replace(before, status="suspended", error=str(error), updated_at=self.now)
        heads.put(self.batch, before, cell.head)
        self._tell_later(logs.warning, "run suspended", run_id=cell.run.run_id, type=error.type, error=str(error))
        self._put_by(cell, left)

    def _put_by(self, cell: Cell, posted: list[Posted]) -> None:
        """For a suspended run: what the runtime brings is kept, a cancellation ends it, the rest is refused."""
        for n, one in enumerate(posted):
            if isinstance(one.item, CancelAsked):
                self._cancel_suspended(cell, one)
                self.turn(cell, posted[n + 1 :])
                return
            duplicate = self._known_keys(cell.head.number, [one])
            if duplicate:
                self.answer(one.call, Duplicate(*duplicate.values()))
            elif getattr(one.item, "to_caller", False):
                self.refuse(one.call, self._refusal(cell))
            else:
                self._keep(cell, one)

    def _refusal(self, cell: Cell) -> Exception:
        if isinstance(cell.problem, ReducerError):
            return cell.problem
        return RunSuspended(
            f"run {cell.run.run_id} is suspended: {cell.suspended}. It takes no signals until it is resumed"
        )

    def _cancel_suspended(self, cell: Cell, posted: Posted) -> None:
        """End a suspended run without asking its code."""
        mark, grace = cell.run.journal.mark(), cell.run.cancelling
        asked = msgspec.structs.replace(posted.item, at_once=True)
        turn = plan(cell.run, [asked], self.code, self.now, self.options.limits)
        self._write(cell, turn, mark, grace)
        self._conclude(cell, posted, turn.outcomes[0])

    def resume(self, cell: Cell) -> None:
        """Let a suspended run try again what it could not take."""
        if cell.problem is not None:
            self._cells.drop(cell.head.run_id)
            head = cell.head
            cell = load_cell(self.reading, head, self.code)
            self._cells.add(cell)
            if cell.problem is not None:
                return
        if cell.head.status == "suspended":
            before = self._touch(cell)
            cell.head = msgspec.structs.replace(before, status=cell.run.status, error=None, updated_at=self.now)
            heads.put(self.batch, before, cell.head)
        self.turn(cell, self.read_inbox(cell))

    def read_inbox(self, cell: Cell) -> list[Posted]:
        """What waits in a run's durable inbox, as much as one turn takes."""
        found = inbox.page(self.reading, cell.head.number)
        cell.unread = len(found) == 256
        return [Posted(unpack_item(data), message=n) for n, data in found]

    def _warn_of_another(self, cell: Cell, item: Any, seq: int) -> None:
        """A key that comes again with another payload is a duplicate all the same; somebody should know."""
        if not isinstance(item, Delivery) or not 1 <= seq <= cell.head.seq or seq > cell.run.seq:
            return
        first = history.entry(self.reading, cell.head, seq, None).row
        last = item.letters[-1]
        if (first.type, bytes(first.payload)) != (last.type, last.payload):
            logs.warning("key used again for another event", run_id=cell.run.run_id, key=item.key, seq=seq)

    def close(self) -> None:
        """Let the view of the store go."""
        self._below.close()

    def committed(self) -> None:
        """The commit is done: what was planned holds, and whoever waits is answered."""
        for before in self.touched.values():
            before.cell.run.journal.clear()
            before.cell.busy = False
        for answer in self._answers:
            answer.give()
        for level, event, values in self._told:
            level(event, **values)

    def take_back(self) -> None:
        """The commit failed: cells are as they were before this group."""
        for run_id, before in self.touched.items():
            cell = before.cell
            cell.run.journal.undo()
            cell.head, cell.snapshot = before.head, before.snapshot
            cell.unread = True
            cell.busy = False
            if cell.head.seq == 0:
                self._cells.drop(run_id)
