"""The physical limit: msgspec and LMDB, and nothing else.

*Raw* encodes and writes the same bytes into the same number of tables as Looms does, in one thread of a process of
its own, in transactions that LMDB has synced to the disk when they return (`sync=True`). It gets its best chance: it
knows beforehand what it writes, keeps nothing in memory, checks nothing and answers nobody; the bytes of a row come
out of the encoder as one piece; rows go in sorted, by one `putmulti` for each table; and where keys only grow, they
are appended.

Which bytes and tables those are is not written here: it is read from a store of Looms, before and after it did what is
measured (`written`). So raw follows when the layout of stores changes.
"""

import os
import shutil
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import lmdb
import msgspec

from benchmarks.reporting import progress, tracked

# py-lmdb from 3.0 on brings two LMDB engines; Looms uses the older one, and so does raw.
_ENGINE: dict[str, Any] = {"lib_version": 0} if hasattr(lmdb.Environment, "lib_version") else {}

_encode = msgspec.msgpack.Encoder().encode


class Row(msgspec.Struct, frozen=True):
    """One row that was written.

    Attributes:
        table: the table.
        kind: `new`, `again` (another value under the same key) or `gone`.
        key: its key.
        size: the bytes of its value.
        last: its key is behind all that were there: it was appended.
    """

    table: str
    kind: Literal["new", "again", "gone"]
    key: bytes
    size: int
    last: bool = False


def opened(path: str | os.PathLike[str], *, durable: bool = True, readonly: bool = False) -> lmdb.Environment:
    """Open an environment, as Looms does: `durable` is `sync=True`; without, its metadata is not flushed at once."""
    return lmdb.Environment(
        os.fspath(path), map_size=1 << 40, max_dbs=64, metasync=durable, readonly=readonly, lock=not readonly, **_ENGINE
    )


def tables(environment: lmdb.Environment) -> dict[str, Any]:
    """The tables that an environment has."""
    with environment.begin() as txn:
        names = [bytes(name) for name in txn.cursor().iternext(values=False)]
    return {name.decode(): environment.open_db(name) for name in names}


def written(before: str | os.PathLike[str], after: str | os.PathLike[str]) -> list[Row]:
    """What differs between two stores, of which the second is the first some commits later."""
    found: list[Row] = []
    with opened(before, readonly=True) as old, opened(after, readonly=True) as new:
        theirs, ours = tables(old), tables(new)  # opened before the transactions, which would not see them otherwise
        with old.begin() as old_txn, new.begin() as new_txn:
            for name, handle in ours.items():
                found += _changed(name, old_txn.cursor(theirs[name]), new_txn.cursor(handle))
    return found


def _changed(table: str, old: Any, new: Any) -> Iterator[Row]:
    """Walk over a table as it was and as it is, side by side."""
    old.last()
    last = old.key()
    there, here = old.first(), new.first()
    while there or here:
        if not there or (here and new.key() < old.key()):
            yield Row(table, "new", new.key(), len(new.value()), new.key() > last)
            here = new.next()
        elif not here or old.key() < new.key():
            yield Row(table, "gone", old.key(), 0)
            there = old.next()
        else:
            if old.value() != new.value():
                yield Row(table, "again", new.key(), len(new.value()))
            there, here = old.next(), new.next()


def value(size: int) -> Callable[[int], bytes]:
    """An encoder of values with so many bytes, each another one: of a number and of bytes, as one array."""
    if size < 0:
        raise ValueError(f"{size} is no number of bytes")
    if not size:
        return lambda _: b""
    for body in (bytes(max(0, size - header)) for header in range(12, 17)):
        for rest in ((), (None,)):
            if len(_encode((1 << 32, body, *rest))) == size:
                return lambda n, body=body, rest=rest: _encode(((1 << 32) + n, body, *rest))  # type: ignore[misc]
    return lambda n: _encode(n)[:size].ljust(size, b"\0")


def mean(rows: Sequence[Row], table: str) -> int:
    """The mean bytes of the values that were written to a table."""
    sizes = [row.size for row in rows if row.table == table and row.kind != "gone"]
    return round(statistics.mean(sizes)) if sizes else 0


def commits(path: str, rows: list[dict[str, Any]], count: int, durable: bool = True) -> float:
    """Write the same rows again and again, each time in a commit of its own; a new key follows the one before.

    Args:
        path: the store that the rows were read from, or a copy: its trees are as deep as those of Looms.
        rows: as `written` gives them.
        count: how many commits.
        durable: each is on the disk.

    Returns:
        The median of milliseconds for a commit.
    """
    changes = msgspec.convert(rows, list[Row])
    names = dict.fromkeys(row.table for row in changes)
    taken = []
    with opened(path, durable=durable) as environment:
        handles = tables(environment)
        work = [_Table(handles[name], [row for row in changes if row.table == name]) for name in names]
        for n in tracked(range(1, count + 1), count):
            begun = time.perf_counter()
            with environment.begin(write=True) as txn:
                for table in work:
                    table.write(txn, n)
            taken.append(time.perf_counter() - begun)
    return statistics.median(taken) * 1e3


class _Table:
    """What each commit does to one table: take out what the one before put in, and put its own."""

    def __init__(self, handle: Any, rows: Sequence[Row]) -> None:
        self._handle = handle
        self._new = [(row.key, value(row.size)) for row in rows if row.kind == "new"]
        self._again = [(row.key, value(row.size)) for row in rows if row.kind == "again"]
        self._leaves = any(row.kind == "gone" for row in rows)
        self._append = bool(rows) and all(row.last for row in rows if row.kind == "new") and not self._again
        self._before: list[bytes] = [row.key for row in rows if row.kind == "new"]

    def write(self, txn: Any, n: int) -> None:
        rows = [(_following(key, n), encode(n)) for key, encode in self._new]
        if self._leaves:
            for key in self._before:
                txn.delete(key, db=self._handle)
            self._before = [key for key, _ in rows]
        rows += [(key, encode(n)) for key, encode in self._again]
        if len(rows) == 1:
            txn.put(*rows[0], db=self._handle, append=self._append)
        elif rows:
            txn.cursor(self._handle).putmulti(rows, append=self._append)


def _following(key: bytes, n: int) -> bytes:
    """The n-th key behind one."""
    return (int.from_bytes(key) + n).to_bytes(len(key))


def one_row(path: str, size: int, count: int, durable: bool = True) -> float:
    """The median of milliseconds for a commit of a single appended row, in an environment that has nothing else."""
    taken = []
    shutil.rmtree(path, ignore_errors=True)
    encode = value(size)
    with opened(path, durable=durable) as environment:
        log = environment.open_db(b"log")
        for n in tracked(range(count), count):
            begun = time.perf_counter()
            with environment.begin(write=True) as txn:
                txn.put(n.to_bytes(8), encode(n), db=log, append=True)
            taken.append(time.perf_counter() - begun)
    return statistics.median(taken) * 1e3


def pasts(path: str, runs: int, records: int, record: int, head: int) -> None:
    """Make an environment with runs that have a past, keyed by (run, seq).

    They grew side by side, ten records at a time: so the pages are as full as in one that has long been in use.

    Args:
        path: where.
        runs: how many.
        records: of each.
        record, head: the bytes of a record and of a run's head.
    """
    shutil.rmtree(path, ignore_errors=True)
    encode, encode_head = value(record), value(head)
    with opened(path, durable=False) as environment:
        log, heads = environment.open_db(b"log"), environment.open_db(b"runs")
        environment.open_db(b"commits")
        for first in range(1, records + 1, 10):
            progress(first, records)
            seqs = range(first, min(first + 10, records + 1))
            with environment.begin(write=True) as txn:
                rows = [(_place(run, seq), encode(seq)) for run in range(runs) for seq in seqs]
                txn.cursor(log).putmulti(rows)
                if first == 1:
                    txn.cursor(heads).putmulti([(run.to_bytes(8), encode_head(run)) for run in range(runs)])
        environment.sync(True)


def _place(run: int, seq: int) -> bytes:
    return run.to_bytes(8) + seq.to_bytes(8)


def spread(
    path: str,
    runs: int,
    seq: int,
    each: int,
    count: int,
    record: int,
    head: int,
    commit: int,
    alone: bool = False,
    durable: bool = True,
) -> float:
    """Commit records of several runs: the next ones of each, keyed by (run, seq), their heads, and the commit's row.

    Args:
        path: an environment that `pasts` has made.
        runs: how many take part in each commit.
        seq: the last record of each.
        each: records of each run in a commit.
        count: how many commits.
        record, head, commit: the bytes of a record, a run's head, and a commit's row.
        alone: write the records, and nothing else.
        durable: each commit is on the disk.

    Returns:
        Records a second.
    """
    encode, encode_head, encode_commit = value(record), value(head), value(commit)
    with opened(path, durable=durable) as environment:
        log, heads, turns = (environment.open_db(name) for name in (b"log", b"runs", b"commits"))
        begun = time.perf_counter()
        for n in range(count):
            progress(n, count)
            first = seq + 1 + n * each
            rows = [(_place(run, at), encode(at)) for run in range(runs) for at in range(first, first + each)]
            with environment.begin(write=True) as txn:
                txn.cursor(log).putmulti(rows, append=runs == 1)
                if not alone:
                    txn.cursor(heads).putmulti([(run.to_bytes(8), encode_head(n)) for run in range(runs)])
                    txn.put(n.to_bytes(8), encode_commit(n), db=turns, append=True)
        taken = time.perf_counter() - begun
    return runs * each * count / taken
