"""What was verified already, as a file of JSON lines: so that a verification that was stopped goes on.

The first line says of which store and of which code; each other one what was found of a run. What was found holds as
long as the code is the same and the run has no more records than it had.
"""

import fcntl
import hashlib
import os
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self
from zlib import crc32

import msgspec

from looms import RunSummary
from looms.commands.files import file_for
from looms.commands.settings import UsageError


class _Head(msgspec.Struct, frozen=True):
    """The first line."""

    looms_verify: int  # the format
    store: str
    code: str


class _Line(msgspec.Struct, frozen=True):
    """What was found of a run."""

    run_id: str
    definition: str
    started_at: int
    seq: int
    crc: int  # of what was found: whoever tells it relies on every field of it
    found: msgspec.Raw


FORMAT = 4  # 1: did not tell where a run hung; 2: nor whether it is sound; 3: had no checksums
_BROKEN = (msgspec.MsgspecError, ValueError, RecursionError)


class VerifyFile:
    """The file, while its context is open: for one verification at a time.

    Args:
        path: the file, which is made when it is not there.
        store: the store's folder.
        code: what tells today's code from any other.
    """

    def __init__(self, path: Path, store: Path, code: str) -> None:
        self._path = path
        self._head = _Head(FORMAT, os.path.realpath(store), code)
        self._places: dict[bytes, int] = {}

    def __enter__(self) -> Self:
        """Open it, and read what is in it.

        Raises:
            UsageError: it is no such file, is about another store or other code, or another verification has it.
        """
        with file_for("the file of --resume", self._path):
            self._file: BinaryIO = self._path.open("a+b")
        try:
            self._lock()
            self._read()
        except BaseException:
            self._file.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def kept(self, summary: RunSummary) -> Any:
        """What was found of a run, or None where it was not verified, or has gone on since."""
        place = self._places.get(_key(summary.run_id, summary.definition, summary.started_at, summary.seq))
        if place is None:
            return None
        self._file.seek(place)
        return msgspec.json.decode(msgspec.json.decode(self._file.readline(), type=_Line).found)

    def keep(self, summary: RunSummary, found: Any) -> None:
        """Note what was found of a run."""
        data = msgspec.Raw(msgspec.json.encode(found))
        self._write(_Line(summary.run_id, summary.definition, summary.started_at, summary.seq, crc32(data), data))

    def _write(self, line: _Head | _Line) -> None:
        self._file.write(msgspec.json.encode(line) + b"\n")  # at the end: the file is open for appending
        self._file.flush()

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"--resume {self._path}: another verification is at work with this file") from None

    def _read(self) -> None:
        self._file.seek(0)
        first = self._file.readline()
        if not first:
            self._write(self._head)
            return
        self._check(first)
        place = self._file.tell()
        for data in self._file:
            try:
                line = msgspec.json.decode(data, type=_Line)
            except _BROKEN:
                if data.endswith(b"\n"):
                    raise self._no_such_file() from None
                self._file.truncate(place)  # the process was killed while it wrote this one
                break
            if crc32(line.found) != line.crc:
                raise self._no_such_file()
            self._places[_key(line.run_id, line.definition, line.started_at, line.seq)] = place
            place += len(data)

    def _check(self, first: bytes) -> None:
        try:
            head = msgspec.json.decode(first, type=_Head)
        except _BROKEN:
            raise self._no_such_file() from None
        if head.looms_verify != FORMAT:
            raise UsageError(
                f"--resume {self._path}: that is of another version of Looms, which verifies otherwise; give another "
                "file, or remove this one to begin anew"
            )
        if head.store != self._head.store:
            raise UsageError(
                f"--resume {self._path}: that is of a verification of {head.store}, and this is {self._head.store}; "
                "give another file"
            )
        if head.code != self._head.code:
            raise UsageError(
                f"--resume {self._path}: that is of a verification with other code than today's, which may find "
                "something else; give another file, or remove this one to begin anew"
            )

    def _no_such_file(self) -> UsageError:
        return UsageError(f"--resume {self._path}: that is no file of a verification; give one that is not there yet")


def _key(*parts: object) -> bytes:
    """What tells a run as it was from any other, in a few bytes: there may be a million."""
    return hashlib.blake2b(msgspec.json.encode(parts), digest_size=16).digest()
