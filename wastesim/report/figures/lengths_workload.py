"""Pictures of a workload: its lengths, what limits would mean for them, and its arrivals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wastesim.records import Array
from wastesim.report.figures.canvas import Picture, few_ticks, percent_axis, plain_numbers
from wastesim.report.figures.render import draw
from wastesim.report.palette import light
from wastesim.report.text import count, number, percent, seconds

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from wastesim.workload import Description, Trace
    from wastesim.workload.families import Fit

BARS = 60
_PLACES = 120  # minutes or shares of the span in the picture of arrivals


def draw_workload(found: Description, trace: Trace, folder: Path) -> list[str]:
    """Draw `lengths`, `limits` and `arrivals`; one that fails becomes a warning."""
    plans: tuple[Callable[[Description, Trace], Picture | None], ...] = (lengths, limits, arrivals)
    warnings = []
    for plan in plans:
        try:
            picture = plan(found, trace)
            if picture is not None:
                draw(picture, folder)
        except Exception as error:  # whatever goes wrong in a picture, the numbers are kept
            warnings.append(f"figure '{plan.__name__}' could not be drawn: {error}")
    return warnings


def lengths(found: Description, trace: Trace) -> Picture:
    """Prompt and output lengths on a logarithmic axis, with the nearest family."""
    half = {name: side.quantiles["p50"] for name, side in _sides(found)}
    return Picture(
        "lengths",
        f"Half of the prompts have at most {count(round(half['prompt']))} tokens, half of the"
        f" outputs at most {count(round(half['output']))}",
        "Share of requests per bar; the line is the nearest of four families, with its"
        " Kolmogorov-Smirnov distance.",
        lambda figure, narrow: _draw_lengths(figure, found, trace),
        height_px=400,
        narrow_height_px=380,
    )


def _sides(found: Description) -> tuple[tuple[str, Any], ...]:
    return ("prompt", found.prompt), ("output", found.output)


def _draw_lengths(figure: Figure, found: Description, trace: Trace) -> None:
    panels = figure.subplots(2, 1, sharex=True)
    rows = ((trace.prompt, found.prompt_families), (trace.output, found.output_families))
    most = max(found.prompt.most, found.output.most)
    least = min(found.prompt.least, found.output.least)
    edges = np.unique(np.rint(np.geomspace(least, most + 1, BARS + 1))) - 0.5
    for axes, (name, side), (values, fits) in zip(panels, _sides(found), rows, strict=True):
        _bars(axes, values, edges)
        axes.axvline(side.quantiles["p50"], color=light("ink"), linewidth=1.5)
        title = f"{name}: median {count(round(side.quantiles['p50']))}, mean {side.mean:,.0f}"
        if fits:
            _family(axes, fits[0], edges)
            title += f"; {fits[0].family.replace('_', ' ')}, KS {fits[0].distance:.2f}"
        axes.set_title(title, loc="left", fontsize=12)
        axes.set_xscale("log")
        few_ticks(axes.yaxis, 3)
        plain_numbers(axes)
    panels[-1].set_xlabel("tokens")
    panels[0].set_ylabel("requests (%)")


def _bars(axes: Axes, values: Array, edges: Array) -> None:
    counts, _ = np.histogram(values, edges)
    axes.stairs(100 * counts / len(values), edges, fill=True, color=light("written"))
    axes.set_xlim(edges[0], edges[-1])


def _family(axes: Axes, fit: Fit, edges: Array) -> None:
    """What the family would put into each bar."""
    from pydantic import TypeAdapter

    from wastesim.config.distributions import Distribution
    from wastesim.workload.laws import law_of

    adapter: TypeAdapter[Any] = TypeAdapter(Distribution)
    law = law_of(adapter.validate_python(fit.as_config()), Path())
    below = law.cdf(edges - 0.5)  # the last whole number left of each edge
    axes.stairs(100 * np.diff(below), edges, color=light("unused"), linewidth=1.5)


def limits(found: Description, trace: Trace) -> Picture | None:
    """Written share at finish by reservation, and what would be too long, by limit."""
    at = [limit for limit in found.limits if limit.fitting]
    if len(at) < 2:
        return None
    first, last = at[0], at[-1]
    return Picture(
        "limits",
        f"Contiguous caches of {count(first.max_model_len)} tokens are"
        f" {percent(first.contiguous_at_finish)} written when requests end, of"
        f" {count(last.max_model_len)} {percent(last.contiguous_at_finish)}",
        "Closed forms, when requests finish, of those that fit; bars are requests that are too"
        " long.",
        lambda figure, narrow: _draw_limits(figure, narrow, at),
    )


def _draw_limits(figure: Figure, narrow: bool, at: list[Any]) -> None:
    axes = figure.subplots()
    x = np.arange(len(at))
    axes.bar(x, [100 * a.too_long_share for a in at], 0.5, color=light("idle"), label="too long")
    lines = (
        ("blocks of 16", [a.paged_at_finish for a in at], "ink", "-"),
        ("power of two", [a.power_of_two_at_finish for a in at], "muted", "--"),
        ("contiguous", [a.contiguous_at_finish for a in at], "written", "-"),
    )
    for name, shares, colour, dashes in lines:
        y = [100 * share for share in shares]
        axes.plot(x, y, dashes, color=light(colour), marker="o", linewidth=2)
        axes.annotate(
            name, (x[1], y[1]), xytext=(8, -16 if y[1] > 90 else 8), textcoords="offset points",
            ha="left", color=light(colour), fontweight="bold",
        )  # fmt: skip
    for place, limit in enumerate(at):
        if limit.too_long_share >= 0.005:
            axes.annotate(
                f"{100 * limit.too_long_share:.0f} %\ntoo long", (place, 1), ha="center",
                va="bottom", color=light("on_soft"), fontsize=11,
            )  # fmt: skip
    axes.set_xticks(x, [f"{a.max_model_len:,}" for a in at], rotation=30 if narrow else 0)
    axes.set_xlabel("max_model_len (tokens)")
    percent_axis(axes, "written / reserved")


def arrivals(found: Description, trace: Trace) -> Picture | None:
    """Requests per second over time; None without a clock."""
    gaps, times = found.arrivals, trace.arrival_s
    if gaps is None or times is None or gaps.rate_per_s is None or len(times) < 10:
        return None
    return Picture(
        "arrivals",
        f"{number(gaps.rate_per_s)} requests per second on average, over {seconds(gaps.span_s)}",
        f"Gaps have a coefficient of variation of {number(gaps.gap_cv)}, one-minute counts an"
        f" index of dispersion of {number(gaps.dispersion_60s)}; Poisson has 1 and 1.",
        lambda figure, narrow: _draw_arrivals(figure, times, gaps.rate_per_s or 0.0),
        height_px=300,
        narrow_height_px=260,
    )


def _draw_arrivals(figure: Figure, times: Array, mean: float) -> None:
    axes = figure.subplots()
    edges = np.linspace(0, float(times[-1]), _PLACES + 1)
    counts, _ = np.histogram(times, edges)
    axes.stairs(counts / edges[1], edges, fill=True, color=light("written"))
    axes.axhline(mean, color=light("ink"), linewidth=1.5)
    axes.annotate(
        "mean", (1, mean), xycoords=("axes fraction", "data"), xytext=(0, 4),
        textcoords="offset points", ha="right", fontweight="bold",
    )  # fmt: skip
    axes.set_xlim(0, edges[-1])
    axes.set_ylim(bottom=0)
    axes.set_xlabel("seconds")
    axes.set_ylabel("requests per second")
    plain_numbers(axes)
