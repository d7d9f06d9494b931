"""A store, for the one host that writes it: the environment, the writer's lock, and where the numbering stands."""

import os
import threading
from typing import Self

import msgspec

from looms.reducers.givens import path as given_path
from looms.snapshots import folder
from looms.snapshots.batch import COUNTERS, Batch, Frontier
from looms.snapshots.environment import Durability, Environment, checked_map_size
from looms.snapshots.errors import StoreError
from looms.snapshots.folder import Found
from looms.snapshots.lock import WriterLock
from looms.snapshots.packing import read_u64
from looms.snapshots.reading import Reading
from looms.snapshots.rows import LAST_NUMBER, Counters, decode
from looms.snapshots.seals import damaged
from looms.snapshots.tables import COMMITS, LOG, META, Table
from looms.snapshots.view import View

_counters = msgspec.msgpack.Decoder(Counters)


class Store:
    """The store in a folder, open for writing: one at a time, in all processes. A context manager that closes it."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        map_size: int | None = None,
        durability: Durability = "commit",
        readahead: bool = True,
        serves: bool = True,
    ) -> None:
        """Open the store in the folder `path`, and make it when it is not there. See `Environment` for the options.

        `serves`: other processes may ask for something, and find somebody who answers.

        Raises:
            StoreInUse: a host has it already.
            StoreFormatError: something else is there, a newer version's store, or a damaged one.
            StoreFull, StoreError: the disk or the folder does not allow it.
        """
        self.path = given_path("path", path)
        checked_map_size(map_size)
        if folder.look(self.path) is Found.NOTHING:
            folder.make(self.path)
        self._lock = WriterLock(self.path, serves=serves)
        try:
            self.environment = Environment(
                self.path, create=True, map_size=map_size, durability=durability, readahead=readahead
            )
            try:
                with self.environment.view() as view:
                    self._frontier = _frontier(view)
            except BaseException:
                self.environment.close()
                raise
        except BaseException:
            self._lock.close()
            raise
        self._committing = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def view(self) -> View:
        """Begin a read transaction on the state as of the last commit. Use it in a `with`, and briefly."""
        return self.environment.view()

    def new_batch(self, after: Batch | None = None) -> Batch:
        """Return an empty batch whose numbers go on from the store's.

        With `after`, they go on from that batch, which is to be committed before: so that turns can be planned, over
        `after.over(view)`, while it is being written.
        """
        return Batch(self._frontier if after is None else after.end)

    def commit(self, batch: Batch, *, urgent: bool = False) -> int | None:
        """Write a batch in one transaction, and return its commit number; None when there was no turn in it.

        May be called from any thread; the batch must not be touched meanwhile. When it raises, nothing was
        written and the numbering stands where it stood; the same batch may be tried again.

        `urgent` is for what ends, prunes and removes things: it may use a reserve of room that others leave alone, so
        that a full store can be emptied.

        Raises:
            StoreFull: no room on the disk or in the map.
            StoreFailed: the disk failed: the batch may be there or not when the store is opened again.
            StoreClosed: the store was closed, or this process is a fork of the one that opened it.
            StoreError: the disk refused, or the batch does not go on where the store stands.
        """
        self.environment.check()  # before the lock: in a forked child it may be held by a thread that is not there
        with self._committing:
            if batch.start != self._frontier:
                raise StoreError(
                    f"{self.path}: the batch was begun at commit {batch.start.commit}, log position "
                    f"{batch.start.position}; the store is at {self._frontier.commit}, {self._frontier.position}. "
                    "Commit batches in the order in which they were begun, and begin again after one has failed."
                )
            if not batch.empty:
                self.environment.write(batch.changes(), urgent)
                self._frontier = batch.end
            return batch.commit

    def close(self) -> None:
        """Close the environment and let the next host in, after a commit that is under way. Twice is harmless."""
        if self.environment.forked:
            return
        with self._committing:
            try:
                self.environment.close()
            finally:
                self._lock.close()


def _frontier(reading: Reading) -> Frontier:
    """Return where the numbering of a store stands."""
    body = reading.get(META, COUNTERS)
    commit = _next(reading, COMMITS)
    if body is None and commit > 1:
        raise damaged(META, COUNTERS, reading.path, "the next numbers to give out are missing")
    counters = Counters() if body is None else decode(_counters, META, COUNTERS, body, reading)
    return Frontier(counters, max(counters.position, _next(reading, LOG)), commit)


def _next(reading: Reading, table: Table) -> int:
    """Return the number after the last key of a table whose keys are numbers, from 1 on.

    Raises:
        StoreFormatError: a row has a number that nobody gives out.
    """
    for key in reading.keys(table, reverse=True, limit=1):
        if read_u64(key) > LAST_NUMBER:
            raise damaged(table, key, reading.path, "no number that is given out is as great as its key's")
        return read_u64(key) + 1
    return 1
