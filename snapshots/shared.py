"""The one LMDB environment that a process has open on a folder, and whether its disk can still be trusted.

A commit that fails for lack of room has done nothing: LMDB writes to pages that nothing refers to, the next commit
writes all of its own anew, and so it may be tried again. After an error of the disk it may not. Linux tells of data
that it could not write once, and takes them for written from then on: so a second try may be answered with success
without being on the disk, and what is read is not what is there. So such an environment is over, for all handles on it.
"""

from contextlib import ExitStack

import lmdb

from looms.snapshots.room import Room
from looms.snapshots.tables import ALL
from looms.snapshots.translation import is_fatal
from looms.snapshots.view import Handles


class Shared:
    """The one LMDB environment that this process has open on a folder, and how many handles use it."""

    def __init__(self, lmdb_environment: lmdb.Environment, handles: Handles, room: Room, close: ExitStack) -> None:
        self.lmdb = lmdb_environment
        self._close = close
        self.handles = handles
        self.has_all_tables = len(handles) == len(ALL)
        self.room = room
        self.readonly = lmdb_environment.flags()["readonly"]
        self.users = 0
        self.forked = False
        self.failure: Exception | None = None  # of the disk, in the midst of a commit: nothing is trusted after that

    def commit(self, txn: "lmdb.Transaction[bytes]", path: str) -> None:
        """Commit a transaction of this environment."""
        try:
            txn.commit()
        except lmdb.Error as error:
            # Where writing the page failed that makes a commit count, LMDB itself takes nothing more.
            if is_fatal(error, path) or not self._begins():
                self.failure = error
            raise

    def sync(self) -> None:
        """Flush what was committed without a flush."""
        try:
            self.lmdb.sync(True)
        except lmdb.Error as error:
            self.failure = error
            raise

    def _begins(self) -> bool:
        try:
            self.lmdb.begin().abort()
        except lmdb.Error as error:
            return not isinstance(error, lmdb.PanicError)
        return True

    def close_if_unused(self) -> None:
        """Close the environment, unless there are handles on it."""
        if self.users:
            return
        with self._close:
            if not self.readonly and self.failure is None:
                self.room.complete()
