"""Short ways to say in a test what a store is given, and to look at all that is in it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from looms.snapshots import heads
from looms.snapshots.batch import Batch
from looms.snapshots.reading import Reading
from looms.snapshots.rows import Head
from looms.snapshots.store import Store
from looms.snapshots.tables import ALL

AT = 1_700_000_000_000


@contextmanager
def a_store() -> Iterator[Store]:
    """A new store in a folder of its own: for properties, which need one for each example."""
    with TemporaryDirectory() as place, Store(Path(place) / "store.looms") as store:
        yield store


def start(batch: Batch, run_id: str, records: Sequence[bytes] = (b"started",), definition: str = "order") -> Head:
    """Put a new run into a batch, with its first records. Returns its head."""
    head = batch.append(Head(batch.next_run(), run_id, definition, "running", 0, AT, AT), records)
    heads.put(batch, None, head)
    return head


def turn(batch: Batch, old: Head, records: Sequence[bytes], status: str | None = None) -> Head:
    """Put a turn of a run into a batch. Returns its head after it."""
    head = msgspec.structs.replace(batch.append(old, records), status=status or old.status)
    heads.put(batch, old, head)
    return head


def everything(reading: Reading) -> dict[str, dict[bytes, bytes]]:
    """Return all rows of all tables."""
    return {table.name: dict(reading.scan(table)) for table in ALL}


def contents(store: Store) -> dict[str, dict[bytes, bytes]]:
    """Return all rows of a store, as of its last commit."""
    with store.view() as view:
        return everything(view)
