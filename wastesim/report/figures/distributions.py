"""Length distributions against `max_model_len`: why so much of a reservation stays empty."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from wastesim.records import Array, Records
from wastesim.report.figures.canvas import Picture, few_ticks, plain_numbers
from wastesim.report.lengths import asked
from wastesim.report.palette import light
from wastesim.report.text import count, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BARS = 60


def lengths(records: Records, summary: dict[str, Any]) -> Picture | None:
    """The picture, or None when no request arrived."""
    found = asked(records)
    if not len(found.total):
        return None
    limit = records.facts.max_model_len
    median = float(np.median(found.total))
    return Picture(
        "lengths",
        f"Half of the requests need at most {count(round(median))} tokens;"
        f" max_model_len allows {count(limit)}",
        _caption(found.total, limit),
        lambda figure, narrow: _draw(figure, narrow, records),
        height_px=400,
        narrow_height_px=380,
    )


def _caption(total: Array, limit: int) -> str:
    p99 = float(np.quantile(total, 0.99, method="higher"))
    over = float((total > limit).mean())
    beyond = f"{percent(over)} ask for more than the limit" if over else "none asks for more"
    return (
        f"99 % of the requests need at most {count(p99)} tokens, prompt and output together;"
        f" {beyond}. Thin lines mark the medians."
    )


def _draw(figure: Figure, narrow: bool, records: Records) -> None:
    found, limit = asked(records), records.facts.max_model_len
    rows = (("prompt", found.prompt), ("output", found.output), ("total", found.total))
    panels = figure.subplots(3, 1, sharex=True)
    right = 1.04 * max(limit, float(np.quantile(found.total, 0.999, method="higher")))
    edges = np.linspace(0, right, BARS + 1)
    for axes, (name, values) in zip(panels, rows, strict=True):
        _bars(axes, name, values, edges, limit)
    panels[0].annotate(
        f"max_model_len {limit:,}",
        (limit, 1),
        xycoords=("data", "axes fraction"),
        xytext=(0, 5),
        textcoords="offset points",
        ha=_side(limit / right),
        va="bottom",
        color=light("unused"),
        fontweight="bold",
    )
    panels[-1].set_xlabel("tokens")
    panels[1].set_ylabel("share of requests (%)")


def _side(part: float) -> Literal["left", "center", "right"]:
    return "right" if part > 0.8 else "left" if part < 0.2 else "center"


def _bars(axes: Axes, name: str, values: Array, edges: Array, limit: int) -> None:
    """A histogram in percent; what lies beyond the last edge is said, not cut."""
    counts, _ = np.histogram(values, edges)
    share = 100 * counts / len(values)
    axes.stairs(share, edges, fill=True, color=light("written"))
    axes.axvline(limit, color=light("unused"), linewidth=2)
    median = float(np.median(values))
    axes.plot([median, median], [0, share.max() * 1.15], color=light("ink"), linewidth=1.5)
    beyond = int((values > edges[-1]).sum())
    more = f", {beyond:,} beyond the axis" if beyond else ""
    axes.set_title(f"{name}: median {count(round(median))}{more}", loc="left", fontsize=12)
    axes.set_xlim(0, edges[-1])
    axes.set_ylim(0, share.max() * 1.15)
    few_ticks(axes.yaxis, 3)
    plain_numbers(axes)
