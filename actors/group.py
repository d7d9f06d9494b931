"""A group: the turns that share a commit, while it is put together.

Turns are planned one after the other over the batch, so each sees what those before it have done. Nothing leaves a
group before its commit: callers are answered, effects begin and other cells wake afterwards. A group that cannot be
committed is taken back, cell by cell.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import msgspec

from looms.actors import logs
from looms.actors.calls import Answer, Call, answer_to
from looms.actors.cell import Cell, load_cell
from looms.actors.cells import Cells
from looms.actors.options import Options
from looms.actors.requests import pack_answer
from looms.reducers.entries import Entry
from looms.reducers.folded import EffectKey, Outstanding
from looms.reducers.images import Image
from looms.reducers.items import pack_item
from looms.reducers.looking import Unseen
from looms.reducers.registry import Registry
from looms.snapshots import heads, history, inbox, requests, type_rows
from looms.snapshots.batch import Batch
from looms.snapshots.chains import Chain
from looms.snapshots.rows import EffectRow, Head
from looms.snapshots.view import View


class Memory:
    """What a host knows of its store without looking.

    Attributes:
        keeps: some event may be kept for whoever waits for it next; where there is none, nobody looks.
        types: the types of events that are noted in the store, each with its newest version there.
        firsts: by the run's number, what was made of its first record, which never changes.
    """

    def __init__(self, keeps: bool) -> None:
        self.keeps = keeps
        self.types: dict[str, int] = {}
        self.firsts: dict[int, Any] = {}


class Before(msgspec.Struct, frozen=True, gc=False):
    """A cell that takes a turn, and what of it a failed commit brings back."""

    cell: Cell
    head: Head
    snapshot: int
    chain: Chain
    deferred: bool


Span: TypeAlias = tuple[bytes, bytes]
"""A range of keys, its end not included."""


class Unmet(msgspec.Struct, frozen=True):
    """A joint turn of a caller that has found nothing, and what it has read."""

    turn: Any
    unseen: Unseen


class Written(msgspec.Struct, frozen=True):
    """What a joint turn has written of a run, by its number: ranges of keys."""

    number: int
    spans: Sequence[Span]


class Asked(msgspec.Struct, frozen=True):
    """An effect that a turn asked for, and its id; ``row``: how far its attempts are, where they have begun."""

    run_id: str
    number: int
    effect: Outstanding
    id: str
    row: EffectRow | None = None


class Group:
    """The turns of one commit.

    Args:
        batch: what the commit will write.
        below: the store as of the commit before.
        cells: the cells in memory.
        code: today's code.
        options: the host's options.
        now: the time, in milliseconds since 1970.
        memory: what is known of the store without looking.

    Attributes:
        reading: the store as of this batch.
        touched: the cells that took a turn, by their runs' numbers, as they were before.
        asked, ended: the effects to begin and to end after the commit.
        removed: the ids of runs that are gone.
        hurried: the effects to be tried now.
        resumed: the numbers of the runs that were resumed.
        over: of the runs that are over now, how each ended and when.
        woken: the ids of runs with something new in their durable inbox.
        pictures: what is to become a snapshot after the commit: the cells, and what they were.
        first_due: when the first of the timers that were set is due.
        watched: in order, joint turns of callers that have found nothing, and what joint turns have written of runs
            that others have read.
        answers: what the callers are to be told after the commit.
    """

    def __init__(
        self, batch: Batch, below: View, cells: Cells, code: Registry, options: Options, now: int, memory: Memory
    ) -> None:
        self._below = below
        self.batch = batch
        self.reading = batch.over(below)
        self.code = code
        self.options = options
        self.now = now
        self.memory = memory
        self.touched: dict[int, Before] = {}
        self._looked: list[Cell] = []
        self.asked: dict[tuple[int, EffectKey], Asked] = {}
        self.ended: list[tuple[int, EffectKey]] = []
        self.woken: dict[str, None] = {}  # in order: whoever was woken first goes on first
        self.removed: list[str] = []
        self.hurried: list[tuple[int, EffectKey]] = []
        self.resumed: list[int] = []
        self.over: list[tuple[str, int]] = []
        self.pictures: list[tuple[Cell, Image]] = []
        self.first_due: int | None = None
        self.watched: list[Unmet | Written] = []
        self.records = 0
        self._noted: list[str] = []
        self.answers: list[Answer] = []
        self._afterwards: list[Callable[[], None]] = []
        self._logs = logs.heard()
        self._told: list[tuple[Callable[..., None], str, dict[str, Any]]] = []
        self._cells = cells

    def cell(self, run_id: str) -> Cell | None:
        """The cell of a run; None when there is no such run.

        Raises:
            StoreFormatError: a record of it is damaged or missing.
        """
        cell = self._cells.get(run_id)
        if cell is not None and run_id in self.removed and not self._took_turn(cell):
            cell = None  # somebody looked at the run that this group removes, as it was before
        if cell is None:
            head = heads.find(self.reading, run_id)
            if head is None:
                return None
            cell = load_cell(self.reading, head, self.code)
            self._cells.add(cell)
        return cell

    def _took_turn(self, cell: Cell) -> bool:
        before = self.touched.get(cell.head.number)
        return before is not None and before.cell is cell

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
            self._settle(answer_to(call, value))

    def refuse(self, call: Call[Any] | None, error: BaseException) -> None:
        """Have a call refused when the commit is done."""
        if call is not None:
            self._settle(Answer(call, error=error))

    def _settle(self, answer: Answer) -> None:
        self.answers.append(answer)
        if answer.call.request is not None:
            requests.answer(self.batch, answer.call.request, pack_answer(answer))

    def begin(self, head: Head) -> Cell:
        """The cell of a run that begins in this group; it is there for the others once it has a first record."""
        return Cell(head, history.new_run(head))

    def ask(self, asked: Iterable[Asked]) -> None:
        """Have effects begin after the commit."""
        self.asked.update(((one.number, one.effect.key), one) for one in asked)

    def end(self, ended: Iterable[tuple[int, EffectKey]]) -> None:
        """Have effects end after the commit; those that this group asked for do not even begin."""
        self.ended += [place for place in ended if self.asked.pop(place, None) is None]

    def set_timer(self, due: int | None) -> None:
        """Note that a timer was set."""
        if due is not None:
            self.first_due = due if self.first_due is None else min(self.first_due, due)

    def touch(self, cell: Cell) -> Head:
        """Note that a cell is part of this group, and return its head."""
        if cell.head.number not in self.touched:
            self.touched[cell.head.number] = Before(cell, cell.head, cell.snapshot, cell.chain, cell.deferred)
            if cell.head.seq == 0:
                self._cells.add(cell)
        cell.busy = True
        return cell.head

    @property
    def run_ids(self) -> list[str]:
        """The runs that took a turn."""
        return [before.cell.head.run_id for before in self.touched.values()]

    @property
    def at_rest(self) -> list[str]:
        """The runs that are over, suspended or gone after it."""
        cells = [before.cell for before in self.touched.values()]
        return [*(cell.head.run_id for cell in cells if cell.at_rest), *self.removed]

    def look(self, cell: Cell) -> None:
        """Note that a cell takes what is in its durable inbox."""
        cell.unread = False
        self._looked.append(cell)

    def message(self, run_id: str, number: int, item: Any) -> None:
        """Put an item into the durable inbox of a run, which takes it after the commit."""
        inbox.put(self.batch, number, pack_item(item))
        self.wake(run_id)

    def wake(self, run_id: str) -> None:
        """Have a run look into its durable inbox after the commit."""
        self.woken[run_id] = None

    def note_types(self, entries: Iterable[Entry]) -> None:
        """Note the types of records that are written, where the store has not noted them yet."""
        known = self.memory.types
        for entry in entries:
            type, version = entry.row.type, entry.row.version
            if known.get(type, 0) < version:
                type_rows.put(self.batch, type, version)
                known[type] = version
                self._noted.append(type)

    def tell_later(self, level: Callable[..., None], event: str, **values: Any) -> None:
        """Have the application's log told of something, once it is committed."""
        if self._logs:
            self._told.append((level, event, values))

    def when_committed(self, do: Callable[[], None]) -> None:
        """Have something done once the group is on disk; not when it is taken back."""
        self._afterwards.append(do)

    def replace(self, cell: Cell) -> Cell:
        """The cell of a run as today's code makes it of what is stored, in place of one that is not busy."""
        fresh = load_cell(self.reading, cell.head, self.code, again=True)
        self._cells.add(fresh)
        return fresh

    def close(self) -> None:
        """Let the view of the store go."""
        self._below.close()

    def committed(self) -> None:
        """The commit is done: what was planned holds."""
        for before in self.touched.values():
            before.cell.run.journal.clear()
            before.cell.busy = False
        for do in self._afterwards:
            do()
        for level, event, values in self._told:
            level(event, **values)

    def take_back(self) -> None:
        """The commit failed: cells are as they were before this group."""
        for type in self._noted:
            self.memory.types.pop(type, None)
        for before in self.touched.values():
            cell = before.cell
            cell.run.journal.undo()
            cell.head, cell.snapshot, cell.chain = before.head, before.snapshot, before.chain
            cell.deferred = before.deferred
            cell.busy = False
            if cell.head.seq == 0:
                self._cells.drop(cell.head.run_id)
        for cell in self._looked:
            cell.unread, cell.skipped = True, 0
        self.answers.clear()
        for cell, _ in self.pictures:
            cell.pictured = False
