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
    every = _series(parts, x, [name for name in parts.keys if name != x])
    joined = 2 * len(every) <= sum(map(len, every.values())) or len(every) == 1
    if not joined:  # hardly two cells agree in all else: sampled points
        every = _series(parts, x, [name for name in parts.keys if not parts.is_number(name)])
    series, left_out = _with_room(every)

    def draw(figure: Figure, narrow: bool) -> None:
        places = grid_of(figure, len(shown), narrow)
        for axes, one in zip(places, shown, strict=True):
            bound = parts.bound if one is shown[0] else None
            _panel(axes, one, series, x, bound, joined=joined)
        places[-1].set_xlabel(key(x))
        if len(series) > 1:
            _legend(figure, places[0], narrow)

    wide, tall = heights(len(shown))
    extra = 26 if len(series) > 1 else 0
    return Picture(
        "lines",
        _title(parts, x),
        _caption(parts, x, left_out, joined=joined),
        draw,
        wide + extra,
        tall + 3 * extra,
    )


def _series(parts: Parts, x: str, others: list[str]) -> Series:
    """Cells by what they have in the other keys, in order of x."""
    if parts.show.lines in others:
        others = [parts.show.lines, *(name for name in others if name != parts.show.lines)]
    found: Series = {}
    for cell in parts.finished:
        if x in cell.values:
            told = ", ".join(value(cell.values[name]) for name in others if name in cell.values)
            found.setdefault(told, []).append(cell)
    return {name: sorted(c, key=lambda cell: cell.values[x]) for name, c in found.items()}


def _with_room(series: Series) -> tuple[Series, int]:
    """As many as there are colours for; and how many cells are on the others."""
    kept = dict(list(series.items())[: len(COLOURS)])
    return kept, sum(map(len, series.values())) - sum(map(len, kept.values()))


def _panel(
    axes: Axes, shown: Metric, series: Series, x: str, bound: float | None, *, joined: bool
) -> None:
    values: list[Any] = []
    for (name, cells), colour, marker in zip(series.items(), COLOURS, MARKERS, strict=False):
        at = [float(cell.values[x]) for cell in cells]
        middle, low, high = ends(cells, shown)
        values += at
        if joined and len(at) > 1:
            axes.fill_between(at, low, high, color=light(colour), alpha=0.2, linewidth=0)
        else:
            axes.vlines(at, low, high, color=light(colour))
        axes.plot(at, middle, color=light(colour), marker=marker, markersize=4, label=name,
                  linestyle="-" if joined else "none")  # fmt: skip
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
        loc="outside lower left",
        ncols=1 if narrow else min(3, len(names)),
        frameon=False,
        fontsize=12,
    )


def _title(parts: Parts, x: str) -> str:
    names = [metric(name).label for name in (parts.show.metrics or parts.metrics)[:1]]
    return f"{names[0][:1].upper()}{names[0][1:]} along {key(x)}"


def _caption(parts: Parts, x: str, left_out: int, *, joined: bool) -> str:
    sure = f"{100 * parts.level:.4g} % intervals where there are any."
    said = f"Lines join the means of each cell; bands are {sure}"
    if not joined:
        other = ", ".join(key(name) for name in parts.keys if name != x and parts.is_number(name))
        said = f"Each mark is a cell, bars are {sure}"
        said += f" Marks differ in {other} too." if other else ""
    if parts.bound is not None:
        said += " The dashed line is the bound of the search."
    if left_out:
        where = "on lines" if joined else "of kinds"
        said += f" {left_out:,} cells are {where} that there was no room for; the table has them."
    return said
