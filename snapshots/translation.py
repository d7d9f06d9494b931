"""What an error of LMDB or the system means for a store, as one of ours, with what to do."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

import lmdb

from looms.snapshots.errors import StoreError, StoreFailed, StoreFormatError, StoreFull

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
NOT_ALLOWED = (errno.EROFS, errno.EACCES, errno.EPERM)

_DAMAGE = (
    *(lmdb.CorruptedError, lmdb.PageNotFoundError, lmdb.VersionMismatchError, lmdb.InvalidError),
    # A transaction that met a damaged page takes nothing more.
    *(lmdb.IncompatibleError, lmdb.BadDbiError, lmdb.BadTxnError, lmdb.CursorFullError),
)

# With these LMDB refuses to commit before it has written anything.
_REFUSALS = (*_DAMAGE, lmdb.MapFullError, lmdb.TxnFullError, lmdb.PageFullError, lmdb.MemoryError)


def means(error: lmdb.Error, codes: tuple[int, ...]) -> bool:
    """Return whether an error is one of these errnos. Older bindings tell it in the message alone."""
    return getattr(error, "code", None) in codes or any(os.strerror(code) in str(error) for code in codes)


def is_fatal(error: lmdb.Error, path: str) -> bool:
    """Return whether a commit that raised this may be on the disk in part, or be thought to be there when it is not.

    See `shared.py`, which ends an environment to which that has happened.
    """
    return not (isinstance(error, _REFUSALS) or _no_room(error, path))


def failed(path: str, why: object) -> StoreFailed:
    """Return the error for a store that cannot go on, since its disk failed."""
    return StoreFailed(
        f"{path}: the disk failed in the midst of a commit ({why}), and nobody knows whether that is there. Nothing is "
        "read or written any more until the store is closed and opened again: then all is there that was acknowledged. "
        "Look at the disk first."
    )


def translated(error: lmdb.Error | OSError, path: str, doing: str) -> StoreError:
    """Return the `StoreError` for what LMDB or the system raised while `doing` something in the folder `path`."""
    if isinstance(error, OSError):
        kind = StoreFull if error.errno in NO_ROOM else StoreError
        return kind(f"{path}: {doing} failed: {error.strerror or error}.")
    if isinstance(error, lmdb.MapFullError):
        return StoreFull(
            f"{path}: the store is full: it has reached its map_size. Nothing of this commit was kept. "
            "Let go of what is old (looms prune, looms delete), or open it with a larger map_size."
        )
    if isinstance(error, lmdb.PanicError):
        return failed(path, error)
    if _no_room(error, path):
        return StoreFull(f"{path}: the disk is full. Nothing of this commit was kept; it goes on when there is room.")
    if isinstance(error, lmdb.ReadersFullError):
        return StoreError(f"{path}: {doing} failed: too many readers are there already. Close some, and try again.")
    if isinstance(error, lmdb.ReadonlyError) or means(error, NOT_ALLOWED):
        return StoreError(f"{path}: {doing} failed: the store can only be read here ({error}).")
    if isinstance(error, _DAMAGE):
        return StoreFormatError(f"{path}: {doing} failed, the store's files are damaged ({error}). Restore a copy.")
    return StoreError(f"{path}: {doing} failed: {error}.")


@contextmanager
def translating(path: str, doing: str) -> Iterator[None]:
    """Raise what LMDB or the system raises in this block as the `StoreError` that it means."""
    try:
        yield
    except (lmdb.Error, OSError) as error:
        raise translated(error, path, doing) from error


def _no_room(error: lmdb.Error, path: str) -> bool:
    # LMDB reports a write that was cut short by a full disk as a general I/O error.
    return means(error, NO_ROOM) or (means(error, (errno.EIO,)) and _disk_is_full(path))


def _disk_is_full(path: str) -> bool:
    try:
        disk = os.statvfs(path)
    except OSError:
        return False
    return disk.f_bavail * disk.f_frsize < 1 << 20
