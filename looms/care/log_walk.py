"""The walk over commits and log side by side: every record is in exactly one commit, in the order of both.

Records stand in the log in the order of the commits' turns, so two walks in step suffice, however long they are. Out of
step is the history of a fork, which may be copied in parts before the commit that shows it. Such records are *pending*,
as ranges, until a turn speaks of them. Records of runs that were removed are gone, and their turns stay.
"""

from collections.abc import Iterable, Iterator

import msgspec

from looms.care.findings import Damage, damage, reason, rows
from looms.care.ledger import Ledger
from looms.care.tables import NO_NUMBER
from looms.snapshots import commits, heads, walks
from looms.snapshots.errors import StoreFormatError
from looms.snapshots.packing import after, read_u64, u64
from looms.snapshots.rows import LAST_NUMBER, Head, Turn, encode
from looms.snapshots.tables import COMMITS, LOG, RUNS
from looms.snapshots.view import View
from looms.snapshots.walks import Viewed, Whose

PAGE = 64  # commits between two views
MISSING = 1_000  # commits that may be missing one after the other, and can be made again


class Pending(msgspec.Struct):
    """Records of a run, side by side in the log, that no turn has spoken of."""

    position: int
    run: int
    first: int
    last: int


class Lost(msgspec.Struct):
    """Commits that cannot be read, and between which positions their records are."""

    keys: list[bytes]
    low: int
    high: int | None = None


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
        self._pending: dict[int, list[Pending]] = {}
        self._lost: list[Lost] = []
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
        last = self._position
        while self._next is not None:
            self._skip(view)
        self._settle(view, last)
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
        if self._position > LAST_NUMBER:
            what = f"{NO_NUMBER}: no run can have it there"
            self._found.append(damage(LOG, key, what, rows((LOG, key, None))))
        elif one is not None:
            self._ledger.tallies[LOG].take(one.run, (one.run, one.seq))
            if self._head(view, one.run) is None and not view.rows(RUNS, u64(one.run), after(u64(one.run)), 1):
                self._ledger.lost.add(one.run)
        elif (LOG, key) not in self._ledger.known:
            why = reason(body) if isinstance(body, StoreFormatError) else "its bytes are something else"
            self._found.append(damage(LOG, key, f"it is no record: {why}"))
        self._advance()
        return self._position, one

    def _skip(self, view: View) -> None:
        """Leave a record behind that no commit has spoken of yet."""
        position, one = self._take(view)
        if one is None:
            return
        ranges = self._pending.setdefault(one.run, [])
        newest = ranges[-1] if ranges else None
        if newest is not None and (newest.last + 1, newest.position + newest.last - newest.first + 1) == (
            one.seq,
            position,
        ):
            newest.last = one.seq
        else:
            ranges.append(Pending(position, one.run, one.seq, one.seq))

    def _one(self, view: View, key: bytes, body: bytes | StoreFormatError) -> None:
        self.looked += 1
        self._ledger.commits += 1
        if len(key) != 8:
            self._found.append(damage(COMMITS, key, "its key is no number", rows((COMMITS, key, None))))
            return
        number = read_u64(key)
        if number > LAST_NUMBER:
            self._found.append(damage(COMMITS, key, NO_NUMBER, rows((COMMITS, key, None))))
            return
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
            self._lose([key])
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
            self._lose([u64(missing) for missing in range(self._commit + 1, number)])

    def _lose(self, keys: list[bytes]) -> None:
        if self._lost and self._lost[-1].high is None:
            self._lost[-1].keys += keys
        else:
            self._lost.append(Lost(keys, self._position))

    def _turn(self, view: View, key: bytes, turn: Turn) -> None:
        self._ledger.last_run = max(self._ledger.last_run, turn.run)
        head = self._head(view, turn.run)
        if turn.first < 1 or turn.last < turn.first or (head is not None and turn.last > head.seq):
            last = "?" if head is None else head.seq
            what = f"it says that run number {turn.run} got records {turn.first} to {turn.last}, and it has 1 to {last}"
            self._found.append(damage(COMMITS, key, what, run_id=None if head is None else head.run_id))
        if head is None:
            self._removed(view, turn)
            return
        seq, last = max(turn.first, 1), min(turn.last, head.seq)
        while seq <= last:
            if self._next is not None and self._next[1] == Whose(turn.run, seq):
                self._in_step(view)
                seq += 1
                continue
            behind = self._find(view, key, head, seq, last)
            if behind is None:
                return
            seq = behind

    def _removed(self, view: View, turn: Turn) -> None:
        """Leave behind what is still there of a turn of a run that is removed, or whose head is lost."""
        self._pending.pop(turn.run, None)
        while self._next is not None and (one := self._next[1]) is not None:
            if one.run != turn.run or not turn.first <= one.seq <= turn.last:
                return
            self._in_step(view)

    def _find(self, view: View, key: bytes, head: Head, seq: int, last: int) -> int | None:
        """Look where the record is that a turn speaks of. Return the seq to go on with; None to go on with no more."""
        where = walks.position(view, head, seq)
        if where is None:
            return seq + 1  # the walk over the run has said so
        if where <= self._position:
            behind = self._copied(head.number, seq, last)
            if behind is None and head.status not in heads.HIDDEN:
                what = f"record {seq} of run {head.run_id} was in an earlier commit already, or stands out of order"
                self._found.append(damage(COMMITS, key, what, run_id=head.run_id, seq=seq))
            return behind
        while self._next is not None and self._next[0] < where:
            self._skip(view)
        if self._next is not None and self._next[0] == where:
            self._in_step(view)
        return seq + 1

    def _in_step(self, view: View) -> None:
        position, _ = self._take(view)
        if self._lost and self._lost[-1].high is None:
            self._lost[-1].high = position

    def _copied(self, run: int, seq: int, last: int) -> int | None:
        """Take records as spoken of that were left behind. Return the seq behind them; None where there are none."""
        ranges = self._pending.get(run, [])
        for one in ranges:
            if one.first <= seq <= one.last:
                behind = min(one.last, last) + 1
                ranges.remove(one)
                if one.first < seq:
                    ranges.append(Pending(one.position, run, one.first, seq - 1))
                if behind <= one.last:
                    ranges.append(Pending(one.position + behind - one.first, run, behind, one.last))
                if not ranges:
                    del self._pending[run]
                return behind
        return None

    def _settle(self, view: View, last: int) -> None:
        """Say what became of commits that cannot be read, and of records that no commit speaks of.

        Args:
            last: the last position that a commit has spoken of.
        """
        left = [one for ranges in self._pending.values() for one in ranges if self._is_at(view, one)]
        if any(one.position > last for one in left) and not (self._lost and self._lost[-1].high is None):
            self._lost.append(Lost([u64(self._commit + 1)], last))
        for lost in self._lost:
            inside = [one for one in left if lost.low < one.position and (not lost.high or one.position < lost.high)]
            self._made_again(lost, sorted(inside, key=lambda one: one.position))
            left = [one for one in left if one not in inside]
        for one in left:
            what = f"records {one.first} to {one.last} of run number {one.run} are in no commit"
            self._found.append(damage(LOG, u64(one.position), what, seq=one.first))

    def _made_again(self, lost: Lost, inside: Iterable[Pending]) -> None:
        """Say that commits are lost; where several are, side by side, the first is given what all of them held."""
        turns = [Turn(one.run, one.first, one.last) for one in inside]
        for key in lost.keys:
            what = "the commit is missing or cannot be read; the log tells what it holds of runs that are there"
            # As long as heads are missing there is no telling which records are of runs that are removed.
            mend = rows() if self._ledger.headless else rows((COMMITS, key, encode(turns)))
            self._found.append(damage(COMMITS, key, what, mend))
            turns = []

    def _is_at(self, view: View, one: Pending) -> bool:
        """Whether records stand where their run says, and it is one that commits must speak of."""
        head = self._head(view, one.run)
        if head is None or head.status in heads.HIDDEN:
            return False
        return walks.position(view, head, one.first) == one.position

    def _head(self, view: View, number: int) -> Head | None:
        """The head of a run, also of one that is being removed; None for one that is gone, or whose head is lost."""
        if number not in self._heads:
            try:
                self._heads[number] = heads.stored(view, number)
            except StoreFormatError:
                self._heads[number] = None
        return self._heads[number]
