"""The reading half of a run's handle: its log, its states at any seq, its snapshots."""

from collections.abc import AsyncIterator, Iterator
from typing import Any, Generic, TypeVar

from anyio import lowlevel

from looms.actors.cell import missing
from looms.actors.jobs import unknown
from looms.pages import Pages
from looms.reducers.definitions import Projection
from looms.reducers.errors import InvalidInput, ReducerError, SeqOutOfRange
from looms.reducers.fold import fold
from looms.reducers.ids import checked_id
from looms.reducers.messages import shown, told
from looms.reducers.records import Record, record
from looms.reducers.run_changes import Change, changes
from looms.reducers.state import State
from looms.reducers.views import Replay, RunState, view
from looms.replaying import check_span, load, replays
from looms.snapshots import heads, history, log, snapshot_rows
from looms.snapshots.reading import Reading
from looms.snapshots.rows import Head
from looms.source import Source
from looms.summaries import Snapshot

S = TypeVar("S")
P = TypeVar("P", bound=State)


class RunReading(Generic[S]):
    """A run to look at. A handle: made without I/O, and it may be of a run that does not exist.

    Attributes:
        id: the run's id.
    """

    def __init__(self, source: Source, run_id: str) -> None:
        self._source = source
        self.id = checked_id(run_id, "run id")

    def __repr__(self) -> str:
        return f"<run {self.id}>"

    async def inspect(self) -> RunState:
        """The run as it is now: status, threads, waits, outstanding effects, mailbox.

        Raises:
            UnknownRun: there is no such run.
            ReducerError: today's code cannot fold it.
        """
        await lowlevel.checkpoint()
        with self._source.view() as reading:
            head = self._head(reading)
            code = self._source.code
            lost = code is not None and head.definition not in code.definitions
            endless = head.unfolded and head.status == "suspended"
            with self._source.looking(self.id):
                run = load(reading, head, None if lost or endless else code)
        suspended = head.error if head.status == "suspended" else None
        if lost and code is not None and run.end is None:
            suspended = str(missing(head.definition, code))
        return view(run, suspended)

    async def state(self) -> S:
        """The root thread's state.

        Raises:
            UnknownRun: there is no such run.
            ReducerError: today's code cannot fold it.
        """
        return (await self.inspect()).state  # type: ignore[no-any-return]

    async def replay_to(self, seq: int) -> Replay:
        """One event revisited: the run before it and after it, folded by today's code, and what was decided then.

        Never runs an effect and never writes.

        Raises:
            UnknownRun: there is no such run.
            SeqOutOfRange: it has no record of that seq.
            ReducerError: today's code cannot fold it.
        """
        await lowlevel.checkpoint()
        with self._source.view() as reading:
            head = self._head(reading)
            if type(seq) is not int or not 1 <= seq <= head.seq:
                raise SeqOutOfRange(f"seq {shown(seq)}: run {self.id} has records 1 to {head.seq}")
            code = self._source.code
            with self._source.looking(self.id):
                run = load(reading, head, code, seq - 1)
                before = view(run) if seq > 1 else None
                entry = history.entry(reading, head, seq, code)
                fold(run, entry, code)
        revisited = record(entry, *run.whose(seq))
        return Replay(seq, revisited, before, view(run), revisited.instructions)

    async def diff(self, a: int, b: int, other: "RunReading[Any] | str | None" = None) -> tuple[Change, ...]:
        """What differs between the run as of two seqs: status, states, threads, waits, effects, mailbox, output, error.

        Never runs an effect and never writes.

        Args:
            a, b: the seqs; 0 is the run before its first record, and the first may be the later one.
            other: another run, such as a fork of this one, or its id: ``b`` is of that run then. Effects are the same
                where they were asked for at the same place, whatever the run.

        Returns:
            A change for each place; none when the two are the same.

        Raises:
            UnknownRun: there is no such run.
            SeqOutOfRange: it has no record of such a seq.
            ReducerError: today's code cannot fold it.
        """
        await lowlevel.checkpoint()
        if other is not None and not isinstance(other, RunReading):
            other = RunReading(self._source, other)
        with self._source.view() as reading:
            before = self._as_of(reading, a)
            after = self._as_of(reading, b) if other is None else None
        if other is not None:
            with other._source.view() as reading:
                after = other._as_of(reading, b)
        return changes(before, after)

    def _as_of(self, reading: Reading, seq: int) -> RunState | None:
        head = self._head(reading)
        if type(seq) is not int or not 0 <= seq <= head.seq:
            raise SeqOutOfRange(
                f"seq {shown(seq)}: run {self.id} has records 1 to {head.seq}, and 0 is before the first"
            )
        with self._source.looking(self.id):
            return view(load(reading, head, self._source.code, seq)) if seq else None

    def replays(self, after: int = 0, *, to: int | None = None) -> AsyncIterator[Replay]:
        """The run's events revisited, one after the other: for each what ``replay_to`` gives, at the cost of one fold.

        Ends with what is recorded now. Never runs an effect and never writes. Errors are raised by the iteration.

        Args:
            after: begin behind this seq.
            to: end with this seq; without it, with the last.

        Raises:
            UnknownRun: there is no such run (any more).
            InvalidInput: a seq below 0, or an end before the beginning.
            ReducerError: today's code cannot fold it.
        """
        return replays(self._source, self.id, after, to)

    def events(self, after: int = 0, *, to: int | None = None, follow: bool = False) -> AsyncIterator[Record]:
        """The run's records, in order. Errors are raised by the iteration.

        Args:
            after: begin behind this seq.
            to: end with this seq; without it, with the last.
            follow: go on with what is recorded from now on, until the run is over.

        Raises:
            UnknownRun: there is no such run (any more).
            InvalidInput: a seq below 0, or an end before the beginning.
        """
        number: int | None = None

        async def read() -> Iterator[Record] | None:
            nonlocal after, number
            if number is None:
                check_span(after, to)
            while number is None or to is None or after < to:  # look once at the least: there may be no such run
                more = self._source.next_commit(self.id)
                with self._source.view() as reading:
                    head = self._head(reading)
                    page = log.page(reading, head, after + 1, to)
                if number not in (None, head.number):
                    raise unknown(self.id)  # it was deleted; this is another one of its id
                number = head.number
                if page:
                    after = page[-1][0]
                    return (
                        record(history.entry_of(reading, head, seq, data, self._source.code), *history.whose(head, seq))
                        for seq, data in page
                    )
                if not follow or head.status not in heads.UNFINISHED or (to is not None and after >= to):
                    break
                await more.wait()
            return None

        return Pages(read)

    async def project(self, projection: Projection[P]) -> P:
        """Fold the run's events, of the types that a projection names, into its state.

        Raises:
            UnknownRun: there is no such run.
            ReducerError: the projection raised.
        """
        if not isinstance(projection, Projection):
            raise InvalidInput(f"{shown(projection)} is no projection; give one as @module.projection left it")
        state: P = projection.state()
        async for one in self.events():
            if type(one.event) in projection.handles and one.event is not None:
                try:
                    with self._source.looking(self.id):
                        state = projection(state, one.event)
                except Exception as error:
                    raise ReducerError(
                        f"run {self.id}: {projection.name} could not take {one.type} at seq {one.seq}: {told(error)}",
                        run_id=self.id,
                        seq=one.seq,
                        type=one.type,
                    ) from error
        return state

    def snapshots(self) -> AsyncIterator[Snapshot]:
        """The run's stored snapshots, oldest first. Errors are raised by the iteration.

        Raises:
            UnknownRun: there is no such run.
        """
        after = 0

        async def read() -> list[Snapshot] | None:
            nonlocal after
            with self._source.view() as reading:
                page = snapshot_rows.page(reading, self._head(reading).number, after)
            if not page:
                return None
            after = page[-1][0]
            return [Snapshot(seq, info.at, info.kind, info.base, info.bytes) for seq, info in page]

        return Pages(read)

    async def snapshot(self, seq: int) -> RunState:
        """The run as a stored snapshot has it.

        Raises:
            UnknownRun: there is no such run.
            SeqOutOfRange: there is no snapshot of that seq.
        """
        await lowlevel.checkpoint()
        with self._source.view() as reading:
            head = self._head(reading)
            known = type(seq) is int and 1 <= seq <= head.seq
            if not known or snapshot_rows.get(reading, head.number, seq) is None:
                there = [str(stored) for stored, _ in snapshot_rows.page(reading, head.number)]
                raise SeqOutOfRange(
                    f"run {self.id} has no snapshot at seq {shown(seq)}; it has {', '.join(there) or 'none yet'}"
                )
            with self._source.looking(self.id):
                return view(load(reading, head, self._source.code, seq))

    def _head(self, reading: Reading) -> Head:
        head = heads.find(reading, self.id)
        if head is None:
            raise unknown(self.id)
        return head
