"""Latency distributions: to the first token, per output token, and end to end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wastesim.metrics import latencies
from wastesim.records import Array, Records
from wastesim.report.figures.canvas import Picture, few_ticks, plain_numbers
from wastesim.report.palette import light
from wastesim.report.text import seconds

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POINTS = 250
NAMES = {
    "ttft_s": "time to first token",
    "tpot_s": "time per output token",
    "e2el_s": "end to end",
}
MARKS = (("p50", 50), ("p90", 90), ("p99", 99))


def latency(records: Records, summary: dict[str, Any]) -> Picture | None:
    """The picture, or None when no request completed."""
    found = {name: values for name, values in latencies(records).items() if len(values)}
    if not found:
        return None
    numbers = summary["latency"]
    return Picture(
        "latency",
        f"Half of the requests see their first token within {seconds(numbers['ttft_s']['p50'])},"
        f" 99 % within {seconds(numbers['ttft_s']['p99'])}",
        _caption(numbers, records.facts.clock),
        lambda figure, narrow: _draw(figure, narrow, found, numbers),
        height_px=300,
        narrow_height_px=620,
    )


def _caption(numbers: dict[str, Any], clock: str) -> str:
    ideal = (
        " Times are of ideal hardware: no real server reaches them." if clock == "roofline" else ""
    )
    return (
        "Each curve climbs to the share of completed requests that were at least so fast; the"
        f" median request takes {seconds(numbers['e2el_s']['p50'])} end to end and"
        f" {seconds(numbers['tpot_s']['p50'])} per output token.{ideal}"
    )


def _draw(figure: Figure, narrow: bool, found: dict[str, Array], numbers: dict[str, Any]) -> None:
    shape = (len(found), 1) if narrow else (1, len(found))
    panels = figure.subplots(*shape, squeeze=False).ravel()
    for index, (axes, (name, values)) in enumerate(zip(panels, found.items(), strict=True)):
        _curve(axes, values, numbers[name])
        axes.set_title(NAMES[name], loc="left", fontweight="bold")
        axes.set_yticks([0, 25, 50, 75, 100], ["0", "25", "50", "75", "100 %"])
        if narrow or index == 0:
            axes.set_ylabel("share of requests")


def _curve(axes: Axes, values: Array, numbers: dict[str, float]) -> None:
    scale, unit = (1.0, "s") if values.max() >= 1 else (1e3, "ms")
    shares = np.linspace(0, 1, min(POINTS, max(2, len(values))))
    axes.plot(scale * np.quantile(values, shares), 100 * shares, color=light("written"), lw=2)
    left = 0.55 * values.max()
    for key, share in MARKS:
        at = numbers[key]
        axes.plot([scale * at], [share], "o", color=light("written"), markersize=5)
        side = ("left", 7) if at < left else ("right", -7)
        drop = -5 if side[0] == "left" else 3
        axes.annotate(f"{key} {seconds(at)}", (scale * at, share), xytext=(side[1], drop),
                      textcoords="offset points", ha=side[0], va="center", fontsize=11)  # fmt: skip
    axes.set_ylim(0, 108)
    axes.set_xlabel(unit)
    few_ticks(axes.xaxis, 4)
    axes.set_xlim(0, 1.06 * scale * values.max())
    plain_numbers(axes)
