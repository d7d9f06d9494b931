"""The tables of a new store, and whether those of an old one can be read by this code."""

from importlib.metadata import PackageNotFoundError, version

import lmdb
import msgspec

from looms.snapshots.errors import StoreFormatError
from looms.snapshots.rows import Format, encode
from looms.snapshots.seals import damaged, seal, unseal
from looms.snapshots.tables import ADDED, ALL, META, Table
from looms.snapshots.view import Handles

FORMAT = 1  # the layout in `tables.py`; one more with every change that older code would misread

_KEY = b"format"
_decoder = msgspec.msgpack.Decoder(Format)


def prepared_tables(environment: lmdb.Environment, path: str) -> Handles:
    """Return the handles of all tables; make and sign them first, when the store is new.

    Raises:
        StoreFormatError: this code cannot read the store.
    """
    if environment.flags()["readonly"]:
        check_format(environment, environment.open_db(META.name.encode(), create=False), path)
        return _handles(environment, None, path)
    # Handles that were opened in a transaction are kept only if it is a writing one that commits.
    with environment.begin(write=True) as txn:
        if not txn.stat()["entries"]:
            _create(environment, txn)
        check_format(environment, environment.open_db(META.name.encode(), txn, create=False), path, txn)
        return _handles(environment, txn, path)


def _create(environment: lmdb.Environment, txn: "lmdb.Transaction[bytes]") -> None:
    for table in ALL:
        environment.open_db(table.name.encode(), txn)
    value = seal(META, _KEY, encode(Format(FORMAT, library())))
    txn.put(_KEY, value, db=environment.open_db(META.name.encode(), txn))


def _handles(environment: lmdb.Environment, txn: "lmdb.Transaction[bytes] | None", path: str) -> Handles:
    """All tables; without those that an old store lacks, and that cannot be made in it."""
    found: dict[Table, lmdb._Database] = {}
    for table in ALL:
        try:
            found[table] = environment.open_db(table.name.encode(), txn, create=txn is not None and table in ADDED)
        except lmdb.NotFoundError:
            if table not in ADDED:
                raise _lacking(table, path) from None
    return found


def _lacking(table: Table, path: str) -> StoreFormatError:
    return StoreFormatError(
        f"{path}: the store has no table {table.name!r}, which stores of format {FORMAT} have. "
        "Open it with the version of looms that wrote it, or restore a copy."
    )


def check_format(
    environment: lmdb.Environment, meta: "lmdb._Database", path: str, txn: "lmdb.Transaction[bytes] | None" = None
) -> None:
    """Check that this code can read the store.

    Raises:
        StoreFormatError: a newer version wrote it, or it does not say which.
    """
    if txn is None:
        with environment.begin() as reading:
            value = reading.get(_KEY, None, meta)
    else:
        value = txn.get(_KEY, None, meta)
    if value is None:
        raise StoreFormatError(f"{path}: the store does not say which format it has. Restore a copy.")
    try:
        found = _decoder.decode(unseal(META, _KEY, value, path))
    except (msgspec.MsgspecError, ValueError) as error:
        raise damaged(META, _KEY, path, f"it is no format ({error})") from error
    if found.version > FORMAT:
        raise StoreFormatError(
            f"{path}: the store has format {found.version}, written by looms {found.looms}; "
            f"this is looms {library()}, which reads formats up to {FORMAT}. Open it with a newer looms."
        )


def library() -> str:
    """Return the version of this library."""
    try:
        return version("looms")
    except PackageNotFoundError:
        return "(not installed)"
