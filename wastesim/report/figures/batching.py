"""Throughput against batch: how many requests at once share one reading of the weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wastesim.records import Array, Records
from wastesim.report.figures.canvas import Picture, few_ticks, plain_numbers
from wastesim.report.palette import light
from wastesim.report.roofline import Roofline, roofline
from wastesim.report.text import count, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Points(NamedTuple):
    """Per number of running requests: their tokens over their time, and the steps behind it."""

    running: Array
    tokens_per_s: Array
    steps: Array


def batching(records: Records, summary: dict[str, Any]) -> Picture | None:
    """The picture, or None when no step did nothing but decode."""
    found = points(records)
    if found is None:
        return None
    curve = roofline(records)
    return Picture(
        "batching",
        _title(found),
        _caption(found, curve, records.facts.clock),
        lambda figure, narrow: _draw(figure, narrow, found, curve, records.facts.ceiling),
        height_px=340,
        narrow_height_px=300,
    )


def points(records: Records) -> Points | None:
    """Sums over all decode-only steps with the same number of running requests: exact means."""
    found = records.totals.ticks.by_running
    running = np.flatnonzero(found["decode_steps"])
    if not len(running):
        return None
    tokens, took_s = found["decode_tokens"][running], found["decode_s"][running]
    return Points(running, tokens / took_s, found["decode_steps"][running])


def _title(found: Points) -> str:
    few, many = found.running[0], found.running[-1]
    if few == many:
        return f"{number(float(found.tokens_per_s[0]))} tokens/s with {count(int(few))} running"
    gain = found.tokens_per_s[-1] / found.tokens_per_s[0]
    return (
        f"{count(int(many))} requests at once make {gain:.1f} times the tokens per second of"
        f" {count(int(few))}"
    )


def _caption(found: Points, curve: Roofline | None, clock: str) -> str:
    seen = (
        "Each point is all steps that only decoded with that many requests running; every step"
        " reads the weights once, so more requests share them."
    )
    if clock == "fixed":
        return f"{seen} The clock is fixed, so the line is straight whatever the hardware."
    if curve is None:
        return seen
    return (
        f"{seen} The curve is the roofline at this run's mean context of"
        f" {count(round(curve.context_tokens))} tokens (points above it had shorter ones); it would"
        f" level off at {number(curve.limit_tokens_per_s(), 'tokens/s')}."
    )


def _draw(
    figure: Figure, narrow: bool, found: Points, curve: Roofline | None, ceiling: int
) -> None:
    axes = figure.add_subplot()
    right = 1.25 * max(float(found.running[-1]), min(ceiling, 2 * float(found.running[-1])))
    if curve is not None:
        _curve(axes, curve, right)
    area = 8 + 70 * found.steps / found.steps.max()
    axes.scatter(found.running, found.tokens_per_s, s=area, color=light("written"), linewidth=0,
                 alpha=0.8)  # fmt: skip
    axes.set_xlim(0, right)
    axes.set_ylim(0, None)
    if ceiling <= right:
        axes.axvline(ceiling, color=light("ink"), linewidth=1.2, linestyle=(0, (5, 3)))
        axes.annotate(f"ceiling {ceiling:,}", (ceiling, 0.03), xytext=(-5, 0), ha="right",
                      xycoords=("data", "axes fraction"), textcoords="offset points")  # fmt: skip
    few_ticks(axes.xaxis, 5 if narrow else 9, whole=True)
    axes.set_xlabel("requests running at once")
    axes.set_ylabel("output (tokens/s)")
    plain_numbers(axes)


def _curve(axes: Axes, curve: Roofline, right: float) -> None:
    x = np.linspace(0, right, 120)
    y = np.concatenate([[0.0], curve.tokens_per_s(x[1:])])
    axes.plot(x, y, color=light("unused"), linewidth=1.8)
    axes.annotate(
        "roofline",
        (x[55], y[55]),
        xytext=(-8, 6),
        textcoords="offset points",
        ha="right",
        color=light("unused"),
        fontweight="bold",
    )
