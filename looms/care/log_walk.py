"""The walk over commits and log side by side: every record is in exactly one commit, in the order of both.

Records stand in the log in the order of the commits' turns, so two walks in step suffice, however long they are. Where
the two are not in step, the run's extents tell where the record is that the commit speaks of. Records of runs that were
removed are gone, and their turns stay.
"""

from collections.abc import Iterable, Iterator

from looms.care.findings import Damage, damage, reason, rows
from looms.care.ledger import Ledger
from looms.snapshots import commits, heads, walks
from looms.snapshots.errors import StoreFormatError
from looms.snapshots.packing import after, read_u64, u64
from looms.snapshots.rows import Head, Turn, encode
from looms.snapshots.tables import COMMITS, LOG, RUNS
from looms.snapshots.view import View
from looms.snapshots.walks import Viewed, Whose

PAGE = 64  # commits between two views
MISSING = 1_000  # commits that may be missing one after the other, and can be made again


def check_log(store: Viewed, ledger: Ledger) -> Iterator[Damage]:
    """Walk over all commits and all records."""
    walk = LogWalk(ledger)
    more = True
    while more:
        with store.view() as view:
            more = walk.go_on(view)
        yield from walk.told()
        ledger.step(walk.looked)


class LogWalk:
    """Where the walk stands.

    Attributes:
        looked: how many rows the last step looked at.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._commit = 0
        self._behind = b""
        self._position = 0  # the last one that was looked at
        self._unclaimed: list[tuple[int, Whose]] = []  # records that no commit has spoken of yet
        self._lost: list[bytes] = []  # commits that cannot be read, since the last one that could
        self._found: list[Damage] = []
        self._ahead: Iterator[tuple[int, bytes | StoreFormatError]] = iter(())
        self._next: tuple[int, Whose | None, bytes | StoreFormatError] | None = None
        self._heads: dict[int, Head | None] = {}
        self.looked = 0

    def told(self) -> list[Damage]:
        """What was found since the last time."""
        found, self._found = self._found, []
        return found

    def go_on(self, view: View) -> bool:
        """Walk over the next commits and their records. Return whether there may be more."""
        self.looked = 0
        self._heads.clear()
        self._ahead = self._records(view)
        self._advance()
        page = view.rows(COMMITS, self._behind, None, PAGE)
        for key, body in page:
            self._behind = key + b"\0"
            self._one(view, key, body)
        if len(page) == PAGE:
            return True
        while self._next is not None:
            self._skip(view)
        if self._unclaimed:
            self._lost = self._lost or [u64(self._commit + 1)]
        self._settle(view)
        return False

    def _records(self, view: View) -> Iterator[tuple[int, bytes | StoreFormatError]]:
        for row in walks.in_log(view, self._position + 1):
            self.looked += 1
            yield row

    def _advance(self) -> None:
        row = next(self._ahead, None)
        self._next = None if row is None else (row[0], walks.whose(row[1]), row[1])

    def _take(self, view: View) -> tuple[int, Whose | None]:
        """Leave the next record behind."""
        assert self._next is not None
        self._position, one, body = self._next
        key = u64(self._position)
        if one is not None:
            self._ledger.tallies[LOG].take(one.run, (one.run, one.seq))
            if self._head(view, one.run) is None and not view.rows(RUNS, u64(one.run), after(u64(one.run)), 1):
                self._ledger.lost.add(one.run)
        elif (LOG, key) not in self._ledger.known:
            why = reason(body) if isinstance(body, StoreFormatError) else "its bytes are something else"
            self._found.append(damage(LOG, key, f"it is no record: {why}"))
        self._advance()
        return self._position, one

    def _skip(self, view: View) -> None:
        """Leave a record behind that no commit has spoken of."""
        position, one = self._take(view)
        if one is not None:
            self._unclaimed.append((position, one))

    def _one(self, view: View, key: bytes, body: bytes | StoreFormatError) -> None:
        self.looked += 1
        self._ledger.commits += 1
        if len(key) != 8:
            self._found.append(damage(COMMITS, key, "its key is no number", rows((COMMITS, key, None))))
            return
        number = read_u64(key)
        if number > self._commit + 1:
            self._gap(number, key, body)
            if isinstance(body, StoreFormatError):
                return
        self._commit = number
        try:
            if isinstance(body, StoreFormatError):
                raise body
            turns = commits.turns(view, key, body)
        except StoreFormatError:
            self._lost.append(key)
            return
        for turn in turns:
            self._turn(view, key, turn)

    def _gap(self, number: int, key: bytes, body: bytes | StoreFormatError) -> None:
        """Some commits are missing before this one; one that cannot be read either was perhaps never there."""
        if isinstance(body, StoreFormatError):
            what = f"it comes behind commit {self._commit}, and cannot be read: {reason(body)}"
            self._found.append(damage(COMMITS, key, what, rows((COMMITS, key, None))))
        elif number - self._commit > MISSING:
            what = f"it comes behind commit {self._commit}: there is no telling what is missing"
            self._found.append(damage(COMMITS, key, what))
        else:
            self._lost += [u64(missing) for missing in range(self._commit + 1, number)]

    def _turn(self, view: View, key: bytes, turn: Turn) -> None:
        head = self._head(view, turn.run)
        if turn.first < 1 or turn.last < turn.first or (head is not None and turn.last > head.seq):
            last = "?" if head is None else head.seq
            what = f"it says that run number {turn.run} got records {turn.first} to {turn.last}, and it has 1 to {last}"
            self._found.append(damage(COMMITS, key, what, run_id=None if head is None else head.run_id))
            if head is None:
                return
        if head is None:
            self._removed(view, turn)
            return
        for seq in range(max(turn.first, 1), min(turn.last, head.seq) + 1):
            if self._next is not None and self._next[1] == Whose(turn.run, seq):
                self._settle(view)
                self._take(view)
            elif not self._find(view, key, head, seq):
                return

    def _removed(self, view: View, turn: Turn) -> None:
        """Leave behind what is still there of a turn of a run that is removed, or whose head is lost."""
        while self._next is not None and (one := self._next[1]) is not None:
            if one.run != turn.run or not turn.first <= one.seq <= turn.last:
                return
            self._take(view)

    def _find(self, view: View, key: bytes, head: Head, seq: int) -> bool:
        """Look where the record is that a commit speaks of. Return whether to go on with the turn."""
        where = walks.position(view, head, seq)
        if where is None:
            return True  # the walk over the run has said so
        if where <= self._position:
            what = f"record {seq} of run {head.run_id} was in an earlier commit already, or stands out of order"
            self._found.append(damage(COMMITS, key, what, run_id=head.run_id, seq=seq))
            return False
        while self._next is not None and self._next[0] < where:
            self._skip(view)
        if self._next is not None and self._next[0] == where:
            self._settle(view)
            self._take(view)
        return True

    def _settle(self, view: View) -> None:
        """Say what became of records that no commit speaks of, and of commits that cannot be read, in between."""
        if not self._lost and not self._unclaimed:
            return
        turns = list(_turns(one for at, one in self._unclaimed if self._is_at(view, one, at)))
        for n, key in enumerate(self._lost):
            made = turns if n == 0 else []
            what = (
                "the commit is missing or cannot be read; what it holds, but for runs that are removed, the log tells"
            )
            # As long as heads are missing there is no telling which records are of runs that are removed.
            mend = rows() if self._ledger.headless else rows((COMMITS, key, encode(made)))
            self._found.append(damage(COMMITS, key, what, mend))
        if not self._lost:
            for position, one in self._unclaimed:
                if self._head(view, one.run) is None:
                    continue  # it is being removed
                what = f"record {one.seq} of run number {one.run} is in no commit"
                self._found.append(damage(LOG, u64(position), what, seq=one.seq))
        self._lost, self._unclaimed = [], []

    def _is_at(self, view: View, one: Whose, position: int) -> bool:
        """Whether a record stands where its run says, if that run still says something."""
        head = self._head(view, one.run)
        return head is None or walks.position(view, head, one.seq) == position

    def _head(self, view: View, number: int) -> Head | None:
        """The head of a run, also of one that is being removed; None for one that is gone, or whose head is lost."""
        if number not in self._heads:
            try:
                self._heads[number] = heads.stored(view, number)
            except StoreFormatError:
                self._heads[number] = None
        return self._heads[number]


def _turns(records: Iterable[Whose]) -> Iterator[Turn]:
    """Consecutive records as turns."""
    run = first = last = 0
    for one in records:
        if (one.run, one.seq) == (run, last + 1):
            last += 1
            continue
        if run:
            yield Turn(run, first, last)
        run, first, last = one.run, one.seq, one.seq
    if run:
        yield Turn(run, first, last)
