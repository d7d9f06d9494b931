"""The seal on every value: four bytes of crc32 over the table's name, the key and the body, before the body.

LMDB does not check what it reads. With the seal a flipped bit, and a value that got under another key or into
another table, is found when it is read, and never decoded into something that looks right.
"""

from zlib import crc32

from looms.snapshots.errors import StoreFormatError
from looms.snapshots.tables import ALL, Table, decoded

_SEED = {table: table.seed for table in ALL}


def seal(table: Table, key: bytes, body: bytes) -> bytes:
    """Return the value to store: the body with its seal before it."""
    return crc32(body, crc32(key, _SEED[table])).to_bytes(4) + body


def unseal(table: Table, key: bytes, value: bytes, path: str) -> bytes:
    """Return the body of a stored value.

    Raises:
        StoreFormatError: the value is not what was written under this key of this table.
    """
    body = value[4:]
    if int.from_bytes(value[:4]) != crc32(body, crc32(key, _SEED[table])) or len(value) < 4:
        raise damaged(table, key, path, "its checksum does not match what it holds")
    return body


def damaged(table: Table, key: bytes, path: str, what: str) -> StoreFormatError:
    """Return the error for a row that cannot be what was written."""
    fields = decoded(table, key)
    run, seq = fields.get("run"), fields.get("seq")
    return StoreFormatError(
        f"{path}: the row of table {table.name!r} at {fields} is damaged: {what}. "
        "The other rows are not affected; restore the store from a copy, or remove the run that this row belongs to.",
        table=table.name,
        key=key,
        run=run if isinstance(run, int) else None,
        seq=seq if isinstance(seq, int) else None,
    )
