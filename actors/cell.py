"""Cells: the single writer of one run, in memory only while it has work, or is remembered from the last time.

What comes to a run is posted to its cell. A turn takes what was posted, and what waits in the durable inbox, plans the
records, and the next turn begins when they are committed: so a cell is *busy* from the planning to the commit, and
whoever reads it waits for that.
"""

from typing import Any

import msgspec

from looms.actors import logs
from looms.actors.calls import Call
from looms.reducers.errors import ModuleError, ReducerError, RunSuspended
from looms.reducers.folded import FoldedRun
from looms.reducers.items import Item
from looms.reducers.registry import Registry
from looms.snapshots import history
from looms.snapshots.chains import Chain
from looms.snapshots.errors import StoreFormatError
from looms.snapshots.reading import Reading
from looms.snapshots.rows import Head
from looms.snapshots.timers import TimerKey


class Round:
    """Timers that are posted together, in the order in which they are due.

    When one of them cannot be written, those behind it are put off: what came due while the disk refused everything
    fires in its order when there is room again.
    """

    stopped = False


class Posted(msgspec.Struct, frozen=True, gc=False):
    """An item for a cell.

    Attributes:
        item: what came.
        call: who waits for what becomes of it.
        number: of the run that it is for; None: of whichever has the id when it is taken.
        message: its number in the durable inbox, when it is there.
        timer: the row of the timer that brought it.
        round: the timers that were posted with it, if it is one.
        until: keep it till then (milliseconds since 1970) when there is no such run yet.
    """

    item: Item
    call: Call[Any] | None = None
    number: int | None = None
    message: int | None = None
    timer: TimerKey | None = None
    round: Round | None = None
    until: int | None = None

    @property
    def put_off(self) -> bool:
        """Whether it is a timer before which another one could not be written."""
        return self.round is not None and self.round.stopped


class Cell:
    """The writer of one run.

    Attributes:
        head: the run's head as of the last commit, or as planned while the cell is busy.
        run: the run, folded; without states where today's code cannot fold it.
        problem: why today's code cannot fold it, or None.
        snapshot: the seq at which a snapshot was written or tried last; 0 for none.
        chain: what the next snapshot may stand on.
        unread: there may be something in the durable inbox.
        deferred: something in the durable inbox waits for room in the mailbox.
        skipped: the last message of the durable inbox that waits for room; those behind it are looked at next.
        busy: a turn is planned and not committed.
        pictured: a snapshot of it is being made.
    """

    __slots__ = ("busy", "chain", "deferred", "head", "pictured", "problem", "run", "skipped", "snapshot", "unread")

    def __init__(
        self, head: Head, run: FoldedRun, *, chain: Chain | None = None, problem: Exception | None = None
    ) -> None:
        self.head = head
        self.run = run
        self.chain = chain or Chain()
        self.snapshot = self.chain.seq
        self.problem = problem
        self.unread = True
        self.busy = False
        self.pictured = False
        self.deferred = False
        self.skipped = 0

    @property
    def held(self) -> bool:
        """Whether its definition is missing today: all that comes waits until it is back."""
        return isinstance(self.problem, ModuleError)

    @property
    def unfoldable(self) -> ReducerError | None:
        """The error of today's code on its past, for one more who asks.

        It is the same error for all, and would hold the frames of all to whom it was ever raised.
        """
        return self.problem.with_traceback(None) if isinstance(self.problem, ReducerError) else None

    @property
    def suspended(self) -> str | None:
        """Why it takes nothing until somebody does something about it, or None."""
        if self.run.end is not None:
            return None
        if self.problem is not None:
            return str(self.problem)
        return self.head.error if self.head.status == "suspended" else None

    @property
    def at_rest(self) -> bool:
        """Whether nothing goes on in it: its run is over, or suspended."""
        return self.run.end is not None or self.suspended is not None


def load_cell(reading: Reading, head: Head, code: Registry, *, again: bool = False) -> Cell:
    """Bring a cell back from the store.

    Args:
        reading: the store.
        head: the run's head in it.
        code: today's code.
        again: fold it, though that did not come to an end the last time.

    Raises:
        StoreFormatError: a record is damaged or missing.
    """
    problem: Exception | None
    if head.unfolded and head.status == "suspended" and not again:
        problem = RunSuspended(head.error or "bringing it back did not come to an end")
    elif head.definition in code.definitions:
        try:
            loaded = history.load(reading, head, code)
            warn_of_damage(head, loaded.passed_over)
            return Cell(head, loaded.run, chain=loaded.chain)
        except ReducerError as error:
            problem = error
    else:
        problem = missing(head.definition, code)
    return Cell(head, history.load(reading, head, None).run, problem=problem)


def warn_of_damage(head: Head, passed_over: tuple[StoreFormatError, ...]) -> None:
    """Say that a run was brought back without its newest snapshots, since they, or what they stand on, are damaged."""
    if passed_over:
        logs.warning(
            "snapshots passed over, as there is damage",
            run_id=head.run_id,
            damaged=sorted({error.seq for error in passed_over if error.seq is not None}),
            error=str(passed_over[0]),
        )


def missing(definition: str, code: Registry) -> ModuleError:
    """Why a run of a definition that is not here takes nothing."""
    return ModuleError(f"{code.no_definition(definition)}; the run goes on when it is back")
