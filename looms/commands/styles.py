"""How things look, in one place."""

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


def title(text: str) -> Text:
    """The title of a part."""
    return Text(text, QUIET)
