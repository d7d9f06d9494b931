"""A view: one short LMDB transaction, read through `Reading`.

A view pins the pages it sees, and a pinned page cannot be used again: so views are for as long as a function
runs, never for as long as a caller takes between two items. What is long is read in pages, a view each.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from operator import itemgetter
from types import TracebackType
from typing import Protocol, Self, cast

import lmdb

from looms.snapshots.errors import StoreClosed, StoreError, StoreFormatError
from looms.snapshots.seals import check_key, damaged, unseal, unseal_all
from looms.snapshots.tables import Table

Handles = Mapping[Table, "lmdb._Database"]


class Owner(Protocol):
    """What a view needs to know of its environment."""

    @property
    def path(self) -> str: ...

    def translated(self, error: lmdb.Error, doing: str) -> StoreError: ...


class View:
    """A read transaction. One thread at a time; a context manager that ends it."""

    __slots__ = ("_handles", "_owner", "_txn", "path")

    def __init__(self, owner: Owner, txn: "lmdb.Transaction[bytes]", handles: Handles) -> None:
        self._owner = owner
        self._txn = txn
        self._handles = handles
        self.path = owner.path

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the transaction and let its pages and its reader's slot go. Closing twice is harmless."""
        txn, self._txn = self._txn, cast("lmdb.Transaction[bytes]", _Over(self.path))
        txn.abort()

    def get(self, table: Table, key: bytes) -> bytes | None:
        try:
            value = self._txn.get(key, None, self._handles[table])
        except lmdb.Error as error:
            raise self._owner.translated(error, f"reading table {table.name!r}") from error
        return None if value is None else self._body(table, key, value)

    def get_many(self, table: Table, keys: Sequence[bytes]) -> list[bytes | None]:
        try:
            with self._txn.cursor(self._handles[table]) as cursor:
                found = cursor.getmulti(keys)
        except lmdb.Error as error:
            raise self._owner.translated(error, f"reading table {table.name!r}") from error
        if len(found) == len(keys):  # getmulti leaves out what is not there; the usual case is that all are
            return [body for _, body in self._bodies(table, found)]
        bodies = dict(self._bodies(table, found))
        return [bodies.get(key) for key in keys]

    def scan(
        self,
        table: Table,
        low: bytes = b"",
        high: bytes | None = None,
        *,
        reverse: bool = False,
        limit: int | None = None,
    ) -> Iterator[tuple[bytes, bytes]]:
        try:
            with self._txn.cursor(self._handles[table]) as cursor:
                for key, value in _between(cursor, low, high, reverse, limit):
                    yield key, self._found(table, key, value)
        except lmdb.Error as error:
            raise self._owner.translated(error, f"reading table {table.name!r}") from error

    def page(self, table: Table, low: bytes, high: bytes | None, limit: int) -> list[tuple[bytes, bytes]]:
        try:
            with self._txn.cursor(self._handles[table]) as cursor:
                if not (cursor.set_range(low) if low else cursor.first()):
                    return []
                found = list(islice(cursor.iternext(), limit))
        except lmdb.Error as error:
            raise self._owner.translated(error, f"reading table {table.name!r}") from error
        if high is not None and found and found[-1][0] >= high:
            del found[bisect_left(found, high, key=itemgetter(0)) :]
        return self._bodies(table, found)

    def rows(
        self, table: Table, low: bytes = b"", high: bytes | None = None, limit: int = 256
    ) -> list[tuple[bytes, bytes | StoreFormatError]]:
        """Return what `page` would, with what is wrong with a damaged row in place of its body.

        Raises:
            StoreFormatError: the rows are not in order, so who goes on behind the last one might never come to an end.
        """
        try:
            with self._txn.cursor(self._handles[table]) as cursor:
                found = list(_between(cursor, low, high, reverse=False, limit=limit))
        except lmdb.Error as error:
            raise self._owner.translated(error, f"reading table {table.name!r}") from error
        behind = low
        for key, _ in found:
            if key < behind:
                raise damaged(table, key, self.path, "it stands behind a row whose key is greater")
            behind = key
        return [(key, self._body_or_damage(table, key, value)) for key, value in found]

    def readable(
        self, table: Table, low: bytes = b"", high: bytes | None = None, at_once: int = 256
    ) -> Iterator[tuple[bytes, bytes]]:
        """Iterate over what `scan` would, but for damaged rows: for what may not be stopped by one of them.

        Raises:
            StoreFormatError: as `rows`.
        """
        while page := self.rows(table, low, high, at_once):
            for key, body in page:
                if not isinstance(body, StoreFormatError):
                    yield key, body
            low = page[-1][0] + b"\0"

    def keys(
        self,
        table: Table,
        low: bytes = b"",
        high: bytes | None = None,
        *,
        reverse: bool = False,
        limit: int | None = None,
        checked: bool = True,
    ) -> Iterator[bytes]:
        try:
            with self._txn.cursor(self._handles[table]) as cursor:
                for key in _keys_between(cursor, low, high, reverse, limit):
                    if checked:
                        check_key(table, key, self.path)
                    yield key
        except lmdb.Error as error:
            raise self._owner.translated(error, f"reading table {table.name!r}") from error

    def size(self) -> int:
        """Return how many bytes the pages have that hold something; the rest of the file can be used again."""
        stats = [self._txn.stat(handle) for handle in self._handles.values()]
        pages = sum(s["branch_pages"] + s["leaf_pages"] + s["overflow_pages"] for s in stats)
        return int(pages * stats[0]["psize"])

    def _found(self, table: Table, key: bytes, value: bytes) -> bytes:
        check_key(table, key, self.path)
        return self._body(table, key, value)

    def _body(self, table: Table, key: bytes, value: bytes) -> bytes:
        if table.valued:
            return unseal(table, key, value, self.path)
        if value:
            raise damaged(table, key, self.path, "it has a value, and rows of this table have none")
        return value

    def _body_or_damage(self, table: Table, key: bytes, value: bytes) -> bytes | StoreFormatError:
        try:
            return self._found(table, key, value)
        except StoreFormatError as damage:
            return damage

    def _bodies(self, table: Table, rows: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        if table.valued:
            return unseal_all(table, rows, self.path)
        return [(key, self._found(table, key, value)) for key, value in rows]


class OldView(View):
    """A view of a store that lacks tables which were added later, and can only be read: they are empty there."""

    __slots__ = ()

    def get(self, table: Table, key: bytes) -> bytes | None:
        return super().get(table, key) if table in self._handles else None

    def get_many(self, table: Table, keys: Sequence[bytes]) -> list[bytes | None]:
        return super().get_many(table, keys) if table in self._handles else [None] * len(keys)

    def scan(
        self,
        table: Table,
        low: bytes = b"",
        high: bytes | None = None,
        *,
        reverse: bool = False,
        limit: int | None = None,
    ) -> Iterator[tuple[bytes, bytes]]:
        return super().scan(table, low, high, reverse=reverse, limit=limit) if table in self._handles else iter(())

    def page(self, table: Table, low: bytes, high: bytes | None, limit: int) -> list[tuple[bytes, bytes]]:
        return super().page(table, low, high, limit) if table in self._handles else []

    def rows(
        self, table: Table, low: bytes = b"", high: bytes | None = None, limit: int = 256
    ) -> list[tuple[bytes, bytes | StoreFormatError]]:
        return super().rows(table, low, high, limit) if table in self._handles else []

    def keys(
        self,
        table: Table,
        low: bytes = b"",
        high: bytes | None = None,
        *,
        reverse: bool = False,
        limit: int | None = None,
        checked: bool = True,
    ) -> Iterator[bytes]:
        if table not in self._handles:
            return iter(())
        return super().keys(table, low, high, reverse=reverse, limit=limit, checked=checked)


class _Over:
    """Stands for the transaction of a closed view. LMDB's is dropped: it keeps its slot as long as it is there."""

    def __init__(self, path: str) -> None:
        self._path = path

    def abort(self) -> None:
        """It is over."""

    def __getattr__(self, name: str) -> object:
        raise StoreClosed(
            f"{self._path}: the view is closed; what it can show was to be read before. Begin another one."
        )


def _placed(cursor: "lmdb.Cursor[bytes]", low: bytes, high: bytes | None, reverse: bool) -> bool:
    """Put the cursor on the first row of the range, seen in the direction of travel. Return whether there is a row."""
    if not reverse:
        return cursor.set_range(low) if low else cursor.first()
    if high is not None and cursor.set_range(high):
        return cursor.prev()
    return cursor.last()


def _between(
    cursor: "lmdb.Cursor[bytes]", low: bytes, high: bytes | None, reverse: bool, limit: int | None
) -> Iterator[tuple[bytes, bytes]]:
    if limit == 0 or not _placed(cursor, low, high, reverse):
        return
    for key, value in cursor.iterprev() if reverse else cursor.iternext():
        if key < low if reverse else high is not None and key >= high:
            return
        yield key, value
        if limit is not None:
            limit -= 1
            if limit <= 0:
                return


def _keys_between(
    cursor: "lmdb.Cursor[bytes]", low: bytes, high: bytes | None, reverse: bool, limit: int | None
) -> Iterator[bytes]:
    if limit == 0 or not _placed(cursor, low, high, reverse):
        return
    for key in cursor.iterprev(values=False) if reverse else cursor.iternext(values=False):
        if key < low if reverse else high is not None and key >= high:
            return
        yield key
        if limit is not None:
            limit -= 1
            if limit <= 0:
                return
