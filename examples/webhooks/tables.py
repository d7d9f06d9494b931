"""How the outcomes are shown."""

from collections import Counter

from rich.table import Table

from deliver import Outcomes
from expected import Told
from pulls import Pull


def of_outcomes(outcomes: Outcomes, expected: Counter[str]) -> Table:
    """How many deliveries ended how, with what Looms said about the first of those that it refused."""
    table = Table(title="What became of the deliveries")
    table.add_column("outcome")
    table.add_column("Looms", justify="right")
    table.add_column("file", justify="right")
    table.add_column("", justify="center")
    table.add_column("for example")
    for kind in sorted(outcomes.tally | expected, key=lambda kind: (kind in outcomes.messages, kind)):
        looms, file = outcomes.tally[kind], expected[kind]
        table.add_row(kind, f"{looms:,}", f"{file:,}", mark(looms == file), outcomes.messages.get(kind, ""))
    looms, file = outcomes.tally.total(), expected.total()
    table.add_row("all deliveries", f"{looms:,}", f"{file:,}", mark(looms == file), end_section=True)
    return table


def of_pulls(pulls: dict[str, Pull], expected: dict[str, Told]) -> Table:
    """Each pull request as its run knows it."""
    table = Table(title="The pull requests")
    for column in ("run", "title", "status", "reviews", "comments", ""):
        table.add_column(column)
    for id, pull in pulls.items():
        reviews = ", ".join(pull.reviews) or "none"
        table.add_row(id, pull.title, pull.status, reviews, str(pull.comments), mark(told(pull) == expected.get(id)))
    for id in expected.keys() - pulls.keys():
        table.add_row(id, "", "not there", "", "", mark(False))
    return table


def told(pull: Pull) -> Told:
    """As much of a pull request as is worked out from the file."""
    return Told(pull.status, len(pull.reviews), pull.comments)


def mark(agrees: bool) -> str:
    return "[green]✓[/]" if agrees else "[bold red]✗[/]"
