"""What there is to find in a log: counted once from the runs, once from the file, and laid side by side."""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import msgspec


class Findings(msgspec.Struct, frozen=True):
    cases: int
    events: int
    deadlines: int
    punctual: int
    refused: int
    confirmed: int
    late: int
    stalled: int
    stalls: int
    settled: int
    archived: int
    too_early: int
    paths: Counter[tuple[str, ...]]  # how many cases went each way


FIGURES = {
    "cases": "cases",
    "events": "events recorded",
    "deadlines": "deadlines missed",
    "punctual": "of both, recorded at their own time",
    "refused": "events refused, as the case was archived",
    "confirmed": "receipts confirmed",
    "late": "receipts not confirmed within 4 weeks",
    "stalled": "cases that stalled: open, and 2 weeks without an event",
    "stalls": "stalls in all",
    "settled": "cases settled, and not archived yet",
    "archived": "cases archived: settled, and 13 quiet weeks",
    "too_early": "events before a confirmation that never came",
}


class Row(NamedTuple):
    figure: str
    looms: int
    file: int

    @property
    def agrees(self) -> bool:
        return self.looms == self.file


def compare(looms: Findings, file: Findings, *, top: int = 5) -> Iterator[Row]:
    """A row for each figure, then two that compare all paths, then the most common ones."""
    for name, figure in FIGURES.items():
        yield Row(figure, getattr(looms, name), getattr(file, name))
    yield Row("different paths", len(looms.paths), len(file.paths))
    yield Row("cases that went the same way in both", (looms.paths & file.paths).total(), file.paths.total())
    for path, cases in file.paths.most_common(top):
        yield Row(short(path), looms.paths[path], cases)


def short(path: tuple[str, ...]) -> str:
    """`T02 Check confirmation of receipt` is known as T02; an activity without a number by its first word."""
    return " > ".join(activity.split()[0] for activity in path) or "(nothing)"
