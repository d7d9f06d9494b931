"""LMDB's file, as far as it must be right before LMDB may see it.

LMDB maps the file and believes what its first two pages say: with nonsense there, or with less behind them than they
promise, the process is killed by the system, and no error can be raised. So this much is read by hand.
"""

import os
from struct import Struct, error

from looms.snapshots.errors import StoreFormatError

# Pages at the end that LMDB may never have written, since they were free again at once. A host adds them with its next
# commit (`room.py`) or when it closes, so they are missing only where it was killed.
TRAILING = 16

_FORMAT = 1  # LMDB 0.9's, of all its versions
_MAGIC = 0xBEEFC0DE

# Behind a page's header of 16 bytes: magic, version; address and size of the map; two trees (of which the first
# keeps the page size where others have padding); the last page in use, and the transaction that wrote this.
# As it is on machines with addresses of 64 bits, in their byte order; a store does not move to others.
_META = Struct("=16x I I")
_REST = Struct("=8x 8x I 44x 48x Q Q")


def check(path: str, name: str, missing: int = 0) -> bool:
    """Check the LMDB file `name` of the store in the folder `path`, changing nothing. Return whether it has content.

    So many pages may be missing at its end.

    Raises:
        StoreFormatError: it is not LMDB's, of another version of it, damaged, or cut short.
        OSError: it cannot be read.
    """
    with open(os.path.join(path, name), "rb", buffering=0) as file:
        first = file.read(4_096)
        if not first:
            return False
        size, last = _meta(first, path, name)
        file.seek(size)
        other, other_last = _meta(file.read(4_096), path, name)
        if size != other:
            raise _damaged(path, name, "its two first pages do not agree")
        # The size after the pages: a writer makes the file longer before it says so in them.
        pages = os.fstat(file.fileno()).st_size // size
    used = max(last, other_last) + 1
    if used - pages > missing:
        raise _damaged(path, name, f"it was cut short: of {used} pages in use it has {pages}")
    return True


def _meta(page: bytes, path: str, name: str) -> tuple[int, int]:
    """Return the page size and the last page in use that a page says."""
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
        size, last, _ = _REST.unpack_from(page, _META.size)
    except error:
        raise _damaged(path, name, "its first pages are incomplete") from None
    if size not in (1 << n for n in range(9, 17)):
        raise _damaged(path, name, f"it says that its pages have {size} bytes")
    return size, last


def _damaged(path: str, name: str, what: str) -> StoreFormatError:
    return StoreFormatError(f"{path}: its {name} is damaged: {what}. Nothing was changed; restore it from a copy.")
