"""Every request's written part of its reservation, sorted: how much of a claim was needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wastesim.records import Array, Records
from wastesim.report.figures.canvas import Picture, percent_axis
from wastesim.report.figures.thin import group_means
from wastesim.report.palette import light, on_share
from wastesim.report.text import count, percent, plural

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDE_BARS, NARROW_BARS = 400, 160


def reservations(records: Records, summary: dict[str, Any]) -> Picture | None:
    """The picture, or None when nobody held memory at the end."""
    rows = records.requests
    ended = (rows["status"] == "completed") | (rows["status"] == "cancelled")
    held = ended & (rows["reserved_cells"] > 0)
    if not held.any():
        return None
    parts = np.sort(rows["written_cells"][held] / rows["reserved_cells"][held])[::-1]
    median = float(np.median(parts))
    return Picture(
        "reservations",
        f"Half of the requests wrote at most {percent(median)} of what they reserved",
        _caption(parts),
        lambda figure, narrow: _draw(figure, narrow, parts, median),
        height_px=320,
        narrow_height_px=280,
    )


def _caption(parts: Array) -> str:
    full = int((parts > 0.9).sum())
    return (
        f"Each of the {plural(len(parts), 'request')} that held memory when it ended is one column,"
        f" sorted by the part of it that it had written; {count(full)} wrote over 90 %."
    )


def _draw(figure: Figure, narrow: bool, parts: Array, median: float) -> None:
    axes = figure.add_subplot()
    groups = group_means(100 * parts, NARROW_BARS if narrow else WIDE_BARS)
    tops = np.append(groups.values, groups.values[-1])
    x = 100 * groups.edges / len(parts)
    axes.fill_between(x, 0, tops, step="post", color=light("written"), linewidth=0)
    axes.fill_between(x, tops, 100, step="post", color=light("unused"), linewidth=0)
    percent_axis(axes, "part of the reservation")
    axes.set_xlim(0, 100)
    axes.set_xticks([0, 25, 50, 75, 100], ["0", "25", "50", "75", "100 %"])
    axes.set_xlabel("requests, the fullest reservation first")
    _label(axes, groups.values, median)


def _label(axes: Any, heights: Array, median: float) -> None:
    mean = float(heights.mean())
    bold = {"ha": "center", "va": "center", "fontweight": "bold"}
    if mean < 95:
        axes.text(70, (100 + 100 * median) / 2, "never written", color=on_share("unused"), **bold)
    if mean > 8:
        axes.text(12, min(heights[0], 100) / 4, "written", color=on_share("written"), **bold)
    axes.plot([50, 50], [0, 100], color=light("ink"), linewidth=1, linestyle=(0, (3, 3)))
    axes.annotate(
        f"median {percent(median)}",
        (50, 100 * median),
        xytext=(51.5, min(100 * median + 9, 93)),
        color=on_share("unused") if median < 0.85 else on_share("written"),
        va="center",
    )
