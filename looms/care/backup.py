"""Copies of a store, made while its host goes on."""

import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing

import msgspec

from looms.reducers.givens import listener
from looms.reducers.givens import path as given_path
from looms.snapshots import commits, folder
from looms.snapshots.environment import Environment
from looms.snapshots.errors import StoreError
from looms.snapshots.translation import translated


class Backup(msgspec.Struct, frozen=True):
    """A copy of a store.

    Attributes:
        path: its folder.
        bytes: the size of its file.
        commit: the number of the last commit that is in it; 0 for none.
    """

    path: str
    bytes: int
    commit: int


def backup(
    path: str | os.PathLike[str], target: str | os.PathLike[str], *, step: Callable[[int], None] | None = None
) -> Backup:
    """Copy a store into a new folder, as of one commit, while a host may go on writing it.

    The copy is compact: free pages are left out. It is written beside the target under another name, and gets its own
    when it is complete and on disk: so what is under that name is a whole store. Whoever is killed meanwhile leaves a
    folder ``.NAME.….part`` that can be deleted.

    Args:
        path: the store's folder.
        target: the folder of the copy, which is not there yet; the one that it is to be in is.
        step: is told of so many bytes more that were written.

    Raises:
        StoreNotFound: there is no store.
        StoreFull: no room for the copy; nothing is left of it.
        StoreFormatError: the store's file is damaged.
        StoreError: the target is there already, or its folder does not allow it.
    """
    path, name = given_path("path", path), given_path("target", target)
    listener("step", step)
    if os.path.lexists(name):
        raise StoreError(f"{name}: there is something already. A backup is never written over; give another name.")
    where, called = os.path.split(os.path.abspath(name))
    if os.path.realpath(path) in _above(os.path.realpath(where)):
        raise StoreError(f"{name}: that is inside of the store itself. Give the name of a folder elsewhere.")
    part = os.path.join(where, f".{called}.{secrets.token_hex(4)}.part")
    with closing(Environment(path)) as environment:
        try:
            try:
                os.mkdir(part)
                _copy(environment, os.path.join(part, folder.DATA), step or (lambda _: None))
                folder.look(part)  # it is a store
                commit, size = _last_commit(part), os.stat(os.path.join(part, folder.DATA)).st_size
                _sync(part)
                os.rename(part, name)
                _sync(where)
            except OSError as error:
                raise translated(error, name, "writing the backup") from error
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise
    return Backup(name, size, commit)


def _above(path: str) -> Iterator[str]:
    """A folder, and all that it is in."""
    yield path
    while os.path.dirname(path) != path:
        path = os.path.dirname(path)
        yield path


def _copy(environment: Environment, data: str, step: Callable[[int], None]) -> None:
    with open(data, "xb", buffering=0) as file:

        def write(piece: bytes) -> None:
            rest = memoryview(piece)
            while rest:
                rest = rest[file.write(rest) or 0 :]
            step(len(piece))

        environment.copy(write)
        os.fsync(file.fileno())


def _last_commit(part: str) -> int:
    """The last commit in a copy that nobody else has open; LMDB's lock file goes again."""
    with closing(Environment(part)) as copy, copy.view() as view:
        last = commits.last(view)
    os.unlink(os.path.join(part, folder.LOCK))
    return last


def _sync(path: str) -> None:
    """Have a folder's entries on disk."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
