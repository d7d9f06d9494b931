"""The writer's lock: one host writes a store, and a second one is told who has it.

`flock` on the file `lock` is held for as long as the host lives; the system lets it go when the process ends, however
it ends. The file says who has it, for the others; it stays where it is, since removing it would let two processes lock
two files of one name. Somebody may remove it all the same, so the folder itself is locked too.
"""

import errno
import json
import os
import socket
import threading
import time
from contextlib import ExitStack, suppress
from typing import NamedTuple

from looms.snapshots.errors import StoreError, StoreInUse
from looms.snapshots.translation import translated

try:
    import fcntl
except ImportError:  # pragma: no cover
    raise ImportError("a store's lock needs flock(2), which this system does not have") from None

NAME = "lock"
PROTOCOL = 1
"""What processes say to each other through a store: one more with every change of a request or an answer."""
_SIZE = 1_024  # what is written is always this long, so that nobody reads half of it
_PATIENCE = 1.0  # seconds to wait for a new holder to sign

_held: "set[WriterLock]" = set()
_held_lock = threading.Lock()


class Signed(NamedTuple):
    """Who has the lock, as the file says; None for what it does not say.

    `serves`: others may ask for more; `protocol`: in which words, and 0 for those of before they were numbered.
    """

    pid: int | None
    host: str | None
    serves: bool = True
    protocol: int = PROTOCOL


class WriterLock:
    """The right to write the store in a folder, from construction until `close`."""

    def __init__(self, folder: str, *, serves: bool = True) -> None:
        """Take the lock of the store in `folder`, which is there; `serves` tells others whether they may ask for more.

        Raises:
            StoreInUse: another host has it, in this process or another one.
            StoreError: the folder does not allow it.
        """
        self.path = folder
        self._signed = Signed(os.getpid(), socket.gethostname(), serves)
        self._fd = self._folder = -1
        try:
            # Held open, so that no other folder gets its identity meanwhile.
            self._folder = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            status = os.fstat(self._folder)
            self._identity = (status.st_dev, status.st_ino)
            with _held_lock:
                # The file would say the same, unless somebody has removed it.
                for other in _held:
                    if other._identity == self._identity:
                        raise in_use(folder, other._signed)
                self._fd = _locked(folder)
                if not _flock_folder(self._folder, fcntl.LOCK_EX):
                    raise in_use(folder, Signed(None, None))
                os.pwrite(self._fd, json.dumps(self._signed._asdict()).encode().ljust(_SIZE), 0)
                _held.add(self)
        except BaseException as error:
            self.close()
            if isinstance(error, OSError):
                raise translated(error, folder, "taking the store's lock") from error
            raise

    def close(self) -> None:
        """Let the next host in. Closing twice is harmless."""
        with _held_lock:
            fd, folder = self._fd, self._folder
            self._fd = self._folder = -1
            _held.discard(self)
        if fd >= 0:
            with suppress(OSError):  # a disk that takes nothing: then they look whether we are still running
                # Whoever finds the lock taken from now on is not told about us. The file keeps its length: who opens
                # the store on a full disk, to empty it, has room to sign it.
                os.pwrite(fd, b"".ljust(_SIZE), 0)
            os.close(fd)
        if folder >= 0:
            os.close(folder)


def is_ours(folder: str) -> bool:
    """Return whether this process has the lock of the store in `folder`."""
    try:
        status = os.stat(folder)
    except OSError:
        return False
    with _held_lock:
        return any(other._identity == (status.st_dev, status.st_ino) for other in _held)


def has_host(folder: str) -> bool:
    """Return whether a host serves the store in `folder`, in whatever process."""
    return holder(folder) is not None


def holder(folder: str) -> Signed | None:
    """Return who has the store in `folder`, as far as he has said; None when nobody has it."""
    try:
        with ExitStack() as stack:
            there = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            stack.callback(os.close, there)
            free = _flock_folder(there, fcntl.LOCK_SH)  # a host that begins right now tries again
            try:
                fd = os.open(os.path.join(folder, NAME), os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                return None if free else Signed(None, None)
            stack.callback(os.close, fd)
            return None if free and _flock(fd, fcntl.LOCK_SH) else _signed(fd)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise translated(error, folder, "looking for a host") from error


def keep_hosts_out(folder: str) -> int | None:
    """Return a descriptor that keeps hosts away as long as it is open; None where there never was one.

    For who may not write, and so cannot tell a host which pages he reads.

    Raises:
        StoreError: there is a host.
    """
    try:
        fd = os.open(os.path.join(folder, NAME), os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    if not _flock(fd, fcntl.LOCK_SH):
        signed = _signed(fd)
        os.close(fd)
        raise StoreError(
            f"{folder}: the store is in use by process {signed.pid} on {signed.host}, and who reads beside it must be "
            "allowed to "
            "write its lock.mdb, to say which pages he reads. Allow it, or stop that process."
        )
    return fd


def _locked(folder: str) -> int:
    """Return a descriptor of the folder's lock file that has the lock.

    Raises:
        StoreInUse: somebody else has it.
    """
    name = os.path.join(folder, NAME)
    deadline = time.monotonic() + _PATIENCE
    while True:
        fd = os.open(name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            if _flock(fd, fcntl.LOCK_EX):
                if _is_still(name, fd):
                    return fd
            else:
                signed = _signed(fd)
                if _is_running(signed) or time.monotonic() > deadline:
                    raise in_use(folder, signed)
                time.sleep(0.002)  # it was locked just now, and is about to be signed
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)


def _flock(fd: int, kind: int) -> bool:
    try:
        fcntl.flock(fd, kind | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return False
        raise
    return True


def _flock_folder(fd: int, kind: int) -> bool:
    """Lock a folder; where a file system has no locks on folders, that on the file must do."""
    try:
        return _flock(fd, kind)
    except OSError:
        return True


def _is_still(name: str, fd: int) -> bool:
    """Return whether the locked file is the one that others will find: it may have been removed meanwhile."""
    try:
        return os.path.samestat(os.stat(name), os.fstat(fd))
    except FileNotFoundError:
        return False


def _signed(fd: int) -> Signed:
    """Return who has a lock file."""
    return signed_in(os.pread(fd, _SIZE, 0))


def signed_in(data: bytes) -> Signed:
    """Return who has a lock file that holds this, whatever it is."""
    try:
        signed = json.loads(data)
        pid, host, serves = signed["pid"], signed["host"], signed.get("serves", True)
        protocol = signed.get("protocol", 0)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Signed(None, None)
    if type(pid) is not int or type(host) is not str or type(protocol) is not int:
        return Signed(None, None)
    return Signed(pid, host, serves is not False, protocol)


def _is_running(signed: Signed) -> bool:
    """Return whether this may be who has the lock; no is certain, as the process is gone, or was never named."""
    if signed.pid is None:
        return False
    if signed.host != socket.gethostname():
        return True
    try:
        os.kill(signed.pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def in_use(folder: str, signed: Signed) -> StoreInUse:
    pid, host = signed.pid, signed.host
    if pid == os.getpid() and host == socket.gethostname():
        who = f"by this process (pid {pid} on {host}), which has opened it already and not closed it"
    elif pid is None:
        who = "by a process that did not say which it is"
    else:
        who = f"by process {pid} on {host}"
    if signed.serves:
        what = ". A store has one host at a time: stop that one, or read with a Reader."
    else:
        what = ", which takes care of it (an import, a prune, a repair) and serves nobody: try again when that is done."
    message = f"{folder}: the store is in use {who}{what}"
    return StoreInUse(message, pid=pid, host=host, serves=signed.serves, protocol=signed.protocol)


def _after_fork_in_child() -> None:
    """Close the inherited descriptors: a child that outlives its parent would go on holding the parent's lock."""
    global _held_lock
    _held_lock = threading.Lock()
    for lock in list(_held):
        os.close(lock._fd)
        os.close(lock._folder)
        lock._fd = lock._folder = -1
    _held.clear()


os.register_at_fork(after_in_child=_after_fork_in_child)
