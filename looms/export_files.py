"""Files of exported runs: written whole or not at all, and never over one that is there."""

import fcntl
import gzip
import hashlib
import io
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Self, cast

from looms.reducers.errors import InvalidInput
from looms.reducers.givens import refused
from looms.reducers.portable import End, line

TIMED = r"looms-[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{6}Z\.jsonl\.gz"
"""How an archive in a folder is called, by the time at which it is begun (see ``looms.pruning``)."""

Target = str | os.PathLike[str] | IO[bytes]


class ExportFile:
    """Where lines of an export go: a file that appears under its name when it is complete and on disk, or a stream.

    A context manager; without ``finish`` nothing is left behind.

    Args:
        target: the file's path (``.gz`` at its end compresses it), or something with ``write``.

    Raises:
        InvalidInput: there is a file of that name, or its end asks for a compression that is not there.
        OSError: the folder does not allow it.
    """

    def __init__(self, target: Target) -> None:
        self._digest = hashlib.sha256()
        self._stack = ExitStack()
        self._path: Path | None = None
        self._raw: IO[bytes]
        if isinstance(target, str | os.PathLike):
            self._path = checked_target(target)
            self._part = self._path.with_name(f"{self._path.name}.{os.getpid()}.part")
            with _of_file(self._path):
                remove_dead_parts(self._path)
                self._raw = self._stack.enter_context(self._part.open("xb"))
                self._stack.callback(self._part.unlink, missing_ok=True)
                fcntl.flock(self._raw, fcntl.LOCK_EX | fcntl.LOCK_NB)  # as long as it is there, somebody is at it
            self._out: IO[bytes] = self._raw
            if self._path.suffix == ".gz":
                compressed = gzip.GzipFile(filename="", mode="wb", fileobj=self._raw, compresslevel=6, mtime=0)
                self._out = cast(IO[bytes], compressed)
                self._stack.callback(compressed.close)
        elif not hasattr(target, "write") or is_text(target):
            refused("target", target, "a file's path, or something binary with write()")
        else:
            self._raw = self._out = target

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError) if error is not None else nullcontext():  # that it is full has been told
            self._stack.close()

    def write(self, lines: Sequence[bytes]) -> None:
        """Write lines, each with its end."""
        data = b"".join(lines)
        self._digest.update(data)
        with _of_file(self._path):
            self._out.write(data)

    def finish(self, runs: int, records: int) -> None:
        """Write the last line; a file is on disk under its name when this returns.

        Raises:
            InvalidInput: there is a file of that name by now.
        """
        with _of_file(self._path):
            self._out.write(line(End(runs, records, self._digest.hexdigest())) + b"\n")
            if self._out is not self._raw:
                self._out.close()
            self._raw.flush()
            if self._path is None:
                return
            os.fsync(self._raw.fileno())
        try:
            os.link(self._part, self._path)  # unlike a renaming, it refuses to put another file away
        except FileExistsError:
            raise _there(self._path) from None
        except OSError:
            checked_target(self._path)
            self._part.rename(self._path)  # a disk without links
        _sync_folder(self._path.parent)


def is_text(stream: object) -> bool:
    """Whether a stream is of text: exports are bytes."""
    return hasattr(stream, "encoding")


@contextmanager
def _of_file(path: Path | None) -> Iterator[None]:
    """Tell of a file by the name that it was asked for: what it is called for the moment is nobody's affair."""
    try:
        yield
    except OSError as error:
        if path is None or error.errno is None:
            raise
        raise type(error)(error.errno, error.strerror, str(path)) from None


def remove_dead_parts(path: Path) -> None:
    """Remove what processes left that were killed while they wrote this file, or an archive of another time."""
    name = TIMED if re.fullmatch(TIMED, path.name) else re.escape(path.name)
    named = re.compile(name + r"\.([0-9]{1,10})\.part")
    for found in [one for one in path.parent.iterdir() if named.fullmatch(one.name)]:
        with suppress(OSError), found.open("rb") as part:  # another one may be removing it
            fcntl.flock(part, fcntl.LOCK_EX | fcntl.LOCK_NB)
            pid = int(found.name.split(".")[-2])
            if pid == os.getpid() or not _is_running(pid):
                found.unlink()


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


def checked_target(target: str | os.PathLike[str]) -> Path:
    """The path of a file that is to be written.

    Raises:
        InvalidInput: there is a file of that name, or its end asks for a compression that is not there.
    """
    path = Path(target)
    if path.is_dir():
        raise InvalidInput(f"{path} is a folder; give the name of a file in it that is not there yet")
    if path.suffix in (".zst", ".xz", ".bz2", ".zip"):
        raise InvalidInput(f"{path}: exports are compressed with gzip; give a name that ends in .gz, or in .jsonl")
    if path.exists():
        raise _there(path)
    return path


def _there(path: Path) -> InvalidInput:
    return InvalidInput(f"{path} is there, and an export overwrites nothing; give another name, or move it away")


def _sync_folder(folder: Path) -> None:
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return  # where folders cannot be opened, a renamed file needs no such help
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def opened(source: str | os.PathLike[str]) -> IO[bytes]:
    """A file of exported runs, to read; one that is compressed is known by its first bytes.

    Raises:
        OSError: it cannot be read.
    """
    raw = open(source, "rb")  # noqa: SIM115 - it is the caller's to close
    if raw.peek(2)[:2] == b"\x1f\x8b":
        return io.BufferedReader(_Unzipped(raw))
    return raw


class _Unzipped(io.RawIOBase):
    """The content of a gzip file, which is closed with it."""

    def __init__(self, raw: IO[bytes]) -> None:
        self._raw = raw
        self._file = gzip.GzipFile(fileobj=raw)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object, /) -> int:
        return self._file.readinto(buffer)  # type: ignore[arg-type]

    def close(self) -> None:
        self._file.close()
        self._raw.close()
        super().close()

    @property
    def position(self) -> int:
        """How much of the compressed file was read."""
        return self._raw.tell()


def position(file: IO[bytes]) -> int:
    """How much of a file from ``opened`` was read, compressed or not."""
    raw = getattr(file, "raw", None)
    return raw.position if isinstance(raw, _Unzipped) else file.tell()
