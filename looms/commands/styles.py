"""How things look, in one place."""

from rich.table import Table
from rich.text import Text

STATUS = {
    "running": "cyan",
    "waiting": "blue",
    "suspended": "bold magenta",
    "completed": "green",
    "failed": "bold red",
    "cancelled": "yellow",
}
ADDED, REMOVED, CHANGED = "green", "red", "yellow"
QUIET = "dim"
TYPE = "bold"
ASKED = "cyan"  # what a reducer asked for


def table(*columns: str, header: bool = True) -> Table:
    """A table without lines. A column whose title begins with `>` holds numbers."""
    made = Table(box=None, pad_edge=False, show_header=header, header_style=QUIET)
    for column in columns:
        number = column.startswith(">")
        made.add_column(
            column.lstrip(">"), justify="right" if number else "left", overflow="fold", no_wrap=False, min_width=3
        )
    return made


def title(text: str) -> Text:
    """The title of a part."""
    return Text(text, QUIET)
