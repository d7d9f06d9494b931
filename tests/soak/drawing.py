"""Drawing a soak: for each measure its samples as a line of blocks, and whether it is flat."""

from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tests.soak.measures import MEASURES
from tests.soak.slopes import Verdict

BLOCKS = "▁▂▃▄▅▆▇█"
WIDE = 48


def line(values: Sequence[float], width: int = WIDE) -> str:
    """Values as blocks, from the least to the most; several that share a place are shown by their mean."""
    if not values:
        return ""
    width = min(width, len(values))
    parts = [values[n * len(values) // width : (n + 1) * len(values) // width] for n in range(width)]
    means = [sum(part) / len(part) for part in parts]
    least, most = min(means), max(means)
    if most == least:
        return BLOCKS[0] * width
    return "".join(BLOCKS[int((mean - least) / (most - least) * (len(BLOCKS) - 1))] for mean in means)


def shown(
    verdicts: Sequence[Verdict], samples: Mapping[str, Sequence[float]], done: Mapping[str, int], seconds: float
) -> RenderableType:
    """All of it."""
    table = Table("measure", "samples", "least", "most", "median", "an hour more", "", box=None)
    for measure, found in zip(MEASURES, verdicts, strict=True):
        values = samples[measure.name]
        numbers = (min(values), max(values), found.median, found.growth)
        least, most, median, growth = (f"{value / measure.per:,.1f} {measure.unit}".strip() for value in numbers)
        said = Text("flat", "green") if found.flat else Text("grows", "bold red")
        table.add_row(measure.name, line(values), least, most, median, f"{growth} ({found.percent:+.1f} %)", said)
    counts = ", ".join(f"{count:,} {what}" for what, count in sorted(done.items(), key=lambda one: -one[1]))
    return Group(table, "", f"in {seconds:.0f} s: {counts}")
