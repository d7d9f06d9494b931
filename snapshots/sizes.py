"""How large a store is: its file, and each table as LMDB counts it. Costs nothing, however much there is."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import lmdb
import msgspec

if TYPE_CHECKING:
    from looms.snapshots.view import Handles


class TableSize(msgspec.Struct, frozen=True):
    """A table: how many rows it has, on how many pages, and how deep its tree is."""

    table: str
    entries: int
    depth: int
    pages: int
    bytes: int


class Sizes(msgspec.Struct, frozen=True):
    """A store's file, in bytes and pages.

    Attributes:
        file: bytes of the file, as the system sees it.
        map: bytes that it may grow to.
        page: bytes of a page.
        pages: pages in use or free, from the file's beginning.
        free: pages of these that hold nothing and are used again.
        tables: the tables.
    """

    file: int
    map: int
    page: int
    pages: int
    free: int
    tables: tuple[TableSize, ...]

    @property
    def entries(self) -> int:
        """How many rows there are."""
        return sum(table.entries for table in self.tables)

    def entries_of(self, name: str) -> int:
        """How many rows a table has."""
        return next((table.entries for table in self.tables if table.table == name), 0)


def sizes(environment: lmdb.Environment, handles: "Handles", data: str) -> Sizes:
    """Return how large a store is, whose file is `data`."""
    page, info = environment.stat()["psize"], environment.info()
    with environment.begin() as txn:
        found = {table.name: txn.stat(handle) for table, handle in handles.items()}
        root = txn.stat()
    pages = {name: _pages(stat) for name, stat in found.items()}
    tables = tuple(
        TableSize(name, stat["entries"], stat["depth"], pages[name], pages[name] * page) for name, stat in found.items()
    )
    used = info["last_pgno"] + 1
    free = max(used - 2 - _pages(root) - sum(pages.values()), 0)
    return Sizes(os.stat(data).st_size, info["map_size"], page, used, free, tables)


def _pages(stat: Mapping[str, Any]) -> int:
    return int(stat["branch_pages"] + stat["leaf_pages"] + stat["overflow_pages"])
