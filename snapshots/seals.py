"""The seal on every value: four bytes of crc32 over the table's name, the key and the body, behind the body.

LMDB does not check what it reads. With the seal a flipped bit, and a value that got under another key or into
another table, is found when it is read, and never decoded into something that looks right.

The crc stands behind what it is about, lowest byte first: then the crc of all of it together is one constant,
whatever it is, and a value is checked without being taken apart.
"""

from collections.abc import Iterable
from zlib import crc32

from looms.snapshots.errors import StoreFormatError
from looms.snapshots.tables import ALL, Table, decoded

_SEED = {table: table.seed for table in ALL}
_SIZE = {table: table.key_size for table in ALL}
_GOOD = 0x2144DF1C
_OR_REMOVE = ", or remove the run (looms delete RUN --force)"
_BROKEN = "its checksum does not match what it holds"


def seal(table: Table, key: bytes, body: bytes) -> bytes:
    """Return the value to store: the body with its seal behind it."""
    return body + crc32(body, crc32(key, _SEED[table])).to_bytes(4, "little")


def unseal(table: Table, key: bytes, value: bytes, path: str) -> bytes:
    """Return the body of a stored value.

    Raises:
        StoreFormatError: the value is not what was written under this key of this table.
    """
    if crc32(value, crc32(key, _SEED[table])) != _GOOD:
        raise damaged(table, key, path, _BROKEN)
    return value[:-4]


def unseal_all(table: Table, rows: Iterable[tuple[bytes, bytes]], path: str) -> list[tuple[bytes, bytes]]:
    """Return the (key, body) of stored rows. What `unseal` does, without a call for each: logs are read through this.

    Raises:
        StoreFormatError: a value is not what was written under its key of this table.
    """
    seed, size = _SEED[table], _SIZE[table]
    opened = []
    for key, value in rows:
        if crc32(value, crc32(key, seed)) != _GOOD:
            raise damaged(table, key, path, _BROKEN)
        if size is not None and len(key) != size:
            check_key(table, key, path)
        opened.append((key, value[:-4]))
    return opened


def check_key(table: Table, key: bytes, path: str) -> None:
    """Check that a key that was found is as long as the table's keys are.

    Raises:
        StoreFormatError: it is not.
    """
    size = _SIZE[table]
    if size is not None and len(key) != size:
        raise damaged(table, key, path, f"its key has {len(key)} bytes, and keys of this table have {size}")


def damaged(table: Table, key: bytes, path: str, what: str) -> StoreFormatError:
    """Return the error for a row that cannot be what was written."""
    fields = decoded(table, key)
    run, seq = fields.get("run"), fields.get("seq")
    return StoreFormatError(
        f"{path}: the row of table {table.name!r} at {fields} is damaged: {what}. The other rows are not affected. "
        f"`looms check --repair` puts right what can be; else restore a copy{_OR_REMOVE if run else ''}.",
        table=table.name,
        key=key,
        run=run if isinstance(run, int) else None,
        seq=seq if isinstance(seq, int) else None,
        why=what,
    )
