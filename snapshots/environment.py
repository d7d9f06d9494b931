"""The LMDB environment of a store's folder: opening it, transactions on it, and errors that say what to do.

A process must not open an LMDB environment twice: its locks belong to the process, so closing one opening
takes the other's away. Handles on one folder, by whatever path or link, therefore share one environment, that is
closed with the last of them: a reader beside a host costs nothing and harms nothing. It is opened for
writing by whoever comes first, also by a reader, so that a host can join it; for reading alone only where the
folder's disk or rights allow no more.

What the first one chose (`map_size`, `readahead`, `durability`) holds for all while it is open: LMDB's map must
not be resized under a reader. A host that was promised more than the shared environment does by
itself makes up for it by syncing after its commits.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Literal

import lmdb

from looms.reducers.errors import InvalidInput
from looms.reducers.givens import path as given_path
from looms.reducers.messages import shown
from looms.snapshots import creating, folder
from looms.snapshots.errors import StoreClosed, StoreError, StoreNotFound
from looms.snapshots.folder import Found
from looms.snapshots.formats import prepared_tables
from looms.snapshots.lock import keep_hosts_out
from looms.snapshots.readers import Slot, who_reads
from looms.snapshots.room import Room
from looms.snapshots.seals import seal
from looms.snapshots.shared import Shared
from looms.snapshots.sizes import Sizes, sizes
from looms.snapshots.tables import Table
from looms.snapshots.translation import NOT_ALLOWED, failed, means, translated, translating
from looms.snapshots.view import Handles, OldView, View

Durability = Literal["commit", "relaxed"]

# Addresses, not bytes on disk: large enough never to be resized in use, where addresses cost nothing.
DEFAULT_MAP_SIZE = 1 << 40 if sys.maxsize > 1 << 32 and os.name == "posix" else 1 << 30

LEAST_MAP_SIZE = 1 << 20  # in less a store without runs has no room to work

MAX_READERS = 2_048
_MAX_TABLES = 64
_PIECE = 1 << 20  # bytes of a copy that are handed on at once

# py-lmdb from 3.0 on brings two LMDB engines; a store is always of the older file format, which all versions read.
_ENGINE: dict[str, Any] = {"lib_version": 0} if hasattr(lmdb.Environment, "lib_version") else {}


# What one transaction does to one table: keys to delete, then sealed rows to put, both in key order.
Changes = tuple[Table, list[bytes], list[tuple[bytes, bytes]]]


# By the data file, which is held open, so that no other file can get its identity: a folder that was removed and made
# again is another one. A child process keeps what it inherited, since closing that would reach into the parent's.
_open: dict[tuple[int, int], Shared] = {}
_opening = threading.Lock()


def _after_fork_in_child() -> None:
    """The map, the locks and the reader slots are the parent's: here they are only refused."""
    global _opening
    _opening = threading.Lock()  # the parent's may be held by a thread that the child does not have
    for shared in _open.values():
        shared.forked = True


os.register_at_fork(after_in_child=_after_fork_in_child)


_FORKED = (
    "the store was opened by the process that this one was forked from, and what is open cannot be used after a fork. "
    "Fork before opening it, or open it in a process that was started afresh (multiprocessing's `spawn`)."
)


class Environment:
    """A handle on a store's folder. Safe to use from any thread; `close` it when done."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        create: bool = False,
        map_size: int | None = None,
        durability: Durability = "commit",
        readahead: bool = True,
    ) -> None:
        """Open the store in the folder `path`.

        Args:
            path: the folder.
            create: make the folder and the tables when they are not there.
            map_size: bytes of address space, and so the most that the store can hold; 1 TiB where addresses are
                64 bits wide. It holds unless this process has the store open already.
            durability: `commit` (a commit is on the disk when it returns) or `relaxed` (a power cut may take the
                last commit, and nothing else).
            readahead: let the system read ahead; good for folding long logs, bad for a store larger than memory
                that is read at random.

        Raises:
            StoreNotFound: there is no store, and `create` is false.
            StoreFormatError: something else is there, a newer version's store, or a damaged one.
            StoreFull: no room to make the store.
            StoreError: the folder or its disk does not allow it.
            InvalidInput: a `map_size` that cannot be, or is smaller than the store is already.
        """
        self.path = given_path("path", path)
        checked_map_size(map_size)
        self._closed = False
        found = folder.look(self.path)
        if found is not Found.STORE and not create:
            raise StoreNotFound(f"{self.path}: there is no store. A runtime that opens this path makes one.")
        if found is Found.NOTHING:
            folder.make(self.path)
        with _opening:
            identity = folder.identity(self.path)
            if identity is None and create:
                with translating(self.path, "making the store"):
                    creating.create(self.path, max_dbs=_MAX_TABLES, **_ENGINE)
                identity = folder.identity(self.path)
            shared = None if identity is None else _open.get(identity)
            if shared is None:
                folder.require_lock_file(self.path)
                shared = self._opened(map_size, durability, readahead)
            elif shared.forked:
                raise StoreClosed(f"{self.path}: {_FORKED}")
            elif shared.failure is not None:
                raise failed(self.path, f"{shared.failure}; this process has not closed it everywhere")
            with ExitStack() as undo:
                undo.callback(shared.close_if_unused)
                if create and shared.readonly:
                    raise StoreError(f"{self.path}: the folder can only be read, so no host can write there.")
                with translating(self.path, "clearing stale readers"):
                    shared.lmdb.reader_check()
                if create:
                    self._flush(shared)
                undo.pop_all()
            shared.users += 1
            _open[shared.room.identity] = shared
        self._shared = shared
        self._sync_after = durability == "commit" and not shared.lmdb.flags()["metasync"]

    def _flush(self, shared: Shared) -> None:
        """Flush what is in the folder, before more is written there.

        It may come from a process that was killed, or whose disk failed, before it had flushed it. A page that says
        that a commit counts must be on the disk as it is read here before the pages of others are written over.
        """
        with translating(self.path, "flushing what the store holds"):
            shared.lmdb.sync(True)
            folder.flush(self.path)

    def _opened(self, map_size: int | None, durability: Durability, readahead: bool) -> Shared:
        with translating(self.path, "opening the store"), ExitStack() as undo:
            environment = self._lmdb(map_size or DEFAULT_MAP_SIZE, durability, readahead, undo)
            undo.callback(environment.close)
            used = (environment.info()["last_pgno"] + 1) * environment.stat()["psize"]
            if map_size is not None and map_size < used:  # LMDB would take what is used for what is wanted
                raise InvalidInput(
                    f"{self.path}: map_size={map_size} is smaller than the store, of which {used} bytes are in use; "
                    f"give at least {used}, and more to let it grow"
                )
            room = Room(environment, os.path.join(self.path, folder.DATA), self.path)
            undo.callback(room.close)
            folder.require_ours(environment, self.path)
            handles = prepared_tables(environment, self.path)
            return Shared(environment, handles, room, undo.pop_all())

    def _lmdb(self, map_size: int, durability: Durability, readahead: bool, undo: ExitStack) -> lmdb.Environment:
        def opened(readonly: bool, lock: bool) -> lmdb.Environment:
            return lmdb.Environment(
                self.path,
                map_size=map_size,
                metasync=durability == "commit",
                readahead=readahead,
                readonly=readonly,
                lock=lock,
                create=not readonly,
                max_readers=MAX_READERS,
                max_dbs=_MAX_TABLES,
                **_ENGINE,
            )

        try:
            return opened(readonly=False, lock=True)
        except lmdb.Error as error:
            if not means(error, NOT_ALLOWED):
                raise
        # Nobody can write there, or not we. Then LMDB's lock file, in which readers say what they read, may be out of
        # reach as well: so no host may write meanwhile.
        try:
            return opened(readonly=True, lock=True)
        except lmdb.Error:
            fd = keep_hosts_out(self.path)
            if fd is not None:
                undo.callback(os.close, fd)
            return opened(readonly=True, lock=False)

    @property
    def failure(self) -> StoreError | None:
        """Why nothing is read or written any more: the disk failed in the midst of a commit."""
        why = self._shared.failure
        return None if why is None else failed(self.path, why)

    @property
    def forked(self) -> bool:
        """Whether this process got the handle from its parent, by a fork."""
        return self._shared.forked

    def check(self) -> None:
        """Check that the handle can be used.

        Raises:
            StoreClosed: it was closed, or came from a parent process.
        """
        self._usable()

    def view(self) -> View:
        """Begin a read transaction on the state as of the last commit. Use it in a `with`, and briefly.

        Raises:
            StoreClosed: the handle was closed, or came from a parent process.
            StoreError: LMDB refused, for example since too many readers are there already.
        """
        shared = self._usable()
        try:
            kind = View if shared.has_all_tables else OldView
            return kind(self, shared.lmdb.begin(), shared.handles)
        except lmdb.Error as error:
            raise self.translated(error, "beginning to read") from error

    def write(self, changes: Sequence[Changes], urgent: bool = False) -> None:
        """Apply changes in one write transaction that begins and ends here: all of them, or none.

        May be called from any thread; waits for a writer in another thread or process. An `urgent` one, that ends,
        prunes or removes things, may use the room that others have to leave.

        Raises:
            StoreFull: no room on the disk or in the map.
            StoreFailed: the disk failed in the midst of it, now or before.
            StoreClosed: the handle was closed, or came from a parent process.
            StoreError: LMDB or the disk refused.
        """
        shared = self._usable()
        with self._translating("writing"):
            size = sum(len(key) + len(value) for _, _, puts in changes for key, value in puts)
            with shared.lmdb.begin(write=True) as txn:
                shared.room.require(txn, shared.handles, size, urgent)
                for change in changes:
                    _apply(txn, shared.handles, change, self.path)
                shared.commit(txn, self.path)
            if self._sync_after:
                shared.sync()

    def put_right(self, changes: Sequence[tuple[Table, bytes, bytes | None]]) -> None:
        """Put and delete (None) rows wherever they are, in one transaction: for repairs, by who has the writer's lock.

        Raises:
            StoreFull, StoreClosed, StoreError: as for `write`.
        """
        shared = self._usable()
        with self._translating("repairing"), shared.lmdb.begin(write=True) as txn:
            shared.room.require(txn, shared.handles, sum(len(body or b"") for _, _, body in changes), urgent=True)
            for table, key, body in changes:
                if body is None:
                    txn.delete(key, b"", shared.handles[table])
                else:
                    txn.put(key, seal(table, key, body) if table.valued else b"", db=shared.handles[table])
            shared.commit(txn, self.path)

    def sizes(self) -> Sizes:
        """Return how large the store is."""
        shared = self._usable()
        with self._translating("measuring"):
            return sizes(shared.lmdb, shared.handles, os.path.join(self.path, folder.DATA))

    def copy(self, write: Callable[[bytes], None]) -> None:
        """Give a compact copy of the store's file, as of the last commit, piece by piece.

        Other processes and threads may go on writing; the pages that the copy is made of are not used again meanwhile,
        so the file grows by what is written. What `write` raises ends the copy.

        Raises:
            StoreFormatError: the file is damaged.
            StoreError: LMDB refused.
        """
        shared = self._usable()
        pieces, into = os.pipe()
        failed: list[lmdb.Error] = []

        def fill() -> None:
            try:
                shared.lmdb.copyfd(into, compact=True)
            except lmdb.Error as error:
                failed.append(error)
            finally:
                os.close(into)

        thread = threading.Thread(target=fill, name="looms backup", daemon=True)
        thread.start()
        try:
            while piece := os.read(pieces, _PIECE):
                write(piece)
        finally:
            os.close(pieces)  # before its end, LMDB finds nobody to write for, and gives up
            thread.join()
        if failed:
            raise self.translated(failed[0], "copying")

    def clear_stale_readers(self) -> int:
        """Free the reader slots of processes that died, and with them the pages they pinned. Return how many."""
        shared = self._usable()
        with self._translating("clearing stale readers"):
            return shared.lmdb.reader_check()

    def readers(self) -> list[Slot]:
        """Return who reads, in all processes, also in some that died."""
        shared = self._usable()
        with self._translating("looking at readers"):
            return who_reads(shared.lmdb)

    def close(self) -> None:
        """Let go of the environment; the last handle of the process closes it. Closing twice is harmless."""
        with _opening:
            if self._closed:
                return
            self._closed = True
            shared = self._shared
            if shared.forked:
                return
            shared.users -= 1
            if shared.users == 0:
                del _open[shared.room.identity]
            shared.close_if_unused()

    def _usable(self) -> Shared:
        shared = self._shared
        if self._closed:
            raise StoreClosed(f"{self.path}: the store was closed. Open it again to use it.")
        if shared.forked:
            raise StoreClosed(f"{self.path}: {_FORKED}")
        if shared.failure is not None:
            raise failed(self.path, shared.failure)
        return shared

    @contextmanager
    def _translating(self, doing: str) -> Iterator[None]:
        try:
            yield
        except (lmdb.Error, OSError) as error:
            raise self.translated(error, doing) from error

    def translated(self, error: lmdb.Error | OSError, doing: str) -> StoreError:
        """Return the `StoreError` that says what an error of LMDB means for this store."""
        if self._closed or self._shared.forked:
            return StoreClosed(f"{self.path}: the store was closed while {doing}. Open it again to use it.")
        if self._shared.failure is not None:
            return failed(self.path, self._shared.failure)
        return translated(error, self.path, doing)


def checked_map_size(value: object) -> None:
    """Check that a store could have a `map_size`; None is the default one.

    Raises:
        InvalidInput: it could not.
    """
    if value is not None and (type(value) is not int or not LEAST_MAP_SIZE <= value <= sys.maxsize):
        raise InvalidInput(
            f"map_size={shown(value)}; give the bytes that the store may grow to, a whole number from {LEAST_MAP_SIZE} "
            f"(1 MiB); without it, it is {DEFAULT_MAP_SIZE}"
        )


def _apply(txn: "lmdb.Transaction[bytes]", handles: Handles, changes: Changes, path: str) -> None:
    table, deletes, puts = changes
    handle = handles[table]
    for key in deletes:
        txn.delete(key, b"", handle)
    if not puts:
        return
    # One call for a table: py-lmdb lets other threads run at every put of its own.
    with txn.cursor(handle) as cursor:
        _, added = cursor.putmulti(puts, append=table.appended)
    if table.appended and added != len(puts):
        raise StoreError(
            f"{path}: {table.name!r} has rows already where a commit wanted to append. "
            "Another program has written there; nothing of this commit was kept."
        )
