"""What the README and the documentation show of the last results, between two marks that stand there."""

from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

from benchmarks.chart import chart
from benchmarks.context import ROOT
from benchmarks.figures import Figure
from benchmarks.growth import Growth
from benchmarks.results import Results
from benchmarks.table import HEADINGS

README = ROOT / "README.md"
PERFORMANCE = ROOT / "docs" / "performance.md"
CHART = ROOT / "benchmarks" / "results" / "budgets.svg"

Rows = list[list[str]]


def rewrite(results: Results, readme: Path = README, performance: Path = PERFORMANCE, image: Path = CHART) -> None:
    """Put results into the pages: the chart and the table of all figures, and the tables of growth if there are some.

    Raises:
        ValueError: a page has no such marks.
    """
    image.parent.mkdir(parents=True, exist_ok=True)
    image.write_text(chart(results.budgeted, results.said))
    where = image.relative_to(readme.parent).as_posix()
    shown = f"![The share of each budget that is used]({where})\n\n{figures(results.figures)}\n\n{results.said}"
    replace(readme, "budgets", shown)
    found = [outcome.growth for outcome in results.outcomes if outcome.growth is not None]
    if found:
        replace(performance, "growth", "\n\n".join([*map(growth, found), results.said]))


def replace(page: Path, name: str, text: str) -> None:
    """Replace what stands between the two marks of a name in a page.

    Raises:
        ValueError: they are not there.
    """
    begin, end = f"<!-- {name}: written by `python -m benchmarks` -->", f"<!-- {name}: end -->"
    before, found, rest = page.read_text().partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"{page}: there are no lines {begin} and {end}")
    page.write_text(f"{before}{begin}\n\n{text}\n\n{end}{after}")


def figures(found: Iterable[Figure]) -> str:
    """All figures as a table in Markdown, those of a benchmark together; what has no budget says so."""
    rows: Rows = []
    for benchmark, group in groupby(found, key=lambda figure: figure.benchmark):
        rows += [
            [
                "" if n else benchmark,
                figure.what,
                figure.shown,
                figure.spread,
                figure.budget or "none",
                figure.verdict,
                figure.detail,
            ]
            for n, figure in enumerate(group)
        ]
    return _markdown(list(HEADINGS), rows)


def growth(found: Growth) -> str:
    """A table of growth in Markdown."""
    return _markdown(found.heading, found.lines)


def _markdown(heading: list[str], rows: Rows) -> str:
    lines = [heading, ["---" if n == 0 else "---:" if _numbers(rows, n) else "---" for n in range(len(heading))], *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)


def _numbers(rows: Rows, column: int) -> bool:
    return all(row[column][:1].isdigit() for row in rows)
