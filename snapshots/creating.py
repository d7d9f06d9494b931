"""Making the data file of a new store: under another name, and whole, before it is called what it is.

So a folder in which LMDB's lock file is and no data file, or an empty one, has lost it: a creation that dies half-way
never leaves it so. Who opened it as a new store would find everything gone, and write over what could be brought back.
"""

import os
import shutil
from contextlib import suppress
from typing import Any

import lmdb

from looms.snapshots import folder
from looms.snapshots.formats import prepared_tables

_ENOUGH = 1 << 20  # bytes of addresses, for tables without rows


def create(path: str, **options: Any) -> None:
    """Make the data file in a folder that has none; one at a time, as hosts are.

    The folder's name is durable then. The file's name is when the folder has been flushed: whoever opens a store to
    write does that, since a process may die before it comes to it.

    Raises:
        lmdb.Error, OSError: the disk or the folder does not allow it; nothing is left.
    """
    new = os.path.join(path, folder.NEW)
    shutil.rmtree(new, ignore_errors=True)  # of a creation that died
    try:
        os.mkdir(new)
        with lmdb.Environment(new, map_size=_ENOUGH, **options) as environment:
            prepared_tables(environment, path)
        with suppress(PermissionError):  # of a parent that is none of ours, and so the folder in it is not either
            folder.flush(os.path.dirname(os.path.realpath(path)))
        os.rename(os.path.join(new, folder.DATA), os.path.join(path, folder.DATA))
    finally:
        shutil.rmtree(new, ignore_errors=True)
