"""Running and waiting requests over time, under the ceiling that memory or a limit sets."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from wastesim.records import Array, Records
from wastesim.report.figures.canvas import Picture, few_ticks, plain_numbers
from wastesim.report.figures.thin import bin_edges, extremes, means
from wastesim.report.palette import light
from wastesim.report.text import count, percent, plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDE_BINS, NARROW_BINS = 400, 160


def concurrency(records: Records, summary: dict[str, Any]) -> Picture | None:
    """The picture, or None for a run without time."""
    found = summary["concurrency"]
    if found["mean"] is None:
        return None
    return Picture(
        "concurrency",
        _title(found),
        _caption(found),
        lambda figure, narrow: _draw(figure, narrow, records),
        height_px=400,
        narrow_height_px=360,
    )


def _title(found: dict[str, Any]) -> str:
    ceiling, share = count(found["ceiling"]), percent(found["at_ceiling_share"])
    if found["peak"] >= found["ceiling"]:
        return f"The ceiling of {ceiling} running requests binds for {share} of the time"
    return f"At most {_run(found['peak'])} at once; the ceiling is {ceiling}"


def _run(peak: int) -> str:
    return f"{plural(peak, 'request')} {'runs' if peak == 1 else 'run'}"


def _caption(found: dict[str, Any]) -> str:
    waiting = count(found["waiting_peak"])
    queue = f"up to {waiting} wait" if found["waiting_peak"] else "none ever waits"
    return (
        f"On average {found['mean']:.1f} requests run and {queue}; the dashed line is the ceiling,"
        f" set by {found['ceiling_reason']}."
    )


def _draw(figure: Figure, narrow: bool, records: Records) -> None:
    shown = {"running": "written"}
    if records.ticks["waiting"].any():  # a panel of nobody waiting would show nothing
        shown["waiting"] = "stranded"
    ratios = [2, 1][: len(shown)]
    panels = figure.subplots(len(shown), 1, sharex=True, height_ratios=ratios, squeeze=False)
    bins = NARROW_BINS if narrow else WIDE_BINS
    for axes, (column, colour) in zip(panels[:, 0], shown.items(), strict=True):
        _steps(axes, records, column, colour, bins)
    top, bottom = panels[0, 0], panels[-1, 0]
    bottom.set_xlabel("simulated time (s)")
    _ceiling(top, records, narrow)


def _steps(axes: Axes, records: Records, column: str, colour: str, bins: int) -> None:
    """The mean of each bin as an area, and everything between its extremes as a veil."""
    t_s, dt_s = records.ticks["t_s"], records.ticks["dt_s"]
    values = records.ticks[column]
    edges = bin_edges(t_s, dt_s, bins)
    mean = means(t_s, dt_s, values, edges)
    low, high = extremes(t_s, dt_s, values, edges)
    axes.fill_between(
        edges, _held(low), _held(high), step="post", color=light(colour), alpha=0.35, linewidth=0
    )
    axes.fill_between(edges, 0, _held(mean), step="post", color=light(colour), linewidth=0)
    axes.set_xlim(edges[0], edges[-1])
    axes.set_ylim(0, 1.12 * max(1, values.max(initial=0)))
    axes.set_ylabel(f"{column}\n(requests)", color=light(colour))
    few_ticks(axes.yaxis, 4, whole=True)
    plain_numbers(axes)


def _ceiling(axes: Axes, records: Records, narrow: bool) -> None:
    facts = records.facts
    peak = records.totals.ticks.peaks["running"]
    text = f"ceiling {facts.ceiling:,} = {facts.ceiling_reason}"
    text = textwrap.fill(text, 44) if narrow else text
    shown = facts.ceiling <= 2.5 * max(peak, 1)
    if shown:
        axes.set_ylim(0, 1.3 * max(facts.ceiling, peak))
        axes.axhline(facts.ceiling, color=light("ink"), linewidth=1.4, linestyle=(0, (5, 3)))
        axes.annotate(text, (1, facts.ceiling), xycoords=("axes fraction", "data"),
                      xytext=(0, 4), textcoords="offset points", ha="right", va="bottom",
                      fontsize=11)  # fmt: skip
    else:
        axes.set_title(f"far above: {text}", loc="right", fontsize=11, color=light("muted"))


def _held(values: Array) -> Array:
    return np.append(values, values[-1])
