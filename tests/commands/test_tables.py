"""Tables at every width: a name is in one piece, bars are as long as there is room, and nothing is lost."""

import io
import re

import pytest
from rich.console import Console

from looms import OutstandingEffect, RunSize, RunSummary, Snapshot, SnapshotSizes, Stats
from looms.commands import effects, runs, snapshots, stats
from looms.commands.output import console
from looms.commands.tables import Gauge, Rows
from looms.snapshots.heads import STATUSES
from looms.snapshots.sizes import Sizes, TableSize

WIDTHS = (20, 60, 80, 90, 200)
IDS = ("o3", "01KB8ZJ5T4Q0V7R2M9X3Y6W1EA", "acme-corp/orders/2026-11-30/order-000001", "x" * 255)
DEFINITIONS = ("shop.order", "provisioning.device_that_is_provisioned")
LONG = "the bank did not answer, and nobody knows why it is that it does not answer; " * 4


def printed(*parts: object, width: int) -> list[str]:
    file = io.StringIO()
    Console(file=file, width=width, markup=False, highlight=False, emoji=False, color_system=None).print(
        *parts, sep="", crop=False
    )
    return [line.rstrip() for line in file.getvalue().splitlines()]


def fits(lines: list[str], width: int) -> None:
    """No line is longer than the width, but one that is an id, and no bar goes on in a line of its own."""
    for line in lines:
        assert len(line) <= width or " " not in line.strip(), line
        assert not re.fullmatch("[ █▏▎▍▌▋▊▉]+", line), line


def summary(run_id: str, definition: str) -> RunSummary:
    return RunSummary(run_id, definition, "suspended", 123_456, 1_800_000_000_000, 1_800_000_000_000)


def outstanding(run_id: str, definition: str) -> OutstandingEffect:
    return OutstandingEffect(
        run_id, f"{run_id}:12:0", definition, 3, False, False, 1, 9_999_999_999_999, "ConnectionError", LONG
    )


def measured() -> Stats:
    names = ("log", "snapshots", "retained_index")
    tables = tuple(TableSize(name, 10**7, 4, 10**6, 4_096 * 10**6) for name in names)
    size = Sizes(10**10, 10**12, 4_096, 10**6, 10**5, tables)
    counts = {name: dict.fromkeys(STATUSES, 1_234_567) for name in DEFINITIONS}
    largest = tuple(RunSize(id, name, "failed", 10**6, 10**9, 10**4, 10**8) for id in IDS for name in DEFINITIONS)
    kinds = (SnapshotSizes("full", 10**6, 10**9), SnapshotSizes("delta", 10**7, 10**9))
    return Stats(
        sizes=size,
        runs=dict.fromkeys(STATUSES, 2 * 1_234_567),
        definitions=counts,
        largest=largest,
        snapshots=kinds,
        **dict.fromkeys(("records", "commits", "keys", "waits", "timers", "effects", "messages", "kept"), 10**9),
    )


@pytest.mark.parametrize("width", WIDTHS)
def test_each_table_fits_and_has_every_id_in_one_piece(width: int) -> None:
    both = [(id, name) for id in IDS for name in DEFINITIONS]
    lists = {
        "runs": runs.listed([summary(*one) for one in both]),
        "effects": effects.listed([outstanding(*one) for one in both]),
    }
    for what, rows in lists.items():
        lines = printed(rows, width=width)
        fits(lines, max(width, 60))
        for id in IDS:
            assert sum(id in re.split(r"\s+|:12:0", line) for line in lines) >= len(DEFINITIONS), (what, id)
    assert " ".join(printed(lists["effects"], width=width)).count("bank") == 4 * len(both)
    fits(printed(snapshots.listed([Snapshot(10**9, 1, "delta", 10**8, 10**6)]), width=width), max(width, 60))


@pytest.mark.parametrize("width", WIDTHS[1:])
def test_the_measures_fit_with_their_bars(width: int) -> None:
    found = measured()
    lines = [
        line
        for part in (*stats.tables_view(found.sizes), *stats.counts_view(found))
        for line in printed(part, width=width)
    ]
    fits(lines, width)
    for id in IDS:
        assert any(id in line.split() for line in lines)
    assert sum("█" in line for line in lines) >= 3
    assert " ".join(lines).count("1,234,567") == len(STATUSES) * len(DEFINITIONS)


def test_a_bar_gives_way_before_anything_else_does() -> None:
    rows = Rows("name", ">bytes", "")
    rows.add_row("first", "2", Gauge(2, 2))
    rows.add_row("second", "1", Gauge(1, 2))
    assert printed(rows, width=80) == ["name    bytes", f"first       2  {'█' * 30}", f"second      1  {'█' * 15}"]
    assert printed(rows, width=25) == ["name    bytes", f"first       2  {'█' * 10}", f"second      1  {'█' * 5}"]
    assert printed(rows, width=16) == ["name    bytes", "first       2", "second      1"]


def test_what_does_not_fit_stands_below_its_name() -> None:
    rows = Rows("name", "what", ">n", "~said")
    rows.add_row("n" * 30, "short", "1", "")
    rows.add_row("m", "longer", "22", "more")
    assert printed(rows, width=30) == [
        "name",
        "  what     n  said",
        "n" * 30,
        "  short    1",
        "m",
        "  longer  22  more",
    ]
    assert printed(rows, width=15) == ["n" * 30, "  what short", "  n 1", "m", "  what longer", "  n 22", "  said more"]


def test_text_that_may_wrap_does_so_in_its_column() -> None:
    rows = Rows("name", "~said")
    rows.add_row("a", "one two three four five six seven")
    assert printed(rows, width=30) == ["name  said", "a     one two three four five", "      six seven"]


def test_where_there_is_no_terminal_a_row_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    file = io.StringIO()
    console(file).print(runs.listed([summary("x" * 255, name) for name in DEFINITIONS]), crop=False)
    assert len(file.getvalue().splitlines()) == 3
