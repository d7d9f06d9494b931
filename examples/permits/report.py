"""How the findings are shown."""

from collections.abc import Iterable

import looms
import msgspec
from rich.table import Table

from findings import Row


def of_findings(rows: Iterable[Row], title: str) -> Table:
    """Each figure as the runs have it and as the file has it, and whether they agree."""
    table = Table(title=title)
    table.add_column("figure")
    table.add_column("Looms", justify="right")
    table.add_column("file", justify="right")
    table.add_column("", justify="center")
    for row in rows:
        mark = "[green]✓[/]" if row.agrees else "[bold red]✗[/]"
        table.add_row(row.figure, f"{row.looms:,}", f"{row.file:,}", mark)
    return table


def of_replay(replay: looms.Replay) -> Table:
    """The state before and after one record, field by field; what the record changed is marked."""
    table = Table(title=f"{replay.after.run_id}, replayed to record {replay.seq} ({replay.record.type})")
    table.add_column("field")
    table.add_column("before")
    table.add_column("after")
    before = msgspec.structs.asdict(replay.before.state) if replay.before else {}
    for field, value in msgspec.structs.asdict(replay.after.state).items():
        style = "" if before.get(field) == value else "bold yellow"
        table.add_row(field, shown(before.get(field)), shown(value), style=style)
    return table


def shown(value: object) -> str:
    return "\n".join(value) if isinstance(value, tuple) else str(value)
