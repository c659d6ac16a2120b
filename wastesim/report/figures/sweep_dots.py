"""Dots with intervals: one line per cell, where what was varied is no number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wastesim.report.figures.canvas import Picture
from wastesim.report.figures.sweep_axes import ends, grid_of, numeric_key, panels
from wastesim.report.palette import light
from wastesim.report.sweep_parts import Cell, Parts
from wastesim.report.sweep_words import Metric, value

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_CELLS = 30
LINE_PX = 24


def dots(parts: Parts) -> Picture | None:
    """Every metric by cell; None where lines show it, or where there are too many cells."""
    cells, shown = parts.finished, panels(parts)
    if numeric_key(parts) is not None or not shown or not 1 < len(cells) <= MOST_CELLS:
        return None

    def draw(figure: Figure, narrow: bool) -> None:
        for i, (axes, one) in enumerate(
            zip(grid_of(figure, len(shown), narrow), shown, strict=True)
        ):
            _panel(axes, one, cells, parts, named=narrow or i % 2 == 0 or len(shown) == 1)

    rows = -(-len(shown) // 2)
    panel = LINE_PX * len(cells) + 70
    caption = f"Dots are means, bars {100 * parts.level:.4g} % intervals where there are any."
    return Picture("dots", "Every cell beside the others", caption, draw,
                   panel * rows, panel * len(shown))  # fmt: skip


def _panel(axes: Axes, shown: Metric, cells: list[Cell], parts: Parts, *, named: bool) -> None:
    middle, low, high = ends(cells, shown)
    places = list(range(len(cells)))
    axes.hlines(places, low, high, color=light("written"), linewidth=2)
    axes.plot(middle, places, "o", color=light("written"), markersize=6)
    axes.set_ylim(len(cells) - 0.5, -0.5)
    names = [", ".join(value(v) for v in cell.values.values()) for cell in cells]
    axes.set_yticks(places, names if named else [""] * len(cells))
    axes.grid(axis="x")
    axes.set_xlim(left=min(0.0, *low))
    axes.xaxis.set_major_formatter(lambda number, _: f"{number:,.6g}")
    axes.locator_params(axis="x", nbins=5)
    axes.set_title(f"{shown.label}{shown.unit}", loc="left", fontsize=12, color=light("ink"))
