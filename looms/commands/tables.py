"""Tables of whatever width there is: a name is never broken, and what does not fit stands below it.

A narrow terminal first takes away from the bars, and from text that may wrap. Where that is not enough, each row is
the name on a line of its own and the rest below it: in columns, or where those do not fit either, as words. Where there
is no terminal, and nobody says how wide a line may be, each row is one line, however long.
"""

from collections.abc import Iterator

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.text import Text

from looms.commands.flow import unbroken
from looms.commands.styles import QUIET

GAP = 2  # blanks between columns
INDENT = 2  # before what stands below a name
LONGEST_BAR = 30
SHORTEST_BAR = 6  # a shorter one tells nothing
WRAPPED = 20  # to which text that may wrap is narrowed, at the most


class Gauge:
    """A cell with a bar, as long as an amount is of the largest."""

    def __init__(self, amount: int, most: int) -> None:
        self._share = amount / most if most else 0.0

    def bar(self, width: int) -> Text:
        """The bar, where the longest is so wide."""
        whole, part = divmod(max(round(8 * width * self._share), 1), 8)
        return Text("█" * whole + (" ▏▎▍▌▋▊▉"[part] if part else ""), "cyan")


Cell = str | Text | Gauge


class Rows:
    """A table without lines.

    Args:
        columns: their titles. One that begins with `>` is of numbers, one with `~` of text that may wrap. The first is
            of names, and the one of bars is the last.
        header: whether the titles are shown.
    """

    def __init__(self, *columns: str, header: bool = True) -> None:
        self._titles = [column.lstrip(">~") for column in columns]
        self._right = [column.startswith(">") for column in columns]
        self._wraps = [column.startswith("~") for column in columns]
        self._header = header
        self._rows: list[tuple[Cell, ...]] = []

    def add_row(self, *cells: Cell) -> None:
        """Add a row, with a cell for each column."""
        self._rows.append(cells)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        wide = min(_width(self._widths(None)), options.max_width)
        return Measurement(wide, wide)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        room = options.max_width if getattr(console, "limited", True) else None
        widths = self._widths(room)
        if room is None or _width(widths) <= room:
            yield from self._table(console, widths)
            return
        widths = [0, *self._widths(room - INDENT, below=True)]
        if _width(widths[1:]) <= room - INDENT:
            yield from self._stacked(console, widths)
        else:
            yield from self._told(console, room)

    def _widths(self, room: int | None, *, below: bool = False) -> list[int]:
        """How wide each column is, of those after the first where they stand `below` it; 0 is left out."""
        titles = self._titles if self._header else [""] * len(self._titles)
        widths = [cell_len(title) for title in titles]
        for row in self._rows:
            for n, cell in enumerate(row):
                widths[n] = max(widths[n], LONGEST_BAR if isinstance(cell, Gauge) else cell_len(_plain(cell)))
        widths = widths[below:]
        for n, wraps in enumerate(self._wraps[below:]):
            over = 0 if room is None else _width(widths) - room
            if wraps and over > 0:
                widths[n] = max(widths[n] - over, min(widths[n], WRAPPED))
        if room is not None and self._gauged and (over := _width(widths) - room) > 0:
            widths[-1] = widths[-1] - over if widths[-1] - over >= SHORTEST_BAR else 0
        return widths

    @property
    def _gauged(self) -> bool:
        return any(isinstance(row[-1], Gauge) for row in self._rows)

    def _table(self, console: Console, widths: list[int]) -> Iterator[Text]:
        if self._header:
            yield from self._lines(console, [Text(title, QUIET) for title in self._titles], widths)
        for row in self._rows:
            yield from self._lines(console, row, widths)

    def _stacked(self, console: Console, widths: list[int]) -> Iterator[Text]:
        """Each name on a line of its own, and the other columns below it."""
        titles = [Text(title, QUIET) for title in self._titles]
        for row in ([tuple(titles)] if self._header else []) + self._rows:
            yield _whole(row[0])
            yield from self._lines(console, row, widths, " " * INDENT)

    def _told(self, console: Console, room: int) -> Iterator[Text]:
        """Each name on a line of its own, and below it the other cells behind their titles."""
        for row in self._rows:
            yield _whole(row[0])
            line = Text(" " * INDENT)
            for title, cell, wraps in zip(self._titles[1:], row[1:], self._wraps[1:], strict=True):
                if isinstance(cell, Gauge) or not _plain(cell):
                    continue
                said = Text.assemble((f"{title} ", QUIET), cell)
                if wraps:
                    said = Text(f"\n{' ' * INDENT}").join(said.wrap(console, room - INDENT))
                if line.plain.strip() and line.cell_len + GAP + said.cell_len > room:
                    yield _whole(line)
                    line = Text(" " * INDENT)
                line.append(" " * GAP * bool(line.plain.strip())).append_text(said)
            yield _whole(line)

    def _lines(
        self, console: Console, row: "tuple[Cell, ...] | list[Text]", widths: list[int], indent: str = ""
    ) -> Iterator[Text]:
        """A row in its columns: a line, and more where text wraps."""
        cells: list[list[Text]] = []
        for cell, width, wraps in zip(row, widths, self._wraps, strict=True):
            text = cell.bar(width) if isinstance(cell, Gauge) else Text(cell) if isinstance(cell, str) else cell
            cells.append(list(text.wrap(console, width)) if wraps and width < text.cell_len else [text])
        for n in range(max(map(len, cells))):
            line = Text(indent)
            for at, width in enumerate(widths):
                if width:
                    part = cells[at][n] if n < len(cells[at]) else Text()
                    blanks = " " * (width - part.cell_len)
                    line = Text.assemble(
                        line,
                        " " * GAP if line.cell_len > len(indent) else "",
                        *((blanks, part) if self._right[at] else (part, blanks)),
                    )
            line.rstrip()
            yield _whole(line)


def _width(widths: list[int]) -> int:
    shown = [width for width in widths if width]
    return sum(shown) + GAP * max(len(shown) - 1, 0)


def _plain(cell: str | Text | Gauge) -> str:
    return "" if isinstance(cell, Gauge) else cell if isinstance(cell, str) else cell.plain


def _whole(cell: Cell) -> Text:
    """A line that is not broken, whatever its length: a terminal goes on below, and what is copied is in one piece."""
    return unbroken(cell if isinstance(cell, Text) else Text(_plain(cell)))
