"""LMDB's file, as far as it must be right before LMDB may see it.

LMDB maps the file and believes what its first two pages say: with nonsense there, or with less behind them than they
promise, the process is killed by the system, and no error can be raised. So this much is read by hand.
"""

import os
from struct import Struct, error
from typing import IO, NamedTuple

from looms.snapshots import freepages
from looms.snapshots.errors import StoreFormatError

LOOKS = 4  # at a file that somebody else may be writing

_FORMAT = 1  # LMDB 0.9's, of all its versions
_MAGIC = 0xBEEFC0DE

# Behind a page's header of 16 bytes: magic, version; address and size of the map; two trees (of which the first
# keeps the page size where others have padding), each of which ends with its root; the last page in use, and the
# transaction that wrote this. The first tree is the list of free pages.
# As it is on machines with addresses of 64 bits, in their byte order; a store does not move to others.
_META = Struct("=16x I I")
_REST = Struct("=8x 8x I 36x Q 48x Q Q")


class _Meta(NamedTuple):
    """What one of the first pages says."""

    size: int
    free: int
    last: int
    transaction: int


def check(path: str, name: str) -> bool:
    """Check the LMDB file `name` of the store in the folder `path`, changing nothing. Return whether it has content.

    Pages that are free may be missing at its end: a host adds them with its next commit (`room.py`) or when it closes,
    so they are missing only where it was killed.

    Raises:
        StoreFormatError: it is not LMDB's, of another version of it, damaged, or cut short.
        OSError: it cannot be read.
    """
    with open(os.path.join(path, name), "rb", buffering=0) as file:
        if not file.read(1):
            return False
        for _ in range(LOOKS):
            meta = _newest(file, path, name)
            # The size after the pages: a writer makes the file longer before it says so in them.
            pages, used = os.fstat(file.fileno()).st_size // meta.size, meta.last + 1
            if used <= pages or freepages.are_free(file, meta.size, meta.free, pages, meta.last):
                return True
            if _newest(file, path, name) == meta:
                break  # nobody has written meanwhile, so that was no list in the midst of a change
    raise _damaged(path, name, f"it was cut short: of {used} pages in use it has {pages}")


def _newest(file: IO[bytes], path: str, name: str) -> _Meta:
    """Return what the newer of the two first pages says, and the last page in use of either."""
    first = _meta(os.pread(file.fileno(), 4_096, 0), path, name)
    other = _meta(os.pread(file.fileno(), 4_096, first.size), path, name)
    if first.size != other.size:
        raise _damaged(path, name, "its two first pages do not agree")
    newest = max(first, other, key=lambda meta: meta.transaction)
    return newest._replace(last=max(first.last, other.last))


def _meta(page: bytes, path: str, name: str) -> _Meta:
    """Return what one of the first pages says."""
    try:
        magic, version = _META.unpack_from(page)
    except error:
        magic, version = 0, 0
    if magic != _MAGIC:
        raise StoreFormatError(
            f"{path}: its {name} is not an LMDB file, so this is not a store. Nothing was changed; give another path."
        )
    if version != _FORMAT:
        raise StoreFormatError(
            f"{path}: its {name} is an LMDB file of data format {version}, and a store's is of format {_FORMAT}. "
            "Nothing was changed; give another path, or open it with the program that made it."
        )
    try:
        meta = _Meta(*_REST.unpack_from(page, _META.size))
    except error:
        raise _damaged(path, name, "its first pages are incomplete") from None
    if meta.size not in (1 << n for n in range(9, 17)):
        raise _damaged(path, name, f"it says that its pages have {meta.size} bytes")
    return meta


def _damaged(path: str, name: str, what: str) -> StoreFormatError:
    return StoreFormatError(f"{path}: its {name} is damaged: {what}. Nothing was changed; restore it from a copy.")
