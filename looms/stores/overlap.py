"""Overlap: does a write touch what a reader has read?

A reader has *read values* and *looked whether something is there* (``s.tag is None``, ``key in s.table``,
``isinstance``). What it learns by a look can only change when something else is put there or above. A *write* is a
place where a state came to differ, or what differs at the end of a list: the places from some index on, which came or
went.

| touched by a write | at its path | above it | below it | to a list's end, from ``n`` on |
|---|---|---|---|---|
| a value | yes | yes | yes | if it is the list, above it, or at or below an index from ``n`` on |
| a look | yes | yes | no | if it is at or below an index from ``n`` on |

("Above" is nearer to the root: replacing ``profile`` is a write above ``profile.name``.) So appending touches the new
places and whoever read the list, but not who looked whether the list is there, nor who read its first item.

On disk, what a reader waits for is a key: the path (``paths.py``), ``00``, ``00`` for a look and ``01`` for a value.
What a write touches is then a few ranges of keys (``spans``): one for all at or below it, and one for the values at
each place above. Nothing else is looked at, however many wait.
"""

from collections.abc import Iterable
from typing import NamedTuple

from looms.reducers.changes import Path
from looms.stores.paths import AFTER_NUMBERS, kept, leads_to, stored, token

MOST = 100
"""How many reads of one selector, or writes of one update, are told apart; more are told by the places above them."""

_LOOK, _VALUE, _AFTER_VALUE = b"\0\0", b"\0\1", b"\0\2"
_END = b"\xff"  # after all tokens


class Read(NamedTuple):
    """What a reader has read: the value at a path, or with ``look`` only whether it is there, and of which type."""

    path: Path
    look: bool = False


class Write(NamedTuple):
    """Where a state came to differ: at a path; or at the end of the list that is there, from index ``first`` on."""

    path: Path
    first: int | None = None


EVERYTHING = Write(())
"""What creating or deleting a store is to its readers."""


class Span(NamedTuple):
    """A range of keys, its end not included; of keys that begin as told here, whoever waits is named behind."""

    start: bytes
    end: bytes


def touches(write: Write, read: Read) -> bool:
    """Whether what was read may be another after the write."""
    path, first = write
    if first is None:
        return leads_to(path, read.path) or (not read.look and leads_to(read.path, path))
    if len(read.path) > len(path) and leads_to(path, read.path):
        return token(first) <= token(read.path[len(path)]) < AFTER_NUMBERS
    return not read.look and leads_to(read.path, path)


def key(read: Read) -> bytes:
    """What a reader waits under.

    A look that is too deep to be stored becomes the reading of a value: all that is below the cut may mean it.
    """
    cut = kept(read.path) != read.path
    return stored(read.path) + (_LOOK if read.look and not cut else _VALUE)


def spans(write: Write) -> list[Span]:
    """The ranges that hold the keys of all who have read what a write touches."""
    path, first = write
    if first is not None and len(kept((*path, first))) > len(path):
        below = Span(stored(path) + token(first), stored(path) + AFTER_NUMBERS)
        readers = len(path) + 1  # of the list as well
    else:
        path = kept(path)
        below = Span(stored(path), stored(path) + _END)
        readers = len(path)
    above = [stored(path[:depth]) for depth in range(readers)]
    return [*(Span(start + _VALUE, start + _AFTER_VALUE) for start in above), below]


def fewest_reads(reads: Iterable[Read]) -> tuple[Read, ...]:
    """The reads that stand for all: whatever touches one of those left out touches one of these.

    A value stands for all that is below it; and a look is meant by whatever is read below it.
    """
    found = set(reads)
    if len(found) > MOST:
        found = {Read(path) for path in _shortened({read.path for read in found})}
    values = {read.path for read in found if not read.look}
    values = {path for path in values if not any(path[:depth] in values for depth in range(len(path)))}
    looks = {read.path for read in found if read.look}
    looks = {path for path in looks if not any(path[:depth] in values for depth in range(len(path) + 1))}
    meant = {path[:depth] for path in looks for depth in range(len(path))}
    meant |= {path[:depth] for path in values for depth in range(len(path))}
    return tuple(sorted([*map(Read, values), *(Read(path, look=True) for path in looks - meant)], key=key))


def fewest_writes(writes: Iterable[Write]) -> tuple[Write, ...]:
    """The writes that stand for all: whatever one of those left out touches, one of these touches."""
    found = set(writes)
    if len(found) > MOST:
        found = {Write(path) for path in _shortened({write.path for write in found})}
    whole = {write.path for write in found if write.first is None}

    def stands(write: Write) -> bool:
        own = len(write.path) + (write.first is not None)
        return not any(write.path[:depth] in whole for depth in range(own))

    return tuple(sorted(filter(stands, found), key=lambda write: (stored(write.path), write.first or 0)))


def _shortened(paths: set[Path]) -> set[Path]:
    """As many paths as are told apart, each leading to some of these."""
    depth = max(map(len, paths))
    while len(paths) > MOST:
        depth -= 1
        paths = {path[:depth] for path in paths}
    return paths
