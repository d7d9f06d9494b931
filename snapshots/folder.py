"""What is in a folder, before anything in it is touched.

Opening an LMDB environment makes files, and LMDB maps whatever it finds. So a folder that is not a store is
told apart by reading alone, and left exactly as it was.
"""

import os
from enum import Enum

import lmdb

from looms.reducers.messages import shown
from looms.snapshots import datafile
from looms.snapshots.errors import StoreError, StoreFormatError
from looms.snapshots.lock import has_host, is_ours
from looms.snapshots.translation import translated, translating

DATA, LOCK = "data.mdb", "lock.mdb"
NEW = "new"  # where the data file is made

# What a creation that died half-way leaves behind; our own lock is there first.
_HARMLESS = {"lock", NEW}
_OF_A_STORE = {LOCK, "doorbell", "stuck"}  # what is there only where there was a data file


class Found(Enum):
    """What a path holds: nothing at all, a folder that can become a store, or a store's files."""

    NOTHING = "nothing"
    EMPTY = "empty"
    STORE = "store"


def look(path: str) -> Found:
    """Return what is at `path`, changing nothing.

    Raises:
        StoreFormatError: something else is there.
        StoreError: the folder cannot be read.
    """
    try:
        names = set(os.listdir(path))
        if DATA not in names:
            return _empty(path, names)
        if not datafile.check(path, DATA):
            raise _lost(path, "is empty")
    except FileNotFoundError:
        return Found.NOTHING
    except NotADirectoryError:
        raise StoreFormatError(f"{path} is a file; a store is a folder. Give the path of a folder.") from None
    except OSError as error:
        raise translated(error, path, "reading the store's folder") from error
    if LOCK not in names:
        _look_inside(path)
    return Found.STORE


def identity(path: str) -> tuple[int, int] | None:
    """Return what tells the store in the folder `path` from all others, by whatever path it is named; None for none."""
    try:
        status = os.stat(os.path.join(path, DATA))
    except OSError:
        return None
    return status.st_dev, status.st_ino


def has_lock_file(path: str) -> bool:
    """Return whether LMDB's lock file is in a folder."""
    return os.path.exists(os.path.join(path, LOCK))


def require_lock_file(path: str) -> None:
    """Check that LMDB's lock file was not removed while a host is at work.

    Whoever came now would make a new one, in which nobody sees what those do who have the old one: two processes would
    write at once, and pages would be used again that somebody reads.

    Raises:
        StoreError: it was.
    """
    if not has_lock_file(path) and not is_ours(path) and has_host(path):
        raise StoreError(
            f"{path}: its {LOCK} is missing though a host is at work: somebody removed it, and whoever comes in now "
            "does harm. Stop the host; when all who read are gone too, the store can be opened again."
        )


def _lost(path: str, what: str) -> StoreFormatError:
    return StoreFormatError(
        f"{path}: there was a store, and its {DATA} {what}. Nothing was changed. Restore it from a copy; if nothing of "
        "it is to be kept, remove the folder, and a new store can be made there."
    )


def _empty(path: str, names: set[str]) -> Found:
    if names & _OF_A_STORE:
        raise _lost(path, "is missing")
    others = sorted(names - _HARMLESS)
    if others:
        shown = ", ".join(others[:3]) + (", …" if len(others) > 3 else "")
        raise StoreFormatError(
            f"{path}: the folder holds other things ({shown}) and no store. "
            "Nothing was changed; give a store's folder or, for a new store, an empty one or one that is not there yet."
        )
    return Found.EMPTY


def _look_inside(path: str) -> None:
    """Read LMDB's files without its lock file. As there is none, no other process has them open."""
    with (
        translating(path, "opening the store"),
        lmdb.open(path, readonly=True, lock=False, create=False, max_dbs=1) as environment,
    ):
        require_ours(environment, path)


def require_ours(environment: lmdb.Environment, path: str) -> None:
    """Check that the environment is a store's, or has nothing in it yet.

    Raises:
        StoreFormatError: it is some other program's.
    """
    with environment.begin() as txn:
        if txn.stat()["entries"] and txn.get(b"meta") is None:
            raise StoreFormatError(
                f"{path}: an LMDB environment of another program, or a store that was copied while it was written: it "
                "has tables, and no table 'meta'. Nothing was changed; give another path, or restore a backup."
            )


def flush(path: str) -> None:
    """See to it that the names in a folder are on the disk."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def make(path: str) -> None:
    """Make the store's folder, if it is not there; never its parents, which may be a mistyped path.

    Raises:
        StoreError: the parent is missing, or does not allow it.
        StoreFull: no room.
    """
    try:
        os.mkdir(path)
    except FileExistsError:
        return
    except FileNotFoundError:
        parent = os.path.dirname(os.path.abspath(path))
        if path and not os.path.isdir(parent):
            raise StoreError(f"{path}: there is no folder {parent} to make the store in. Make it first.") from None
        raise StoreError(
            f"{shown(path)}: no folder of that name can be made. Give the path of a folder for the store."
        ) from None
    except OSError as error:
        raise translated(error, path, "making the store's folder") from error
