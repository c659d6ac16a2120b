"""Lines with bands: numbers along one key, a line per setting of the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wastesim.report.figures.canvas import Picture
from wastesim.report.figures.sweep_axes import (
    COLOURS,
    MARKERS,
    ends,
    grid_of,
    heights,
    log_if_wide,
    numeric_key,
    panels,
    title,
)
from wastesim.report.palette import light
from wastesim.report.sweep_parts import Cell, Parts
from wastesim.report.sweep_words import Metric, key, metric, value

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Series = dict[str, list[Cell]]


def lines(parts: Parts) -> Picture | None:
    """Every metric against the number that was varied; None where no number was."""
    x = numeric_key(parts)
    shown = panels(parts)
    if x is None or not shown or len(parts.levels(x)) < 2 or not parts.finished:
        return None
    series, left_out = _series(parts, x)

    def draw(figure: Figure, narrow: bool) -> None:
        every = grid_of(figure, len(shown), narrow)
        for axes, one in zip(every, shown, strict=True):
            _panel(axes, one, series, x, parts.bound if one is shown[0] else None)
        every[-1].set_xlabel(key(x))
        if len(series) > 1:
            _legend(figure, every[0], narrow)

    wide, tall = heights(len(shown))
    extra = 26 if len(series) > 1 else 0
    return Picture(
        "lines", _title(parts, x), _caption(parts, left_out), draw, wide + extra, tall + 3 * extra
    )


def _series(parts: Parts, x: str) -> tuple[Series, int]:
    """Cells by the line they are on, in order of x; and how many cells no line has room for."""
    others = [name for name in parts.keys if name != x]
    if parts.show.lines is not None:
        others = [parts.show.lines, *(name for name in others if name != parts.show.lines)]
    found: Series = {}
    for cell in parts.finished:
        if x in cell.values:
            told = ", ".join(value(cell.values[name]) for name in others if name in cell.values)
            found.setdefault(told, []).append(cell)
    kept = dict(list(found.items())[: len(COLOURS)])
    left = sum(len(cells) for cells in found.values()) - sum(len(c) for c in kept.values())
    return {name: sorted(c, key=lambda cell: cell.values[x]) for name, c in kept.items()}, left


def _panel(axes: Axes, shown: Metric, series: Series, x: str, bound: float | None) -> None:
    values: list[Any] = []
    for (name, cells), colour, marker in zip(series.items(), COLOURS, MARKERS, strict=False):
        at = [float(cell.values[x]) for cell in cells]
        middle, low, high = ends(cells, shown)
        values += at
        if len(at) > 1:
            axes.fill_between(at, low, high, color=light(colour), alpha=0.2, linewidth=0)
        else:
            axes.vlines(at, low, high, color=light(colour))
        axes.plot(at, middle, color=light(colour), marker=marker, markersize=4, label=name)
    if bound is not None:
        axes.axhline(bound * shown.scale, color=light("ink"), linewidth=1, linestyle=(0, (4, 3)))
    log_if_wide(axes, values)
    title(axes, shown)
    lowest = min((v for line in axes.lines for v in np.ravel(line.get_ydata())), default=0.0)
    if lowest >= 0:
        axes.set_ylim(bottom=0)
    if shown.scale == 100 and axes.get_ylim()[1] > 104:  # no share is more
        axes.set_ylim(top=104)


def _legend(figure: Figure, axes: Axes, narrow: bool) -> None:
    handles, names = axes.get_legend_handles_labels()
    figure.legend(
        handles,
        names,
        loc="outside upper left",
        ncols=1 if narrow else min(3, len(names)),
        frameon=False,
        fontsize=12,
    )


def _title(parts: Parts, x: str) -> str:
    names = [metric(name).label for name in (parts.show.metrics or parts.metrics)[:1]]
    return f"{names[0][:1].upper()}{names[0][1:]} along {key(x)}"


def _caption(parts: Parts, left_out: int) -> str:
    said = "Lines join the means of each cell"
    said += f"; bands are {100 * parts.level:.4g} % intervals where there are any."
    if parts.bound is not None:
        said += " The dashed line is the bound of the search."
    if left_out:
        said += f" {left_out:,} cells are on lines that there was no room for; the table has them."
    return said
