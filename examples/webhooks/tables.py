"""How the outcomes are shown. Titles and names come from outside: they are shown, and never obeyed."""

from collections import Counter

from rich.table import Column, Table
from rich.text import Text

from deliver import Outcomes
from expected import Told
from pulls import Pull


def of_outcomes(outcomes: Outcomes, expected: Counter[str]) -> Table:
    """How many deliveries ended how, as the runs have it and as the file has it; what was refused comes last."""
    table = Table("outcome", title="What became of the deliveries")
    table.add_column("Looms", justify="right")
    table.add_column("file", justify="right")
    table.add_column()
    for kind in sorted(outcomes.tally | expected, key=lambda kind: (kind in outcomes.messages, kind)):
        _compare(table, kind, outcomes.tally[kind], expected[kind])
    table.add_section()
    _compare(table, "all deliveries", outcomes.tally.total(), expected.total())
    return table


def _compare(table: Table, kind: str, looms: int, file: int) -> None:
    table.add_row(kind, f"{looms:,}", f"{file:,}", mark(looms == file))


def of_refusals(outcomes: Outcomes) -> Table:
    """What was said about the first of each kind that was refused."""
    table = Table("refused", "for example", title="Why deliveries were refused")
    for kind, message in sorted(outcomes.messages.items()):
        table.add_row(kind, plain(message))
    return table


def of_pulls(pulls: dict[str, Pull], expected: dict[str, Told]) -> Table:
    """Each pull request as its run knows it."""
    table = Table(Column("run", no_wrap=True), "title", "status", "reviews", "comments", "", title="The pull requests")
    for id, pull in pulls.items():
        reviews = plain("\n".join(pull.reviews) or "none")
        agrees = told(pull) == expected.get(id)
        table.add_row(plain(id), plain(pull.title), pull.status, reviews, str(pull.comments), mark(agrees))
    for id in sorted(expected.keys() - pulls.keys()):
        table.add_row(plain(id), "", "not there", "", "", mark(False))
    return table


def told(pull: Pull) -> Told:
    """As much of a pull request as is worked out from the file."""
    return Told(pull.status, len(pull.reviews), pull.comments)


def plain(text: str) -> Text:
    """The text without what a terminal would obey."""
    return Text("".join(char if char.isprintable() or char == "\n" else "�" for char in text), overflow="fold")


def mark(agrees: bool) -> Text:
    return Text("✓", style="green") if agrees else Text("✗", style="bold red")
