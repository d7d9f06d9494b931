"""The results in a terminal: a table, a bar for each budget, and the tables of growth."""

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from benchmarks.figures import Figure
from benchmarks.growth import Growth
from benchmarks.results import Results

_BAR = 30  # columns for a budget
_COLOURS = {True: "green", False: "red", None: ""}


def show(results: Results, console: Console) -> None:
    """Print all of it."""
    console.print(table(results))
    console.print(bars(results.budgeted))
    for outcome in results.outcomes:
        if outcome.growth is not None:
            console.print(growth(outcome.growth))
    console.print(Text(results.said, style="dim"))


def table(results: Results) -> RenderableType:
    """The figures, their budgets, and whether they are met."""
    shown = Table(title=title(results), title_justify="left", pad_edge=False)
    for heading in ("benchmark", "figure", "", "budget", "", "made of"):
        shown.add_column(heading, justify="right" if heading == "" and len(shown.columns) == 2 else "left")
    for outcome in results.outcomes:
        for n, figure in enumerate(outcome.figures):
            shown.add_row(
                "" if n else outcome.name,
                figure.what,
                figure.shown,
                figure.budget,
                Text(figure.verdict, style=_COLOURS[figure.met]),
                Text(figure.detail, style="dim"),
            )
        if outcome.error is not None:
            shown.add_row(outcome.name, Text(outcome.told, style="red"), "", "", Text("failed", style="red"), "")
    return shown


def title(results: Results) -> str:
    """What stands above the table."""
    sizes = {"full": "", "quick": " · quick: smaller sizes, one round, so these are not the budgets' figures"}
    said = "Budgets" + sizes.get(results.sizes, f" · {results.sizes}: hardly anything was measured")
    return said if results.complete else f"{said} · a part of them"


def bars(figures: list[Figure]) -> RenderableType:
    """How much of each budget is used, as a bar; a full one is all of it."""
    shown = Table(title="Share of the budget that is used", title_justify="left", pad_edge=False, box=None)
    for heading in ("", "", ""):
        shown.add_column(heading)
    for figure in figures:
        used = figure.used or 0.0
        length = round(used * _BAR)
        bar = Text("█" * min(length, _BAR) or "▏", style="green" if figure.met else "red")
        if length > _BAR:
            bar.append("█" * min(length - _BAR, _BAR // 2) + ("…" if length > _BAR * 1.5 else ""), style="red")
        shown.add_row(f"{figure.benchmark}: {figure.what}", bar, f"{used:.0%}")
    return Group(Text(), shown, Text())


def growth(found: Growth) -> RenderableType:
    """A table of growth."""
    shown = Table(title=f"By {found.by}", title_justify="left", pad_edge=False)
    for n, heading in enumerate(found.heading):
        shown.add_column(heading, justify="right" if n else "left")
    for line in found.lines:
        shown.add_row(*line)
    return shown
