"""Whether a store's file was flushed before anybody was told so: a law about the system calls of its processes.

LMDB's way to commit is this. It writes the changed pages to places that nothing refers to; it flushes the file; it
writes one of the two first pages, which says where the others are, through a descriptor that was opened with O_DSYNC,
so that this write is on the disk when it returns. Only then the commit counts.
"""

import re
from pathlib import Path

import msgspec

from tests.crash.tracing import Made

CALLS = (
    "openat",
    "write",
    "writev",
    "pwrite64",
    "pwritev",
    "pwritev2",
    "lseek",
    "fdatasync",
    "fsync",
    "mkdir",
    "rename",
)
SAID = "acknowledged"

_WRITES = {"write", "writev", "pwrite64", "pwritev", "pwritev2"}
_FLUSHES = {"fdatasync", "fsync"}
_FIRST_PAGES = 2 * 4_096


class Acknowledgement(msgspec.Struct, frozen=True):
    """That a program said that a call had returned.

    Attributes:
        text: what it said.
        commits: how many commits were on the disk since the last time.
        writers: how many threads, of all processes, have made them.
    """

    text: str
    commits: int
    writers: int


class Unflushed(AssertionError):
    """Something was said to be done, and was not on the disk."""


def acknowledged(calls: list[Made], store: Path) -> list[Acknowledgement]:
    """Check the order of writes and flushes, and return what was acknowledged, with the commits before it.

    Raises:
        Unflushed: a first page was written before the pages that it leads to were flushed, or an acknowledgement was
            given before a commit was on the disk.
    """
    found: list[Acknowledgement] = []
    since = 0
    for said in calls:
        if said.name == "write" and f'"{SAID}' in said.text:
            commits = [call for call in _commits(calls, store) if call.ended is not None and since < call.ended]
            done = [call for call in commits if _is_on_disk_by(call, said.begun, calls)]
            for call in commits:
                if call not in done and call.ended is not None and call.ended < said.begun:
                    raise Unflushed(f"{said.text} was said, and the first page was not flushed: {call.text}")
            found.append(Acknowledgement(said.text, len(done), len({call.thread for call in done})))
            since = said.begun
    for commit in _commits(calls, store):
        _check_pages_before(commit, calls, store)
    return found


def names_flushed(calls: list[Made], store: Path) -> bool:
    """Whether the names of a new store's folder and of its file were on the disk before anything was acknowledged."""
    (said, *_) = [call for call in calls if call.name == "write" and f'"{SAID}' in call.text]
    made = [call for call in calls if call.name == "mkdir" and f'"{store}"' in call.text]
    named = [call for call in calls if call.name == "rename" and f'"{store / "data.mdb"}"' in call.text]
    return all(
        any(
            flush.name == "fsync" and flush.path == str(folder) and change.begun < flush.begun < said.begun
            for flush in calls
        )
        for folder, (change, *_) in ((store.parent, made), (store, named))
    )


def _commits(calls: list[Made], store: Path) -> list[Made]:
    """The writes of first pages."""
    return [call for call in _writes(calls, store) if position(call, calls) < _FIRST_PAGES]


def _writes(calls: list[Made], store: Path) -> list[Made]:
    return [call for call in calls if is_write(call) and call.path == str(store / "data.mdb")]


def is_write(call: Made) -> bool:
    """Whether a call writes to a file."""
    return call.name in _WRITES


def position(call: Made, calls: list[Made]) -> int:
    """Where in the file it writes: a last argument, or where that thread has gone in it before."""
    if call.name.startswith("pwrite"):
        return int(re.split(r", (?=\d+\) )", call.text)[-1].split(")")[0])
    gone = [one for one in calls if one.name == "lseek" and one.thread == call.thread and one.begun < call.begun]
    return int(gone[-1].text.rsplit("= ", 1)[1])


def on_disk_at(call: Made, calls: list[Made]) -> int | None:
    """The place at which what a call wrote was on the disk for certain."""
    if call.ended is None:
        return None
    if _is_synchronous(call, calls):
        return call.ended
    ends = (
        flush.ended
        for flush in calls
        if flush.name in _FLUSHES
        and flush.path == call.path
        and flush.begun > call.ended
        and flush.ended is not None
        and flush.text.endswith("= 0")
    )
    return min(ends, default=None)


def _is_on_disk_by(call: Made, place: int, calls: list[Made]) -> bool:
    """Whether what a call wrote was on the disk at a place."""
    at = on_disk_at(call, calls)
    return at is not None and at < place


def _is_synchronous(call: Made, calls: list[Made]) -> bool:
    """Whether a write returns when it is on the disk: its descriptor was opened so."""
    descriptor = call.text.split(",", 1)[0]
    opened = [one for one in calls if one.name == "openat" and one.text.endswith(f"= {descriptor}")]
    opened = [one for one in opened if one.ended is not None and one.ended < call.begun]
    return bool(opened) and ("O_DSYNC" in opened[-1].text or "O_SYNC" in opened[-1].text)


def _check_pages_before(commit: Made, calls: list[Made], store: Path) -> None:
    """All pages that were written before a first page is written are on the disk by then."""
    for call in _writes(calls, store):
        before = call.begun < commit.begun and position(call, calls) >= _FIRST_PAGES
        if before and not _is_on_disk_by(call, commit.begun, calls):
            raise Unflushed(f"a first page was written before this was flushed: {call.text}")
