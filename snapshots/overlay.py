"""Reading through a batch: what the batch has written hides what is stored."""

from collections.abc import Iterator, Sequence
from typing import Protocol

from looms.snapshots.reading import Reading
from looms.snapshots.tables import Table


class Written(Protocol):
    """What an overlay asks of its batch."""

    def changed(self, table: Table) -> dict[bytes, bytes | None]: ...

    def changed_between(self, table: Table, low: bytes, high: bytes | None) -> list[bytes]: ...


class Overlay:
    """A `Reading` that shows a batch over another reading, which may be an overlay itself.

    A scan shows the batch as it was when the scan began.
    """

    __slots__ = ("_below", "_written", "path")

    def __init__(self, written: Written, below: Reading) -> None:
        self._written = written
        self._below = below
        self.path = below.path

    def get(self, table: Table, key: bytes) -> bytes | None:
        rows = self._written.changed(table)
        return rows[key] if key in rows else self._below.get(table, key)

    def get_many(self, table: Table, keys: Sequence[bytes]) -> list[bytes | None]:
        rows = self._written.changed(table)
        missing = [key for key in keys if key not in rows]
        if not missing:
            return [rows[key] for key in keys]
        found = self._below.get_many(table, missing)
        if len(missing) == len(keys):
            return found
        stored = dict(zip(missing, found, strict=True))
        return [rows[key] if key in rows else stored[key] for key in keys]

    def scan(
        self,
        table: Table,
        low: bytes = b"",
        high: bytes | None = None,
        *,
        reverse: bool = False,
        limit: int | None = None,
    ) -> Iterator[tuple[bytes, bytes]]:
        written = self._written.changed_between(table, low, high)
        if not written:
            return self._below.scan(table, low, high, reverse=reverse, limit=limit)
        rows = self._written.changed(table)
        shown = [(key, rows[key]) for key in (reversed(written) if reverse else written)]
        return _limited(_merged(self._below.scan(table, low, high, reverse=reverse), shown, reverse), limit)

    def page(self, table: Table, low: bytes, high: bytes | None, limit: int) -> list[tuple[bytes, bytes]]:
        if not self._written.changed_between(table, low, high):
            return self._below.page(table, low, high, limit)
        return list(self.scan(table, low, high, limit=limit))

    def keys(
        self,
        table: Table,
        low: bytes = b"",
        high: bytes | None = None,
        *,
        reverse: bool = False,
        limit: int | None = None,
    ) -> Iterator[bytes]:
        if not self._written.changed_between(table, low, high):
            return self._below.keys(table, low, high, reverse=reverse, limit=limit)
        return (key for key, _ in self.scan(table, low, high, reverse=reverse, limit=limit))


def _merged(
    stored: Iterator[tuple[bytes, bytes]], written: list[tuple[bytes, bytes | None]], reverse: bool
) -> Iterator[tuple[bytes, bytes]]:
    """Merge two lists in the same order of keys; of a key in both, the written row counts, and None is no row."""
    pending = next(stored, None)
    for key, body in written:
        while pending is not None and (pending[0] > key if reverse else pending[0] < key):
            yield pending
            pending = next(stored, None)
        if pending is not None and pending[0] == key:
            pending = next(stored, None)
        if body is not None:
            yield key, body
    if pending is not None:
        yield pending
        yield from stored


def _limited(rows: Iterator[tuple[bytes, bytes]], limit: int | None) -> Iterator[tuple[bytes, bytes]]:
    if limit is None:
        yield from rows
        return
    for _, row in zip(range(limit), rows, strict=False):
        yield row
