"""Rows that carry the right seal and are wrong all the same: whoever reads them says so, and nothing else is harmed."""

from collections.abc import Iterator

import pytest

from looms.snapshots.tables import ALL, ANSWERS, INBOX, META, REMOVALS, TIMERS, Table
from tests.fuzz.harness import tried
from tests.fuzz.stored import ROW, rows_of_each_table, spoiled_row, stored

KEYED = [table for table in ALL if table is not META]
OFTEN = (TIMERS, REMOVALS, ANSWERS, INBOX)  # what a host reads by itself


def each(*tables: Table) -> pytest.MarkDecorator:
    """Once for each table, and for most of them in the long run only."""
    marked = [pytest.param(one, id=one.name, marks=() if one in OFTEN else pytest.mark.long) for one in tables]
    return pytest.mark.parametrize("table", marked)


@pytest.fixture(scope="module", autouse=True)
def _store() -> Iterator[None]:
    with stored():
        yield


@each(*KEYED)
def test_a_key_that_is_too_long_or_too_short_stops_nobody(table: Table) -> None:
    key, body = rows_of_each_table()[table][0]
    for wrong in (key + b"x", key[:-1]):
        tried(ROW, spoiled_row(table, wrong, body))


@each(*(table for table in KEYED if table.valued))
def test_a_body_that_is_something_else_stops_nobody(table: Table) -> None:
    key, _ = rows_of_each_table()[table][0]
    for wrong in (b"", b"\xc1", b"\xc0", b"\x91" * 2_000 + b"\xc0"):
        tried(ROW, spoiled_row(table, key, wrong))
