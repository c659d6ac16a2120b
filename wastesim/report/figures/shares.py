"""Six shares of the pool over time, stacked: what the memory was doing at each moment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wastesim.records import SHARES, Array, Records
from wastesim.report.figures.canvas import Picture, percent_axis
from wastesim.report.figures.thin import bin_edges, means
from wastesim.report.palette import light, on_share
from wastesim.report.text import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDE_BINS, NARROW_BINS = 360, 160
LABEL_SHARE = 7.0  # percent of the pool that a band must be thick to carry its name


class Steps(NamedTuple):
    """The stack: lower and upper percent of each share over [edges[i], edges[i + 1])."""

    edges: Array
    lows: Array
    highs: Array


def shares(records: Records, summary: dict[str, Any]) -> Picture | None:
    """The picture, or None for a run without time."""
    average = summary["memory"]["shares_of_pool"]["time"]
    if average["written"] is None:
        return None
    most = max((name for name in SHARES if name != "written"), key=lambda name: average[name])
    return Picture(
        "shares",
        f"{percent(average['written'])} of the KV pool is written on average;"
        f" the largest other share is {most}, {percent(average[most])}",
        _caption(average),
        lambda figure, narrow: _draw(figure, narrow, records, average),
    )


def _caption(average: dict[str, float]) -> str:
    parts = ", ".join(f"{name} {percent(average[name])}" for name in SHARES)
    return f"Every cell of the pool is one of six things at each moment; on average: {parts}."


def _draw(figure: Figure, narrow: bool, records: Records, average: dict[str, float]) -> None:
    axes = figure.add_subplot()
    steps = _steps(records, NARROW_BINS if narrow else WIDE_BINS)
    edges = steps.edges
    for name, low, high in zip(SHARES, steps.lows, steps.highs, strict=True):
        if (high > low).any():
            axes.fill_between(
                edges, _held(low), _held(high), step="post", color=light(name), linewidth=0
            )
    percent_axis(axes, "share of the KV pool")
    axes.set_xlim(edges[0], edges[-1])
    axes.set_xlabel("simulated time (s)")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")
    _label(axes, steps, average, 0.24 if narrow else 0.11)


def _steps(records: Records, bins: int) -> Steps:
    ticks = records.ticks
    edges = bin_edges(ticks["t_s"], ticks["dt_s"], bins)
    rows = [means(ticks["t_s"], ticks["dt_s"], ticks[name], edges) for name in SHARES]
    bands = 100 * np.array(rows) / records.facts.capacity_cells
    tops = np.cumsum(bands, axis=0)
    return Steps(edges, tops - bands, tops)


def _held(values: Array) -> Array:
    """A step's last value once more, for its right end."""
    return np.append(values, values[-1])


def _label(axes: Axes, steps: Steps, average: dict[str, float], width: float) -> None:
    """Names in the bands where there is most room; names of thin bands above the picture."""
    thin = []
    for name, low, high in zip(SHARES, steps.lows, steps.highs, strict=True):
        at, bottom, top = _roomiest(low, high, max(1, round(width * len(low))))
        if top - bottom >= LABEL_SHARE:
            x = (steps.edges[at] + steps.edges[at + 1]) / 2
            axes.text(x, (bottom + top) / 2, name, ha="center", va="center",
                      color=on_share(name), fontweight="bold")  # fmt: skip
        elif average[name]:
            thin.append(f"{name} ({percent(average[name])})")
    if thin:
        text = f"too thin to label: {', '.join(thin)}"
        axes.set_title(text, loc="right", fontsize=11, color=light("muted"), wrap=True)


def _roomiest(low: Array, high: Array, width: int) -> tuple[int, float, float]:
    """(bin, bottom, top) of the tallest box of that width that fits inside a band."""
    from numpy.lib.stride_tricks import sliding_window_view

    bottoms = sliding_window_view(low, width).max(axis=1)
    tops = sliding_window_view(high, width).min(axis=1)
    best = np.flatnonzero(tops - bottoms >= (tops - bottoms).max() - 0.5)
    at = int(best[len(best) // 2])
    return at + width // 2, float(bottoms[at]), float(tops[at])
