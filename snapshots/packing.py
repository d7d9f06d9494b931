"""Keys as bytes. Numbers are big-endian, so that LMDB's byte order is their order."""

from struct import Struct

_U32 = Struct(">I")
_U64 = Struct(">Q")
_PAIR = Struct(">QQ")
_PLACE = Struct(">QQI")

u32 = _U32.pack
u64 = _U64.pack
pair = _PAIR.pack  # two u64: (run, seq), (run, n)
place = _PLACE.pack  # (run, seq, index): what was decided at a record


def read_u64(key: bytes, at: int = 0) -> int:
    """Return the u64 that begins at `at`."""
    number: int = _U64.unpack_from(key, at)[0]
    return number


def read_pair(key: bytes, at: int = 0) -> tuple[int, int]:
    """Return the two u64 that begin at `at`."""
    first, second = _PAIR.unpack_from(key, at)
    return first, second


def read_place(key: bytes, at: int = 0) -> tuple[int, int, int]:
    """Return the (run, seq, index) that begins at `at`."""
    run, seq, index = _PLACE.unpack_from(key, at)
    return run, seq, index


def after(prefix: bytes) -> bytes | None:
    """Return the first key that is greater than every key with this prefix; None when there is none.

    `scan(table, prefix, after(prefix))` is every row with the prefix.
    """
    kept = prefix.rstrip(b"\xff")
    return kept[:-1] + bytes((kept[-1] + 1,)) if kept else None
