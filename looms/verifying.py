"""Verifying a stored run: its log from the start, put to today's code record by record."""

from collections.abc import Callable

import msgspec
from anyio import lowlevel

from looms.actors.jobs import unknown
from looms.reducers.entries import Entry
from looms.reducers.errors import ModuleError, ReducerError
from looms.reducers.fold import fold
from looms.reducers.ids import checked_id
from looms.reducers.registry import Registry
from looms.reducers.verifying import Divergence, divergence, same_run
from looms.snapshots import heads, history, snapshot_rows
from looms.snapshots.chains import Misfit
from looms.snapshots.errors import StoreFormatError
from looms.snapshots.rows import Head
from looms.source import Source

AT_ONCE = 64  # records between two times that others are served


class Verification(msgspec.Struct, frozen=True):
    """What today's code makes of a run's log.

    ``sound`` is what a gate before a deploy asks: it agrees with the exit code of ``looms verify``.

    Attributes:
        run_id: the run.
        ok: no decision differs; there may be a stale snapshot, or the rest of a log that cannot be folded.
        records: how many were looked at.
        first_divergence: the first record at which today's code would decide otherwise.
        stale_snapshot: the first seq whose stored snapshot today's code does not arrive at, though it fits its states.
        divergences: how many records differ.
        snapshots: how many stored snapshots were compared.
        passed_over: how many were not, since they do not fit today's states or cannot be read; the log has it all.
        stopped: why today's code cannot fold the log any further; what follows was not looked at.
        hung: the seq at which today's code did not come to an end in the time that ``looms verify --run-timeout`` gave
            the run.
    """

    run_id: str
    ok: bool
    records: int
    first_divergence: Divergence | None = None
    stale_snapshot: int | None = None
    divergences: int = 0
    snapshots: int = 0
    passed_over: int = 0
    stopped: str | None = None
    hung: int | None = None

    @property
    def sound(self) -> bool:
        """Whether nothing was found: no decision differs, no snapshot is stale, and the log was folded to its end."""
        return self.ok and self.stale_snapshot is None and self.stopped is None and self.hung is None


async def verify(source: Source, run_id: str, begins: Callable[[int], None] = lambda seq: None) -> Verification:
    """Put a run's log to today's code, up to where it is now. Nothing is written.

    Args:
        source: where the run is.
        run_id: the run.
        begins: told of each seq before code is given its event.

    Raises:
        UnknownRun: there is no such run (any more).
        ModuleError: there is no code to verify with.
        StoreFormatError: a record is damaged or missing.
    """
    checked_id(run_id, "run id")
    if source.code is None:
        raise ModuleError("verifying asks today's code what it would decide; give modules=, the application's modules")
    await lowlevel.checkpoint()
    return await _Verifying(source, _head(source, run_id, None), source.code, begins).run()


class _Verifying:
    """One run's log on its way through today's code."""

    def __init__(self, source: Source, head: Head, code: Registry, begins: Callable[[int], None]) -> None:
        self._source = source
        self._begins = begins
        self._head = head
        self._code = code
        self._run = history.new_run(head)
        self._first: Divergence | None = None
        self._stale: int | None = None
        self._divergences = self._snapshots = self._passed_over = 0

    async def run(self) -> Verification:
        last, stopped = self._head.seq, None
        while self._run.seq < last and stopped is None:
            await lowlevel.checkpoint()
            self._head = head = _head(self._source, self._head.run_id, self._head.number)
            with self._source.view() as reading:
                page = history.page(reading, head, self._code, self._run.seq + 1, last)
                taken = set(snapshot_rows.seqs(reading, head.number, page[0].seq, page[-1].seq))
            for entry in page:
                if entry.seq % AT_ONCE == 0:
                    await lowlevel.checkpoint()
                with self._source.looking(self._head.run_id):
                    stopped = self._step(entry)
                if stopped is not None:
                    break
                if self._run.seq in taken:
                    self._compare()
        return Verification(
            self._head.run_id,
            self._first is None,
            self._run.seq + (stopped is not None),
            self._first,
            self._stale,
            self._divergences,
            self._snapshots,
            self._passed_over,
            stopped,
        )

    def _step(self, entry: Entry) -> str | None:
        """Put a record to today's code, and fold it; says why it cannot be folded."""
        self._begins(entry.seq)
        found = divergence(self._run, entry, self._code)
        if found is not None:
            self._first = self._first or found
            self._divergences += 1
        try:
            fold(self._run, entry, self._code)
        except ReducerError as error:
            return str(error)
        self._run.journal.clear()
        return None

    def _compare(self) -> None:
        """Compare the run with its snapshot of this seq."""
        with self._source.view() as reading:
            try:
                held = history.stored(reading, self._head, self._code, self._run.seq).run
            except (Misfit, StoreFormatError):
                self._passed_over += 1
                return
        self._snapshots += 1
        if self._stale is None and not same_run(held, self._run):
            self._stale = self._run.seq


def _head(source: Source, run_id: str, number: int | None) -> Head:
    with source.view() as reading:
        head = heads.find(reading, run_id)
    if head is None or number not in (None, head.number):
        raise unknown(run_id)
    return head
