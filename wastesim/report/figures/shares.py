"""Six shares of the pool over time, stacked: what the memory was doing at each moment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
    edges, bands = _bands(records, NARROW_BINS if narrow else WIDE_BINS)
    tops = np.cumsum(bands, axis=0)
    for name, low, high in zip(SHARES, tops - bands, tops, strict=True):
        if (high > low).any():
            axes.fill_between(
                edges, _held(low), _held(high), step="post", color=light(name), linewidth=0
            )
    percent_axis(axes, "share of the KV pool")
    axes.set_xlim(edges[0], edges[-1])
    axes.set_xlabel("simulated time (s)")
    _label(axes, edges, bands, tops, average)


def _bands(records: Records, bins: int) -> tuple[Array, Array]:
    ticks = records.ticks
    edges = bin_edges(ticks["t_s"], ticks["dt_s"], bins)
    rows = [means(ticks["t_s"], ticks["dt_s"], ticks[name], edges) for name in SHARES]
    return edges, 100 * np.array(rows) / records.facts.capacity_cells


def _held(values: Array) -> Array:
    """A step's last value once more, for its right end."""
    return np.append(values, values[-1])


def _label(axes: Axes, edges: Array, bands: Array, tops: Array, average: dict[str, float]) -> None:
    """Names in the bands where they are thickest; names of thin bands under the picture."""
    thin = []
    middles = (edges[:-1] + edges[1:]) / 2
    span = edges[-1] - edges[0]
    inside = (middles > edges[0] + 0.12 * span) & (middles < edges[-1] - 0.12 * span)
    for name, band, top in zip(SHARES, bands, tops, strict=True):
        thick = np.where(inside, band, 0)
        at = int(np.argmax(thick))
        if thick[at] >= LABEL_SHARE:
            where = (middles[at], top[at] - band[at] / 2)
            axes.annotate(
                name, where, ha="center", va="center", color=on_share(name), fontweight="bold"
            )
        elif band.any():
            thin.append(f"{name} ({percent(average[name])})")
    if thin:
        axes.set_title(
            f"too thin to label: {', '.join(thin)}", loc="right", fontsize=11, color=light("muted")
        )
