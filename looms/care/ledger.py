"""What a check notes of each run it has walked, to know what must be in the tables that are not in the order of runs.

Such a table may have millions of rows, and what each run expects of it cannot be kept in memory. So the rows that are
expected and those that are there are taken into sums, by run: where the two differ there may be one too many, and only
the runs that share such a sum are looked at again. (Rows that are missing are found by looking them up.) Beside a host
that writes, some sums differ since the two were not taken at one moment; looking again, in one view, tells what is so.
"""

from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress

from looms.reducers.matching import Shape
from looms.snapshots import commits
from looms.snapshots.errors import StoreFormatError
from looms.snapshots.packing import read_u64, u64
from looms.snapshots.rows import LAST_NUMBER
from looms.snapshots.tables import COMMITS, LOG, RETAINED_INDEX, SHAPES, TIMERS, WAITS, Table
from looms.snapshots.view import View
from looms.snapshots.walks import Viewed, walked

SUMS = 1 << 16

Step = Callable[[int], None]
"""Is told of so many rows that were looked at; whoever wants the check to stop raises."""


class Tally:
    """Sums over rows, by run."""

    def __init__(self) -> None:
        self._sums = array("Q", bytes(8 * SUMS))

    def take(self, run: int, row: object) -> None:
        """Take a row into its run's sum; taken twice, it is as if it had not been there."""
        self._sums[run % SUMS] ^= hash(row) & (1 << 64) - 1

    def uneven(self, run: int) -> bool:
        """Whether what was expected of a run, or of one that shares its sum, is not what is there."""
        return self._sums[run % SUMS] != 0

    @property
    def even(self) -> bool:
        """Whether all that is there was expected."""
        return not any(self._sums)


class Ledger:
    """What is known of a store in the midst of its check.

    Attributes:
        step: is told of progress.
        tallies: the sums, by table.
        lost: the numbers of runs with records, and no head that tells of them.
        headless: there are runs whose head is missing or damaged.
        types: the types of the records that were looked at, each with its newest version.
        shaped: the open waits by type and shape, as of the beginning of the check.
        stored_shapes: what the table of shapes said then, by key.
        known: rows that were found to be wrong, so that nothing is told twice.
        runs, records, commits: how many were looked at.
        last_run: the greatest number of a run that a commit speaks of.
    """

    def __init__(self, step: Step) -> None:
        self.step = step
        self.tallies = {table: Tally() for table in (LOG, WAITS, TIMERS, RETAINED_INDEX)}
        self.lost: set[int] = set()
        self.headless = False
        self.types: dict[str, int] = {}
        self.shaped: Counter[tuple[str, Shape]] = Counter()
        self.stored_shapes: list[tuple[bytes, bytes | StoreFormatError]] = []
        self.shapes_known = False
        self.known: set[tuple[Table, bytes]] = set()
        self.runs = self.records = self.commits = self.last_run = 0
        self._behind = b""  # the key behind the last commit that was looked at
        self._since: dict[int, int] = {}  # by run, what was its last seq at the beginning, where it went on since

    def begin(self, store: Viewed) -> tuple[()]:
        """Note how things are at the beginning; nothing is told yet."""
        low = b""
        with store.view() as view:
            with suppress(StoreFormatError):
                for key in view.keys(COMMITS, high=u64(LAST_NUMBER + 1), reverse=True, limit=1):
                    self._behind = key + b"\0"
            while found := view.rows(SHAPES, low):
                self.stored_shapes += found
                low = found[-1][0] + b"\0"
        self.shapes_known = True
        return ()

    def catch_up(self, view: View) -> None:
        """Note which runs went on since the last look."""
        while found := view.rows(COMMITS, self._behind):
            self._behind = found[-1][0] + b"\0"
            for key, body in found:
                try:
                    if isinstance(body, StoreFormatError):
                        raise body
                    for turn in commits.turns(view, key, body):
                        self._since.setdefault(turn.run, turn.first - 1)
                except StoreFormatError:
                    self.shapes_known = False

    def at_beginning(self, run: int, seq: int) -> int:
        """The last seq that a run had at the beginning; ``seq`` is its last one as of the last look."""
        return self._since.get(run, seq)

    def went_on(self) -> list[int]:
        """The runs that were there at the beginning and went on since."""
        return [run for run, seq in self._since.items() if seq]


def suspects(store: Viewed, table: Table, ledger: Ledger, owner: int) -> Iterator[tuple[int, bytes]]:
    """Iterate over the rows of a table whose runs have a sum that does not come out even.

    Args:
        store: the store.
        table: the table.
        ledger: the ledger.
        owner: where in a key the run's number stands.
    """
    tally = ledger.tallies[table]

    def look(_: View, key: bytes, body: object) -> Iterator[tuple[int, bytes]]:
        if len(key) == table.key_size and tally.uneven(run := read_u64(key, owner)):
            yield run, key

    return walked(store, table, look, lambda _: ledger.step(0), 1_024)
