"""Forking a run: its history is copied under a number of its own, and shown with all rows that follow from it.

Most histories are copied and shown in one commit. A longer one is copied in parts, each in a commit shared with
whatever else is committed then; the copy is hidden until the last commit, which shows it as a whole. The run itself
goes on meanwhile: its past does not change.
"""

from collections.abc import Callable
from typing import Any

import anyio
import msgspec
from anyio.abc import TaskGroup

from looms.actors import index_rows, logs
from looms.actors.calls import Call
from looms.actors.cell import Cell, Posted, missing
from looms.actors.group import Asked as AskedEffect
from looms.actors.group import Group
from looms.actors.jobs import Job, unknown
from looms.actors.removals import Removals
from looms.actors.retained import take_for_new, take_for_waits
from looms.actors.starting import exists
from looms.actors.turns import take_turn
from looms.actors.waking import wake_expectant
from looms.reducers.errors import LoomsError, SeqOutOfRange
from looms.reducers.folded import FoldedRun
from looms.reducers.forks import Fork, lineage
from looms.reducers.messages import shown
from looms.snapshots import copying, heads, history
from looms.snapshots.copying import Copy
from looms.snapshots.errors import StoreError
from looms.snapshots.history import Loaded
from looms.snapshots.reading import Reading
from looms.snapshots.rows import Head

AT_ONCE = 2  # parts in a commit: it stays short, and a short history does not wait for the whole of a long one


class Asked(msgspec.Struct, frozen=True):
    """A fork that somebody asks for.

    Attributes:
        run_id: the run.
        at: the seq of the last event that the two share.
        fork_id: the fork's id.
        hold: the effects outstanding then are held.
        call: who asks.
    """

    run_id: str
    at: int
    fork_id: str
    hold: bool
    call: Call[str]


class Progress(msgspec.Struct, frozen=True):
    """How far a fork is whose history is copied in parts: the run's number, and the copy."""

    source: int
    copy: Copy


class Part(msgspec.Struct, frozen=True):
    """A job: copy some more of a history, and show the fork when that was the last of it.

    What it copies does not count as records of the group, so the turns of other cells have their place beside it.

    Attributes:
        asked: the fork.
        progress: how far it is; None at the beginning.
        call: is answered with how far it is then; with None when nothing is left to be done.
        kept: where the number of a copy that is to be gone on with is noted, under the fork's call.
        urgent: it makes no room.
    """

    asked: Asked
    progress: Progress | None
    call: Call[Progress | None]
    kept: dict[Call[Any], int]
    urgent: bool = False

    def __call__(self, group: Group) -> None:
        """Put it into a group."""
        progress: Progress | None = None
        try:
            source = self._source(group)
            if self.progress is not None and not self.progress.copy.complete:
                progress = self._copy(group, source, self.progress.copy)
            else:
                progress = self._begin_or_show(group, source)
        except StoreError:
            raise  # in the midst of it, perhaps
        except LoomsError as error:
            group.refuse(self.asked.call, error)
        group.answer(self.call, progress)

    def refuse(self, error: BaseException) -> None:
        """Tell whoever goes on with it."""
        self.call.refuse(error)

    def _source(self, group: Group) -> Head:
        """The run that is forked.

        Raises:
            UnknownRun, SeqOutOfRange, RunExists: it is not, or no more, or its fork cannot be.
        """
        run_id, at = self.asked.run_id, self.asked.at
        source = heads.find(group.reading, run_id)
        if source is None or (self.progress is not None and source.number != self.progress.source):
            raise unknown(run_id)
        if type(at) is not int or not 1 <= at <= source.seq:
            raise SeqOutOfRange(f"seq {shown(at)}: run {run_id} has records 1 to {source.seq}")
        there = heads.find(group.reading, self.asked.fork_id)
        if there is not None:
            raise exists(there)
        return source

    def _begin_or_show(self, group: Group, source: Head) -> Progress | None:
        """Copy what one batch takes, or come to an end; None when the fork is shown."""
        if self.progress is not None:
            copy = self.progress.copy
            loaded, problem = self._folded(group, source, copy.head)
        else:
            upto = _end_of_turn(group.reading, source, self.asked.at)
            number = source.number if source.again else None
            forks = lineage(source.forks, Fork(source.run_id, upto, self.asked.hold, number))
            head = heads.new(group.reading, group.batch, self.asked.fork_id, source.definition, group.now)
            copy = Copy(msgspec.structs.replace(head, forks=forks, started_at=source.started_at), upto)
            loaded, problem = self._folded(group, source, copy.head)  # before all else: it may not be possible
            copy = copying.step(group.reading, group.batch, source, copy)
        if not copy.complete:
            return self._hidden(group, source, copy)
        self._show(group, copy, loaded, problem)
        return None

    def _copy(self, group: Group, source: Head, copy: Copy) -> Progress:
        return self._hidden(group, source, copying.step(group.reading, group.batch, source, copy))

    def _hidden(self, group: Group, source: Head, copy: Copy) -> Progress:
        self.kept[self.asked.call] = copy.head.number
        copying.hide(group.batch, copy.head)
        return Progress(source.number, copy)

    def _folded(self, group: Group, source: Head, fork: Head) -> tuple[Loaded, Exception | None]:
        """The fork as its records fold to, from the run's snapshots; and why it can do no more, if so.

        Raises:
            ReducerError: today's code cannot fold it.
        """
        known = source.definition in group.code.definitions
        upto = fork.forks[-1].seq
        loaded = history.load(group.reading, source, group.code if known else None, upto)
        loaded.run.become_fork(fork.run_id, fork.number, fork.forks, again=fork.again)
        return loaded, None if known else missing(source.definition, group.code)

    def _show(self, group: Group, copy: Copy, loaded: Loaded, problem: Exception | None) -> None:
        run, number = loaded.run, copy.head.number
        cell = Cell(msgspec.structs.replace(copy.head, seq=0), run, chain=loaded.chain, problem=problem)
        group.touch(cell)
        cell.head = _head(copy.head, run, group.now)
        copying.show(group.batch, cell.head)
        opened = index_rows.all_of(run)
        index_rows.write(group.batch, group.reading, number, opened)
        wake_expectant(group, run.run_id)
        group.ask(AskedEffect(run.run_id, number, effect, run.effect_id(effect.key)) for effect in opened.asked)
        group.set_timer(index_rows.first_due(opened))
        if index_rows.looked_at(opened):
            group.wake(run.run_id)
        if run.end is not None:
            group.over.append((cell.head.status, cell.head.updated_at))
        group.tell_later(
            logs.info, "run forked", run_id=self.asked.run_id, at=run.seq, fork=run.run_id, held=self.asked.hold
        )
        group.answer(self.asked.call, run.run_id)
        for kept in take_for_waits(group, cell, opened.opened):
            take_turn(group, cell, [Posted(kept)])
        for kept in take_for_new(group, run.run_id):
            take_turn(group, cell, [Posted(kept)])


def _end_of_turn(reading: Reading, source: Head, at: int) -> int:
    """The seq of the last record that followed from what is at a seq, or beside it, in the same turn.

    A run that is cut in the midst of that would never do what it had decided: a child that is spawned and never starts.
    """
    for entry in history.entries(reading, source, None, at + 1):
        if entry.row.origin != "thread":
            break
        at = entry.seq
    return at


def _head(copied: Head, run: FoldedRun, now: int) -> Head:
    return msgspec.structs.replace(
        copied, status=run.status, updated_at=max(now, run.at), error=run.end.error if run.end else None
    )


class Forking:
    """Sees to it that histories that are copied in parts are copied to their end.

    Args:
        add: has a job put into a group.
        removals: what removes a copy that is of no use.
    """

    def __init__(self, add: Callable[[Job], None], removals: Removals) -> None:
        self._add = add
        self._removals = removals
        self._tasks: TaskGroup | None = None
        self._open: set[Call[str]] = set()
        self._limiter = anyio.CapacityLimiter(AT_ONCE)

    def serve(self, tasks: TaskGroup) -> None:
        """Copy in this task group."""
        self._tasks = tasks

    def begin(self, asked: Asked) -> None:
        """Begin to fork a run; the call is answered when the fork is shown, or cannot be."""
        assert self._tasks is not None, "a host that is not open is not asked"
        self._open.add(asked.call)
        self._tasks.start_soon(self._copy, asked)

    def stop(self, error: Exception) -> None:
        """Refuse what was not committed, after the tasks have ended."""
        for call in self._open:
            if not call.answered:
                call.refuse(error)

    async def _part(self, asked: Asked, progress: Progress | None) -> Progress | None:
        call: Call[Progress | None] = Call()
        async with self._limiter:
            self._add(Part(asked, progress, call, self._removals.kept))
            return await call.result()

    async def _copy(self, asked: Asked) -> None:
        progress: Progress | None = None
        try:
            while (progress := await self._part(asked, progress)) is not None:
                pass
        except Exception as error:  # noqa: BLE001 - whatever it is, it is for whoever asked
            asked.call.refuse(error)
        self._open.discard(asked.call)
        if self._removals.kept.pop(asked.call, None) is not None:
            self._removals.begin()  # unless it is shown by now
