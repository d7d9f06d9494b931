"""How the findings are shown. Names come from outside: they are shown, and never obeyed."""

from collections.abc import Iterable

import msgspec
from rich.table import Table
from rich.text import Text

import looms
from findings import Row, short


def of_findings(rows: Iterable[Row], title: str) -> Table:
    """Each figure as the runs have it and as the file has it, and whether they agree."""
    table = Table(title=Text(title))
    table.add_column("figure")
    table.add_column("Looms", justify="right")
    table.add_column("file", justify="right")
    table.add_column()
    for row in rows:
        mark = Text("✓", style="green") if row.agrees else Text("✗", style="bold red")
        table.add_row(Text(row.figure), f"{row.looms:,}", f"{row.file:,}", mark)
    return table


def of_replay(replay: looms.Replay) -> Table:
    """The state before and after one record, field by field; what the record changed is marked."""
    title = f"{replay.after.run_id}, replayed to record {replay.seq} ({replay.record.type})"
    table = Table("field", "before", "after", title=Text(title))
    before = msgspec.structs.asdict(replay.before.state) if replay.before else {}
    for field, value in msgspec.structs.asdict(replay.after.state).items():
        style = "" if before.get(field) == value else "bold yellow"
        table.add_row(field, shown(before.get(field)), shown(value), style=style)
    return table


def shown(value: object) -> Text:
    return Text(short(value) if isinstance(value, tuple) else str(value))
