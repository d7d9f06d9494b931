"""A batch: what one transaction will write, collected by the turns that share a commit.

It can be read through before it is committed (`over`), so a turn sees what the turns before it in the same commit
have done. New numbers (of runs, messages, commits, places in the log) come from it; the store adopts
them when the commit succeeds, so a batch that failed leaves no gap.
"""

from bisect import bisect_left, insort
from collections.abc import Sequence
from typing import Any

import msgspec

from looms.snapshots import extents
from looms.snapshots.overlay import Overlay
from looms.snapshots.packing import pair, u64
from looms.snapshots.reading import Reading
from looms.snapshots.rows import Counters, Head, Turn, encode
from looms.snapshots.seals import seal
from looms.snapshots.tables import COMMITS, EXTENTS, LOG, META, Table

COUNTERS = b"counters"
_MAX_KEY = 511  # LMDB's; what users name is limited to 255 bytes long before


class Frontier(msgspec.Struct, frozen=True):
    """Where a store's numbering stands: the next of each."""

    counters: Counters
    position: int
    commit: int


class Batch:
    """What one transaction will write. The last write of a key wins. One thread at a time."""

    def __init__(self, start: Frontier) -> None:
        self.start = start
        self.turns: list[Turn] = []
        self._position = start.position
        self._next_run = start.counters.next_run
        self._next_message = start.counters.next_message
        self._next_retained = start.counters.next_retained
        self._pinned = start.counters.position
        self._rows: dict[Table, dict[bytes, bytes | None]] = {}
        self._order: dict[Table, list[bytes]] = {}

    def put(self, table: Table, key: bytes, body: bytes = b"") -> None:
        """Write a row, unsealed.

        Raises:
            ValueError: the key is empty or longer than LMDB's keys can be, or the table's rows have no value.
        """
        if not 0 < len(key) <= _MAX_KEY:
            raise ValueError(f"a key of table {table.name!r} has 1 to {_MAX_KEY} bytes, and this one {len(key)}")
        if body and not table.valued:
            raise ValueError(f"rows of table {table.name!r} have no value")
        self._change(table, key, body)

    def delete(self, table: Table, key: bytes) -> None:
        """Delete a row, whether it is there or not."""
        self._change(table, key, None)

    def _change(self, table: Table, key: bytes, body: bytes | None) -> None:
        rows = self._rows.get(table)
        if rows is None:
            rows = self._rows[table] = {}
        order = self._order.get(table)
        if order is not None and key not in rows:
            insort(order, key)
        rows[key] = body

    def append(self, head: Head, records: Sequence[bytes], **changed: Any) -> Head:
        """Put the records of a run's turn where the log ends, and note the turn for the commit.

        Returns the head with `seq` and `tail` as they are now, and what else `changed`; put it with `heads.put`.
        """
        self.turns.append(Turn(head.number, head.seq + 1, head.seq + len(records)))
        return self.extend(head, records, **changed)

    def extend(self, head: Head, records: Sequence[bytes], **changed: Any) -> Head:
        """Put records of a run where the log ends, and leave it to the caller to note in `turns` when they count."""
        first, count = self._position, len(records)
        for position, record in enumerate(records, first):
            self._change(LOG, u64(position), record)
        tail, spilled = extents.grown(head.tail, head.seq + 1, first, count)
        if spilled:
            self.put(EXTENTS, pair(head.number, spilled[0].seq), encode(spilled))
        self._position = first + count
        return msgspec.structs.replace(head, seq=head.seq + count, tail=tail, **changed)

    def next_run(self) -> int:
        """Return a number for a new run, from 1 on; it is never given out again."""
        number, self._next_run = self._next_run, self._next_run + 1
        return number

    def give_back(self, run: int) -> None:
        """Take back the number of a run that did not come to be: the last one that was given out."""
        assert run == self._next_run - 1
        self._next_run = run

    def next_message(self) -> int:
        """Return a number for a message in some run's inbox; later ones are greater."""
        number, self._next_message = self._next_message, self._next_message + 1
        return number

    def next_retained(self) -> int:
        """Return a number for a retained event; later ones are greater."""
        number, self._next_retained = self._next_retained, self._next_retained + 1
        return number

    def pin_position(self) -> None:
        """See to it that no place in the log that was given out so far is given out again, whatever is deleted."""
        self._pinned = self._position

    @property
    def commit(self) -> int | None:
        """The number that the commit will have; None as long as there is no turn in it."""
        return self.start.commit if self.turns else None

    @property
    def empty(self) -> bool:
        """Whether there is nothing to write."""
        return not self._rows and self.end == self.start

    @property
    def end(self) -> Frontier:
        """Where the numbering stands after this batch."""
        counters = Counters(self._next_run, self._next_message, self._next_retained, self._pinned)
        return Frontier(counters, self._position, self.start.commit + bool(self.turns))

    def over(self, reading: Reading) -> Reading:
        """Return what `reading` will be when the batch is committed (but for `commits` and `meta`)."""
        return Overlay(self, reading)

    def changed(self, table: Table) -> dict[bytes, bytes | None]:
        """Return the rows written to a table, None for the deleted ones. Not to be changed by the caller."""
        return self._rows.get(table, {})

    def changed_between(self, table: Table, low: bytes, high: bytes | None) -> list[bytes]:
        """Return the keys written or deleted with `low <= key < high`, in order."""
        rows = self._rows.get(table)
        if not rows:
            return []
        order = self._order.get(table)
        if order is None:
            order = self._order[table] = sorted(rows)
        return order[bisect_left(order, low) : len(order) if high is None else bisect_left(order, high)]

    def changes(self) -> list[tuple[Table, list[bytes], list[tuple[bytes, bytes]]]]:
        """Return, for each table, the keys to delete and the sealed rows to put, in key order."""
        tables = dict(self._rows)
        if self.turns:
            tables[COMMITS] = {u64(self.start.commit): encode(self.turns)}
        if (counters := self.end.counters) != self.start.counters:
            tables[META] = {COUNTERS: encode(counters)}
        return [(table, *_sorted(table, rows)) for table, rows in tables.items()]


def _sorted(table: Table, rows: dict[bytes, bytes | None]) -> tuple[list[bytes], list[tuple[bytes, bytes]]]:
    deletes = sorted(key for key, body in rows.items() if body is None)
    if table.valued:
        puts = [(key, seal(table, key, body)) for key, body in rows.items() if body is not None]
    else:
        puts = [(key, b"") for key, body in rows.items() if body is not None]
    puts.sort()
    return deletes, puts
