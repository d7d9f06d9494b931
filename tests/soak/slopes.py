"""Whether something grows: a slope that a few odd samples do not change (Theil and Sen's), against a bound."""

import statistics
from collections.abc import Sequence

import msgspec

WARM_UP = 1 / 2  # of the samples, that say nothing yet: pools, arenas and caches are filling
MOST = 400  # samples that are looked at; more are thinned, as all pairs are


class Verdict(msgspec.Struct, frozen=True):
    """What became of one measure.

    Attributes:
        name: the measure.
        median: of the samples after the warm-up.
        growth: how much more there is after an hour of traffic, by the slope.
        percent: the same, of the median.
        flat: it is within its bounds.
    """

    name: str
    median: float
    growth: float
    percent: float
    flat: bool


def slope(times: Sequence[float], values: Sequence[float]) -> float:
    """The median of the slopes between all pairs of points; 0 where there are no two."""
    pairs = [
        (later - earlier) / (times[j] - times[i])
        for i, earlier in enumerate(values)
        for j, later in enumerate(values[i + 1 :], i + 1)
        if times[j] > times[i]
    ]
    return statistics.median(pairs) if pairs else 0.0


def verdict(name: str, hours: Sequence[float], values: Sequence[float], percent: float, least: float) -> Verdict:
    """Whether a measure is flat, after a warm-up.

    Args:
        name: the measure.
        hours: when each sample was taken, in hours of traffic.
        values: the samples.
        percent: of the median, what it may grow in an hour.
        least: growth in an hour that is none, whatever it is of the median.
    """
    first = int(len(values) * WARM_UP)
    stride = max(1, (len(values) - first) // MOST)
    times, kept = hours[first::stride], values[first::stride]
    median = statistics.median(kept) if kept else 0.0
    growth = slope(times, kept)
    share = 100 * growth / median if median else 0.0
    return Verdict(name, median, growth, share, flat=growth <= max(least, median * percent / 100))
