"""Files that a command was told to read or to write, and what is said where the system refuses one."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from looms.reducers.errors import LoomsError


@contextmanager
def file_for(purpose: str, path: Path | None) -> Iterator[None]:
    """Say what a file is for where it cannot be read or written.

    Args:
        purpose: what it is for: "the file to import".
        path: the file; None where there is none.

    Raises:
        LoomsError: the system refuses it.
    """
    try:
        yield
    except OSError as error:
        if path is None or error.filename is None or os.fspath(error.filename) != os.fspath(path):
            raise
        raise LoomsError(f"{path}, {purpose}: {error.strerror}") from None
