"""The results in a terminal: a table, a bar for each budget, and the tables of growth."""

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from benchmarks.figures import Figure
from benchmarks.growth import Growth
from benchmarks.results import Results
from benchmarks.suite import Outcome

HEADINGS = ("benchmark", "figure", "value", "rounds", "budget", "met", "made of")

_NARROW = 130  # columns below which what belongs together is folded into one cell
_BAR = 30  # columns for a budget
_COLOURS = {True: "green", False: "red", None: ""}


def show(results: Results, console: Console) -> None:
    """Print all of it, as wide as the console is, in letters that it knows."""
    found = [outcome for outcome in results.outcomes if outcome.figures or outcome.error is not None]
    if found:
        console.print(narrow(results, found) if console.width < _NARROW else wide(results, found))
    else:
        console.print(Text("Nothing was measured that has a figure." if not results.outcomes else title(results)))
    if results.budgeted:
        console.print(bars(results.budgeted, "#" if console.options.ascii_only else "█", min(_BAR, console.width // 4)))
    for outcome in results.outcomes:
        if outcome.growth is not None:
            console.print(growth(outcome.name, outcome.growth))
    console.print(Text(results.said, style="dim"))


def wide(results: Results, outcomes: list[Outcome]) -> RenderableType:
    """The figures, the lowest and highest of their rounds, their budgets, and whether they are met."""
    shown = _table(title(results))
    for heading in HEADINGS:
        shown.add_column(heading, justify="right" if heading in ("value", "rounds") else "left")
    for outcome in outcomes:
        for n, figure in enumerate(outcome.figures):
            shown.add_row(
                "" if n else outcome.name,
                figure.what,
                figure.shown,
                figure.spread,
                figure.budget or "none",
                Text(figure.verdict, style=_COLOURS[figure.met]),
                Text(figure.detail, style="dim"),
            )
        if outcome.error is not None:
            failed = Text("failed", style="red")
            shown.add_row(outcome.name, Text(outcome.told, style="red"), "", "", "", failed, "")
    return shown


def narrow(results: Results, outcomes: list[Outcome]) -> RenderableType:
    """The same in three columns."""
    shown = _table(title(results), lines=True)
    for heading, share in (("figure, made of", 5), ("value, rounds", 3), ("budget, met", 3)):
        shown.add_column(heading, ratio=share)
    for outcome in outcomes:
        for figure in outcome.figures:
            shown.add_row(
                Text.assemble(
                    f"{outcome.name}: {figure.what}", *([("\n" + figure.detail, "dim")] * bool(figure.detail))
                ),
                "\n".join(filter(None, (figure.shown, figure.spread))),
                Text.assemble(figure.budget or "none", (f"\n{figure.verdict}".rstrip(), _COLOURS[figure.met])),
            )
        if outcome.error is not None:
            shown.add_row(Text(f"{outcome.name}: {outcome.told}", style="red"), "", Text("failed", style="red"))
    return shown


def _table(title: str, *, lines: bool = False) -> Table:
    return Table(title=title, title_justify="left", pad_edge=False, show_lines=lines)


def title(results: Results) -> str:
    """What stands above the table."""
    sizes = {"full": "", "quick": "; quick: smaller sizes, one round, so these are not the budgets' figures"}
    said = "Budgets" + sizes.get(results.sizes, f"; {results.sizes}: hardly anything was measured")
    return said if results.complete else f"{said}; a part of them: {results.lacking}"


def bars(figures: list[Figure], mark: str, full: int) -> RenderableType:
    """How much of each budget is used, as a bar.

    Args:
        figures: those that have a budget.
        mark: what a bar is made of.
        full: how many make one that has used up all of it.
    """
    shown = Table(title="Share of the budget that is used", title_justify="left", pad_edge=False, box=None)
    for heading in ("figure", "used", "share"):
        shown.add_column(heading)
    for figure in figures:
        used = figure.used or 0.0
        length = round(used * full)
        bar = Text(mark * min(length, full) or "|", style="green" if figure.met else "red")
        if length > full:
            bar.append(mark * min(length - full, full // 2) + (">" if length > full * 1.5 else ""), style="red")
        shown.add_row(f"{figure.benchmark}: {figure.what}", bar, f"{used:.0%}")
    return Group(Text(), shown, Text())


def growth(name: str, found: Growth) -> RenderableType:
    """A table of growth."""
    shown = Table(title=name.capitalize(), title_justify="left", pad_edge=False)
    for n, heading in enumerate(found.heading):
        shown.add_column(heading, justify="right" if n else "left")
    for line in found.lines:
        shown.add_row(*line)
    return shown
