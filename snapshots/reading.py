"""What can be read: the one interface that the tables' functions are written against.

A `View` is a read transaction; an `Overlay` is a batch that is not committed yet over any of them. So whoever
plans a turn sees what the batch will have written, through the same functions.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol

from looms.snapshots.tables import Table


class Reading(Protocol):
    """One consistent state of a store. Bodies come without their seals; a broken seal raises `StoreFormatError`."""

    @property
    def path(self) -> str:
        """The store's folder, for messages."""
        ...

    def get(self, table: Table, key: bytes) -> bytes | None:
        """Return the body at `key`, b"" in a table without values, or None when there is no such row."""
        ...

    def get_many(self, table: Table, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return `get` of each key, in the order of `keys`."""
        ...

    def scan(
        self,
        table: Table,
        low: bytes = b"",
        high: bytes | None = None,
        *,
        reverse: bool = False,
        limit: int | None = None,
    ) -> Iterator[tuple[bytes, bytes]]:
        """Iterate over the (key, body) of rows with `low <= key < high`, in key order or from the last one down."""
        ...

    def page(self, table: Table, low: bytes, high: bytes | None, limit: int) -> list[tuple[bytes, bytes]]:
        """Return what a `scan` from `low` up would give, as a list: quicker for many rows."""
        ...

    def keys(
        self,
        table: Table,
        low: bytes = b"",
        high: bytes | None = None,
        *,
        reverse: bool = False,
        limit: int | None = None,
    ) -> Iterator[bytes]:
        """Iterate over the keys alone, without touching (or checking) the values."""
        ...
