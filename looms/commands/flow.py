"""Text that wraps at blanks alone: an id, a path or a value is never broken, so what is copied is in one piece.

A word that is longer than the line stands on one of its own, and a terminal goes on below by itself. In the panes of a
walk, which cannot be scrolled sideways, it is folded all the same.
"""

from collections.abc import Iterator

from rich._wrap import divide_line
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

NONE = Text()


class Flow:
    """Text, perhaps with something in front of it.

    Args:
        text: what wraps.
        lead: what stands before its first line.
        below: what stands before the others; as many blanks as the lead is wide, without.
    """

    def __init__(self, text: Text, lead: Text = NONE, below: Text | None = None) -> None:
        self._text = text
        self._lead = lead
        self._below = Text(" " * lead.cell_len) if below is None else below

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        room = max(options.max_width - self._lead.cell_len, 1)
        before = self._lead
        for line in lines(console, self._text, room):
            yield unbroken(Text.assemble(before, line))
            before = self._below


def lines(console: Console, text: Text, room: int) -> Iterator[Text]:
    """The lines of a text, broken at blanks to fit, and in the midst of a word only where that is a pane."""
    if not hasattr(console, "limited"):
        yield from text.wrap(console, room)
        return
    for line in text.split("\n", allow_blank=True):
        for part in line.divide(divide_line(line.plain, room, fold=False)):
            part.rstrip()
            yield part


def unbroken(text: Text) -> Text:
    """A line that is printed as it is, whatever its length."""
    line = text.copy()
    line.no_wrap, line.overflow = True, "ignore"
    return line
