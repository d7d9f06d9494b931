"""What a benchmark finds: figures, each with its budget where it has one."""

import statistics
from collections.abc import Iterable, Sequence

import msgspec

RATIO = "times"


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One figure of a benchmark.

    Attributes:
        benchmark: whose it is.
        what: what was measured, and against what.
        value: the figure, a median where there were rounds.
        unit: of the value: `times` for a ratio.
        at_most, at_least: the budget; neither for a figure that only stands beside others.
        detail: what the figure was made of.
        rounds: what it was in each round, to show the noise.
    """

    benchmark: str
    what: str
    value: float
    unit: str = RATIO
    at_most: float | None = None
    at_least: float | None = None
    detail: str = ""
    rounds: tuple[float, ...] = ()

    @property
    def met(self) -> bool | None:
        """Whether the budget is met; None where there is none."""
        if self.at_most is not None:
            return self.value <= self.at_most
        return None if self.at_least is None else self.value >= self.at_least

    @property
    def used(self) -> float | None:
        """The share of the budget that is used up: 1 is all of it, more is too much; None where there is none."""
        if self.at_most is not None:
            return self.value / self.at_most if self.at_most else float(self.value > 0) * 2
        return None if self.at_least is None else self.at_least / max(self.value, 1e-9)

    @property
    def budget(self) -> str:
        """The budget in words."""
        if self.at_most is not None:
            return f"at most {amount(self.at_most, self.unit)}"
        return "" if self.at_least is None else f"at least {amount(self.at_least, self.unit)}"

    @property
    def shown(self) -> str:
        """The value with its unit."""
        return amount(self.value, self.unit)

    @property
    def spread(self) -> str:
        """The lowest and the highest of the rounds; empty where there was one."""
        if len(self.rounds) < 2:
            return ""
        low, high = number(min(self.rounds)), number(max(self.rounds))
        return f"{low} to {high}"

    @property
    def verdict(self) -> str:
        """Whether the budget is met, in words."""
        return {True: "met", False: "not met", None: ""}[self.met]


def amount(value: float, unit: str) -> str:
    """A number of something, with three digits that count."""
    return f"{number(value)} {unit}" if unit else number(value)


def number(value: float) -> str:
    """A number with three digits that count."""
    if value == 0:
        return "0"
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 0.1 else 4
    return f"{value:,.{digits}f}"


def ratio(
    benchmark: str,
    what: str,
    ours: Sequence[float],
    theirs: Sequence[float],
    unit: str,
    *,
    at_most: float | None = None,
    at_least: float | None = None,
    against: str = "raw",
) -> Figure:
    """The median of what we took or reached over what others did, round by round.

    Args:
        benchmark, what: as in `Figure`.
        ours, theirs: what was measured in each round, in `unit`.
        unit: of both.
        at_most, at_least: the budget.
        against: what `theirs` is.
    """
    rounds = tuple(one / other for one, other in zip(ours, theirs, strict=True))
    return Figure(
        benchmark=benchmark,
        what=what,
        value=statistics.median(rounds),
        at_most=at_most,
        at_least=at_least,
        detail=f"Looms {amount(statistics.median(ours), unit)}, {against} {amount(statistics.median(theirs), unit)}",
        rounds=rounds,
    )


def percentile(values: Iterable[float], percent: float) -> float:
    """The value that so many percent of all do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]
