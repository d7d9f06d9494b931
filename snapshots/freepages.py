"""LMDB's list of free pages, read by hand: whether what a file lacks at its end is nothing that anybody needs.

LMDB does not write a page that was used and let go within one transaction. So where a host was killed, the file may end
before its last page in use: which is harmless if the pages behind the end are free, and else the file was cut. Only the
list tells the two apart, and LMDB must not be asked: it would read behind the end, which kills the process.
"""

import os
from collections.abc import Iterator
from struct import Struct, error
from typing import IO

_HEADER = Struct("=8x 2x H H H")  # flags; where the pointers to nodes end, where the nodes begin
_POINTER = Struct("=H")
_NODE = Struct("=H H H H")  # the size of the data, or with flags the number of a page; the key's size
_NUMBER = Struct("=Q")
_BRANCH, _LEAF = 1, 2
_ELSEWHERE = 1  # of a node: its data has pages of its own
_NOWHERE = 2**64 - 1
_DEEPEST = 32


class Unreadable(Exception):
    """The list cannot be read: some of it is behind the file's end, or is something else."""


def are_free(file: IO[bytes], size: int, root: int, first: int, last: int) -> bool:
    """Return whether the pages from `first` to `last` are all in the list of free pages.

    Args:
        file: the data file.
        size: the size of a page, in bytes.
        root: the page that the list begins with.
    """
    free: set[int] = set()
    try:
        for page in _free(file, size, root, _DEEPEST):
            if first <= page <= last:
                free.add(page)
    except (Unreadable, error):
        return False
    return len(free) == last - first + 1


def _free(file: IO[bytes], size: int, page: int, depth: int) -> Iterator[int]:
    """Iterate over the pages that a branch or a leaf of the list, and what is below it, says to be free."""
    if page == _NOWHERE:
        return
    data = _read(file, page * size, size)
    flags, lower, _ = _HEADER.unpack_from(data)
    if depth == 0 or not flags & (_BRANCH | _LEAF) or not 16 <= lower <= size:
        raise Unreadable
    for pointer in range(16, lower, 2):
        (at,) = _POINTER.unpack_from(data, pointer)
        low, high, more, key = _NODE.unpack_from(data, at)
        if flags & _BRANCH:
            yield from _free(file, size, low | high << 16 | more << 32, depth - 1)
            continue
        begin, length = at + 8 + key, low | high << 16
        if more & _ELSEWHERE:
            (elsewhere,) = _NUMBER.unpack_from(data, begin)
            yield from _numbers(_read(file, elsewhere * size + 16, length))
        else:
            yield from _numbers(data[begin : begin + length])


def _numbers(data: bytes) -> Iterator[int]:
    """Iterate over the numbers behind their count."""
    (count,) = _NUMBER.unpack_from(data)
    if len(data) < 8 * (count + 1):
        raise Unreadable
    return (number for (number,) in _NUMBER.iter_unpack(data[8 : 8 * (count + 1)]))


def _read(file: IO[bytes], at: int, length: int) -> bytes:
    if at + length > os.fstat(file.fileno()).st_size:
        raise Unreadable
    return os.pread(file.fileno(), length, at)
