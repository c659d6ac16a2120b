"""Pictures of an equivalence study: work per step and in total, time, and the roofline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wastesim.report.equivalence import limit
from wastesim.report.figures.canvas import Picture, few_ticks, plain_numbers
from wastesim.report.palette import light
from wastesim.report.text import count, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TONE = {"without": "unused", "with": "written"}
NAMES = {"without": "without a cache", "with": "with a cache"}


def pictures(summary: dict[str, Any]) -> list[Picture]:
    """All four."""
    return [_per_step(summary), _cumulative(summary), _time(summary), _roofline(summary)]


def _per_step(summary: dict[str, Any]) -> Picture:
    work = summary["work"]
    last = {name: work[name]["flop_by_step"][-1] for name in TONE}
    return Picture(
        "work_per_step",
        f"The last step costs {number(last['without'] / 1e9)} GFLOP without a cache"
        f" and {number(last['with'] / 1e9)} with one",
        "Arithmetic of each step (logarithmic). With a cache the first step is the prompt, and"
        " every later one is a single token.",
        lambda figure, narrow: _lines(
            figure, narrow, {n: np.array(work[n]["flop_by_step"]) / 1e9 for n in TONE},
            "GFLOP per step", log=True),
        height_px=330,
    )  # fmt: skip


def _cumulative(summary: dict[str, Any]) -> Picture:
    work = summary["work"]
    columns = {name: np.cumsum(work[name]["columns_computed_by_step"]) for name in TONE}
    ends = {name: int(values[-1]) for name, values in columns.items()}
    return Picture(
        "cumulative_work",
        f"Keys and values computed in all: {count(ends['without'])} columns against"
        f" {count(ends['with'])}",
        "Without a cache the sum grows with the square of the length, with one along a line that"
        " lies on the axis here. A column is one token's K and V in one layer.",
        lambda figure, narrow: _lines(figure, narrow, columns, "columns computed so far"),
        height_px=330,
    )


def _time(summary: dict[str, Any]) -> Picture:
    work = summary["work"]
    spent = {name: 1e3 * np.array(work[name]["seconds_by_step"]) for name in TONE}
    middle = {name: float(np.median(values[1:])) for name, values in spent.items()}
    return Picture(
        "time_per_step",
        f"A step takes {number(middle['without'])} ms without a cache and"
        f" {number(middle['with'])} ms with one (medians)",
        "Wall time of each step on this machine, one thread, as it came: others may share it.",
        lambda figure, narrow: _lines(figure, narrow, spent, "ms per step", log=True),
        height_px=330,
    )


def _lines(
    figure: Figure, narrow: bool, values: dict[str, Any], label: str, *, log: bool = False
) -> None:
    axes = figure.add_subplot()
    for name, ys in values.items():
        axes.plot(np.arange(1, len(ys) + 1), ys, color=light(TONE[name]), linewidth=2)
        at = len(ys) * 2 // 3
        highest = float(np.max(ys[at // 2 : at + 1]))
        axes.annotate(NAMES[name], (at, highest), xytext=(0, 9), ha="right",
                      textcoords="offset points", color=light(TONE[name]),
                      fontweight="bold")  # fmt: skip
    axes.set_xlabel("new token")
    axes.set_ylabel(label)
    axes.set_xlim(1, len(next(iter(values.values()))))
    few_ticks(axes.xaxis, 4 if narrow else 9, whole=True)
    if log:
        axes.set_yscale("log")
    plain_numbers(axes)
    if log:
        axes.minorticks_off()
        low, high = axes.get_ylim()
        axes.set_ylim(low / 1.3, high * 1.8)


def _roofline(summary: dict[str, Any]) -> Picture:
    machine, rows = summary["machine"], summary["intensity"]
    return Picture(
        "roofline",
        _roofline_title(summary),
        "Roof: measured bandwidth of matrix-vector products and measured peak of a large product,"
        " one thread. Points: measured steps, with how many requests are decoded together.",
        lambda figure, narrow: _draw_roofline(figure, machine, rows),
        height_px=400,
    )


def _roofline_title(summary: dict[str, Any]) -> str:
    first = next(row for row in summary["intensity"] if row["kind"] == "decode")
    return (
        f"Decoding {_together(first['batch'])} does {first['intensity']:.2f} FLOP per byte where"
        f" this machine can do {summary['machine']['balance_flop_per_byte']:.1f}:"
        f" {_LIMITS[limit(summary, first)]}"
    )


_LIMITS = {
    "cached": "its weights stay in the processor's cache, so it does not wait for memory",
    "memory": "it waits for memory",
    "arithmetic": "it waits for arithmetic",
    "neither": "it waits for neither memory nor arithmetic alone",
}


def _together(batch: int) -> str:
    return "one request" if batch == 1 else f"{count(batch)} requests together"


def _draw_roofline(figure: Figure, machine: dict[str, float], rows: Sequence[Any]) -> None:
    axes = figure.add_subplot()
    bandwidth, peak = machine["bandwidth_bytes_per_s"], machine["peak_flop_per_s"]
    points = [row["intensity"] for row in rows]
    left, right = min(*points, 0.4) / 1.6, max(*points, 4 * peak / bandwidth) * 1.6
    edge = np.array([left, peak / bandwidth, right])
    axes.plot(edge, np.minimum(edge * bandwidth, peak) / 1e9, color=light("ink"), linewidth=1.6)
    for row in rows:
        _point(axes, row)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(left, right)
    axes.set_ylim(axes.get_ylim()[0] / 1.6, None)  # the lowest point is named below itself
    axes.set_xlabel("FLOP per byte")
    axes.set_ylabel("GFLOP/s")
    axes.grid(axis="x")
    axes.minorticks_off()
    _decades(axes)
    plain_numbers(axes)


def _decades(axes: Axes) -> None:
    """Ticks at 1, 3, 10, ...: one decade may be all there is."""
    from matplotlib.ticker import LogLocator

    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=(1.0, 3.0)))


def _point(axes: Axes, row: dict[str, Any]) -> None:
    prefill = row["kind"] == "prefill"
    name, words = ("padding", "prefill") if prefill else ("written", count(row["batch"]))
    at = (row["intensity"], row["flop_per_s"] / 1e9)
    axes.plot(*at, "o", color=light(name), markersize=8)
    axes.annotate(words, at, xytext=(0, -15), textcoords="offset points", ha="center",
                  color=light("ink"), fontsize=11)  # fmt: skip
