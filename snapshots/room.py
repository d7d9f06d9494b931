"""Room in a store's file: a reserve, so that a store that is full can still be emptied.

LMDB writes changed pages anew before it lets the old ones go, so deleting needs room too. Therefore an ordinary
commit leaves the last pages alone, both of the map and of the file: they are for the commits that end, prune
and remove things. The file's share is allocated ahead of its end, since a full disk gives no warning.

What a commit will need is an estimate; it is compared only with what is left, so where there is plenty it does
not matter. LMDB itself refuses what really does not fit.
"""

import os
from typing import TYPE_CHECKING

import lmdb

from looms.snapshots.errors import StoreFull
from looms.snapshots.translation import NO_ROOM, translated

if TYPE_CHECKING:
    from looms.snapshots.view import Handles

RESERVE = 64  # pages; of a small map a sixteenth
_TOUCHED = 32  # pages that a commit rewrites beside those for new rows
CLEAR_EVERY = 16  # commits: so many a reader that died keeps its pages, which bounds how much the file grows
_STEP = 64, 4_096  # pages by which the file grows at least, at most; between them, a sixteenth of it

_allocate = getattr(os, "posix_fallocate", None)


class Room:
    """What is left in the map and in the file of one LMDB environment. Used inside its write transactions."""

    def __init__(self, environment: lmdb.Environment, data: str, path: str) -> None:
        """Look at the file `data` of the store in the folder `path`."""
        self._environment = environment
        self._path = path
        self._page = environment.stat()["psize"]
        self._map = environment.info()["map_size"] // self._page
        self._reserve = min(RESERVE, self._map // 16)
        # LMDB keeps no locks on this file, only on its lock file; so opening and closing it is harmless.
        self._commits = 0
        self._fd = os.open(data, (os.O_RDONLY if environment.flags()["readonly"] else os.O_RDWR) | os.O_CLOEXEC)
        try:
            status = os.fstat(self._fd)
            self.identity = (status.st_dev, status.st_ino)
            self._allocated = status.st_size // self._page
            if not environment.flags()["readonly"]:
                self.complete()
        except BaseException:
            os.close(self._fd)
            raise

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._fd)

    def _used(self) -> int:
        return self._environment.info()["last_pgno"] + 1

    def complete(self) -> None:
        """See to it that the file is as long as its pages in use; a commit does it for those before it.

        LMDB may leave its last pages unwritten, and reading a map behind the file's end kills the process.
        """
        used = self._used()
        if used > self._allocated:
            self._allocated = os.fstat(self._fd).st_size // self._page
            self._grow(used)

    def require(self, txn: "lmdb.Transaction[bytes]", handles: "Handles", size: int, urgent: bool) -> None:
        """Check that a commit that writes rows of `size` bytes leaves the reserve alone; one that is `urgent` need not.

        Raises:
            StoreFull: it does not, and there is no more room to get.
        """
        self._commits += 1
        if self._commits % CLEAR_EVERY == 0:
            self._environment.reader_check()
        used = self._used()
        needed = size // self._page + _TOUCHED + self._reserve
        if used + needed <= min(self._allocated, self._map):
            return
        failed = self._grow(min(used + needed + min(max(used // 16, _STEP[0]), _STEP[1]), self._map))
        left = min(self._allocated, self._map) - used
        if urgent or needed <= left or needed <= left + self._free(txn, handles, used):
            return
        what = "the disk is full" if failed else "the store is full: it has reached its map_size"
        raise StoreFull(
            f"{self._path}: {what}. Nothing of this commit was kept. Let go of what is old (looms prune, looms delete)"
            f"{', make room on the disk' if failed else ', or open it with a larger map_size'}."
        )

    def _grow(self, pages: int) -> bool:
        """Allocate the file up to so many pages. Return whether the disk refused."""
        if pages <= self._allocated:
            return False
        if _allocate is None:  # such a system keeps a reserve in the map alone
            self._allocated = pages
            return False
        try:
            _allocate(self._fd, 0, pages * self._page)
        except OSError as error:
            if error.errno not in NO_ROOM:
                raise translated(error, self._path, "making room in the store's file") from error
            return True
        self._allocated = pages
        return False

    def _free(self, txn: "lmdb.Transaction[bytes]", handles: "Handles", used: int) -> int:
        """Return how many pages of the file hold nothing: removed runs and pruned snapshots leave them."""
        tables = [txn.stat(), *(txn.stat(handle) for handle in handles.values())]
        return used - 2 - sum(s["branch_pages"] + s["leaf_pages"] + s["overflow_pages"] for s in tables)
