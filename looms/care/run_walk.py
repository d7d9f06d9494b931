"""The walk over one run: its records from the first to the last, folded without the application's code.

The log is read page by page, a view each. The view that has no more records is the one in which all that follows from
them is compared with what is stored: so beside a host that writes, both are of one moment.
"""

from typing import Any

import msgspec

from looms.care.findings import Damage, damage, reason
from looms.care.ledger import Ledger
from looms.care.rebuilt import rebuilt
from looms.care.run_rows import answer_in, compare
from looms.care.run_snapshots import check_snapshot, resumed, stored_seqs
from looms.reducers.agreement import misplaced
from looms.reducers.entries import Entry, unpack_entry
from looms.reducers.errors import ReducerError
from looms.reducers.fold import fold
from looms.reducers.folded import FoldedRun
from looms.reducers.possible import Possible
from looms.reducers.rebuilding import DoesNotFit, check_runtime_event
from looms.reducers.registry import Registry
from looms.snapshots import heads, history, log, rebuilding, walks
from looms.snapshots.errors import StoreFormatError
from looms.snapshots.packing import pair, u64
from looms.snapshots.rows import Head
from looms.snapshots.tables import EXTENTS, KEYS, LOG, RUNS, Table
from looms.snapshots.view import View

PAGE = 256  # records between two views
PAGE_BYTES = 4 << 20


class RunWalk:
    """One run on its way.

    Args:
        number: the run's number.
        ledger: what is noted for the tables that are not in the order of runs; None when a run is looked at again.
        code: the application's code, to tell whether snapshots hold the states that it arrives at; or None.
        suspects: rows of those tables that may be too many.

    Attributes:
        head: the run's head as of the last look; None where it is damaged, or the run is gone.
        gone: there is no such run, or it is being removed.
        discarded: it is being removed with rows that may be anywhere.
        run: the run as its records fold; None behind a record that is lost.
        coded: the run as the application's code folds it; None without code, or where the code cannot.
        seq: the last record that was looked at.
        answered: how many keys have their answer at a record that was seen.
        bad_keys: the keys whose answer is not there or is another, and what it should be.
        found: what is wrong.
    """

    def __init__(
        self,
        number: int,
        ledger: Ledger | None,
        code: Registry | None = None,
        suspects: dict[Table, list[bytes]] | None = None,
    ) -> None:
        self.number = number
        self.ledger = ledger
        self.suspects = suspects or {}
        self.head: Head | None = None
        self.gone = False
        self.discarded = False
        self.run: FoldedRun | None = None
        self.coded: FoldedRun | None = None
        self._code = code
        self.seq = 0
        self.first_at: int | None = None
        self.last_at: int | None = None
        self._possible = Possible()
        self.whole = True  # every record so far could be read
        self._resume: int | None = None
        self._shaped = False
        self.answered = 0
        self.bad_keys: dict[bytes, tuple[int, str]] = {}
        self.found: list[Damage] = []

    def go_on(self, view: View) -> bool:
        """Look at the next records; with the last of them, at all that follows. Return whether that was all."""
        if self.ledger is not None:
            self.ledger.catch_up(view)
        head = self._look(view)
        if head is None:
            return True
        last = min(head.seq, self.seq + PAGE)
        snapshots = stored_seqs(view, self.number, self.seq + 1, last) if self.ledger is not None else set()
        size = 0
        while self.seq < last and size < PAGE_BYTES:
            try:
                for seq, data in log.records(view, head, self.seq + 1, last):
                    self._record(view, head, seq, data)
                    if seq in snapshots:
                        self.found += check_snapshot(view, head, seq, self.run, self.coded, self._code)
                    size += len(data)
                    if size >= PAGE_BYTES:
                        break
            except StoreFormatError as error:
                self._missing(view, head, error)
        if self.seq < head.seq:
            return False
        if self.ledger is not None and not self._shaped and self.ledger.at_beginning(self.number, head.seq):
            self.ledger.shapes_known = False
        self.found += compare(view, self)
        return True

    def _look(self, view: View) -> Head | None:
        """The head, as it is now."""
        try:
            self.head = heads.stored(view, self.number)
        except StoreFormatError as error:
            self.head = None
            if self.ledger is not None:
                self.ledger.shapes_known, self.ledger.headless = False, True
            self.wrong(RUNS, u64(self.number), f"{reason(error)}", rebuilt(self.number))
            return None
        self.gone = self.head is None or self.head.status in heads.HIDDEN
        self.discarded = self.head is not None and self.head.status == heads.DISCARDED
        if self.discarded and self.ledger is not None:
            self.ledger.shapes_known = False  # its waits are counted as long as they are there
        if self.head is None or self.gone:
            return None
        if self.run is None and self.seq == 0:
            self.run = history.new_run(self.head)
            self.coded = None if self._code is None else history.new_run(self.head)
        return self.head

    def wrong(self, table: Table, key: bytes, what: str, mend: Any = None, *, seq: int | None = None) -> None:
        """Something is wrong with a row of the run."""
        run_id = None if self.head is None else self.head.run_id
        self.found.append(damage(table, key, what, mend, run_id=run_id, seq=seq))

    def _record(self, view: View, head: Head, seq: int, data: bytes) -> None:
        self.seq = seq
        if self.ledger is not None:
            self.ledger.tallies[LOG].take(self.number, (self.number, seq))
            self.ledger.records += 1
        try:
            entry = unpack_entry(data, None)
            if (entry.row.run, entry.seq) != (self.number, seq):
                raise ValueError(f"it is record {entry.seq} of run number {entry.row.run}")
            if entry.row.type.startswith("looms."):
                check_runtime_event(entry.row)
        except (msgspec.MsgspecError, ValueError, RecursionError, DoesNotFit) as error:
            self._lose(view, head, seq, seq, f"it is no record of this run: {reason(error)}")
            return
        if self.ledger is not None:
            types, type = self.ledger.types, entry.row.type
            types[type] = max(types.get(type, 0), entry.row.version)
        self._in_order(view, head, entry)
        self._key(view, entry)
        self._fold(view, head, entry, data)
        if self.ledger is not None and seq == self.ledger.at_beginning(self.number, head.seq):
            self._shapes(self.ledger)

    def _in_order(self, view: View, head: Head, entry: Entry) -> None:
        if self.seq == 1:
            self.first_at = entry.row.at
        what = misplaced(entry, self.last_at)
        if what is None and self.run is not None:
            what = self._possible.problem(self.run, entry)
        if what is not None:
            where = walks.position(view, head, self.seq)
            self.wrong(LOG, b"" if where is None else u64(where), f"record {self.seq}: {what}", seq=self.seq)
        self.last_at = entry.row.at

    def _key(self, view: View, entry: Entry) -> None:
        """See whether the key of a record has its answer: the seq of the last record that came with it."""
        if entry.more.key is None or self.ledger is None:
            return
        name = u64(self.number) + entry.more.key.encode()
        try:
            body = view.get(KEYS, name)
            answer = None if body is None else answer_in(view, name, body)
        except StoreFormatError as error:
            self.bad_keys[name] = (self.seq, reason(error))
            return
        if answer == self.seq:
            self.answered += 1
        elif answer is None or answer < self.seq:
            was = "there is no answer" if answer is None else f"the answer is {answer}"
            self.bad_keys[name] = (self.seq, f"record {self.seq} came with this key, and {was}")

    def _fold(self, view: View, head: Head, entry: Entry, data: bytes) -> None:
        if self.run is None:
            if self.seq == self._resume:
                self.run = resumed(view, head, self.seq)
                self._resume = None if self.run else next(iter(sorted(self._ahead(view, head))), None)
            return
        try:
            fold(self.run, entry, None)
        except (ReducerError, AttributeError, KeyError, TypeError) as error:
            self._lose(view, head, self.seq, self.seq, f"it cannot follow the records before it: {reason(error)}")
            return
        self.run.journal.clear()
        if self.coded is not None and self._code is not None:
            try:
                fold(self.coded, unpack_entry(data, self._code), self._code)
                self.coded.journal.clear()
            except ReducerError:
                self.coded = None  # today's code cannot fold the log, which is nothing that is wrong with the store

    def _missing(self, view: View, head: Head, error: StoreFormatError) -> None:
        """A record cannot be read, or nothing says where some are: go on behind them."""
        seq = self.seq + 1
        if error.table == LOG.name and error.key is not None:
            self._lose(view, head, seq, seq, (error.__cause__ and reason(error.__cause__)) or ("it is missing"))
            self.seq = seq
            return
        last = walks.next_located(view, head, seq) - 1
        why = f": {reason(error)}" if error.table == EXTENTS.name else ""
        which = f"records {seq} to {last}" if last > seq else f"record {seq}"
        self.wrong(
            EXTENTS,
            error.key if error.table == EXTENTS.name and error.key else pair(self.number, seq),
            f"nothing says where {which} are in the log{why}",
            lambda now: rebuilding.between(now, head, seq, last),
            seq=seq,
        )
        self._unfold(view, head, last)
        self.seq = last

    def _lose(self, view: View, head: Head, first: int, last: int, what: str) -> None:
        where = walks.position(view, head, first)
        self.wrong(LOG, b"" if where is None else u64(where), f"record {first} is lost: {what}", seq=first)
        if self.ledger is not None and where is not None:
            self.ledger.known.add((LOG, u64(where)))
        self._unfold(view, head, last)

    def _unfold(self, view: View, head: Head, last: int) -> None:
        """What the run folds to is not known behind a lost record, until there is a snapshot of a later one."""
        self.run = self.coded = None
        self.whole = False
        self._resume = next(iter(sorted(self._ahead(view, head, last))), None)
        if self._resume is not None and self._resume == last:
            self.run = resumed(view, head, last)

    def _ahead(self, view: View, head: Head, behind: int | None = None) -> set[int]:
        return stored_seqs(view, self.number, (self.seq if behind is None else behind - 1) + 1, head.seq)

    def _shapes(self, ledger: Ledger) -> None:
        if self.run is None:
            return
        self._shaped = True
        for wait in self.run.waits.by_key.values():
            shape, _ = wait.shape()
            for type in set(wait.types):
                ledger.shaped[(type, shape)] += 1
