"""The chart of the budgets, as SVG: a bar for each, and a line where the budget is used up."""

from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape

from benchmarks.figures import Figure

_LABELS, _BARS, _VALUES = 450, 330, 250  # pixels across
_LINE, _TOP, _BOTTOM = 22, 40, 14  # pixels down
_MOST = 1.5  # budgets that fit on the chart; longer bars are cut

CAPTION = "The median of the rounds, and in brackets the lowest and the highest of them; stall: the longest of all."

_STYLE = """
text { font: 12px system-ui, sans-serif; fill: #24292f } .paper { fill: #ffffff } .quiet { fill: #6e7781 }
.met { fill: #2da44e } .missed { fill: #cf222e } .limit { stroke: #24292f; stroke-dasharray: 3 3 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .paper { fill: #0d1117 } .quiet { fill: #8d96a0 }
  .met { fill: #3fb950 } .missed { fill: #f85149 } .limit { stroke: #e6edf3 }
}
"""


def chart(figures: Sequence[Figure], said: str) -> str:
    """Draw figures that have a budget; beside each bar stands its figure, with the lowest and highest of its rounds.

    Args:
        figures: they.
        said: stands below.
    """
    width, height = _LABELS + _BARS + _VALUES, _TOP + _LINE * (len(figures) + 2) + _BOTTOM
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" viewBox="0 0 {width} {height}">',
            "<title>Share of each budget that is used</title>",
            f"<style>{_STYLE}</style>",
            f'<rect class="paper" width="{width}" height="{height}" rx="6"/>',
            *_marks(height),
            *(part for n, figure in enumerate(figures) for part in _bar(figure, _TOP + n * _LINE)),
            f'<text class="quiet" x="10" y="{height - _LINE - _BOTTOM + 4}">{escape(CAPTION)}</text>',
            f'<text class="quiet" x="10" y="{height - _BOTTOM}">{escape(said)}</text>',
            "</svg>\n",
        ]
    )


def _marks(height: int) -> Iterator[str]:
    limit = _LABELS + _BARS / _MOST
    yield '<text class="quiet" x="10" y="24">shorter is better</text>'
    yield f'<text x="{limit:.0f}" y="24" text-anchor="middle">budget</text>'
    yield f'<line class="limit" x1="{limit:.0f}" x2="{limit:.0f}" y1="30" y2="{height - 2 * _LINE - _BOTTOM}"/>'


def _bar(figure: Figure, top: int) -> Iterator[str]:
    used = figure.used or 0.0
    length = max(2.0, min(used / _MOST, 1.0) * _BARS)
    label = f"{figure.benchmark}: {figure.what}"
    baseline = top + 15
    shown = f"{figure.shown} ({figure.spread})" if figure.spread else figure.shown
    yield f"<g><title>{escape(f'{label}: {shown}, {figure.budget}. {figure.detail}')}</title>"
    yield f'<text x="{_LABELS - 8}" y="{baseline}" text-anchor="end">{escape(_short(label))}</text>'
    yield (
        f'<rect class="{"met" if figure.met else "missed"}" x="{_LABELS}" y="{top + 4}" width="{length:.1f}" '
        f'height="{_LINE - 8}" rx="2"/>'
    )
    cut = "… " if used > _MOST else ""
    yield f'<text x="{_LABELS + length + 6:.1f}" y="{baseline}">{escape(cut + shown)}</text></g>'


def _short(label: str) -> str:
    return label if len(label) <= 72 else label[:71] + "…"
