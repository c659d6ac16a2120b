"""A blank figure in the house style, without any global state of matplotlib.

Sizes are CSS pixels: a figure 860 wide is 860 pixels wide on the page, its text 12 pixels high.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wastesim.report.palette import light

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

PIXELS_PER_INCH = 72
WIDE_PX, NARROW_PX = 860, 350

#: Draws upon an empty figure; the second argument says that it is for a phone.
Draw = Callable[["Figure", bool], None]


@dataclass(frozen=True)
class Picture:
    """A figure before it is drawn: what it found, what is seen in it, and how to draw it."""

    name: str
    title: str
    caption: str
    draw: Draw
    height_px: int = 380
    narrow_height_px: int = 300


def style() -> Any:
    """The house style, for `matplotlib.rc_context`."""
    ink, muted = light("ink"), light("muted")
    return {
        "font.family": "DejaVu Sans",  # comes with matplotlib: the same layout on every machine
        "font.size": 12,
        "axes.titlesize": 13,
        "axes.labelsize": 12,
        "axes.labelcolor": muted,
        "axes.edgecolor": light("rule"),
        "axes.facecolor": "none",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "axes.grid": True,
        "axes.grid.axis": "y",
        "grid.color": light("rule"),
        "grid.linewidth": 0.8,
        "text.color": ink,
        "text.parse_math": False,
        "xtick.color": light("rule"),
        "ytick.color": light("rule"),
        "xtick.labelcolor": muted,
        "ytick.labelcolor": muted,
        "xtick.labelsize": 12,
        "ytick.labelsize": 12,
        "figure.facecolor": light("surface"),
        "savefig.facecolor": light("surface"),
        "figure.constrained_layout.use": True,
        "figure.constrained_layout.h_pad": 0.08,
        "figure.constrained_layout.w_pad": 0.06,
        "svg.fonttype": "none",
        "svg.hashsalt": "wastesim",
        "path.simplify": False,
    }


def blank(width_px: int, height_px: int) -> Figure:
    """An empty figure of that many CSS pixels."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width_px / PIXELS_PER_INCH, height_px / PIXELS_PER_INCH))
    FigureCanvasAgg(figure)
    return figure


def percent_axis(axes: Axes, label: str) -> None:
    """A y axis from 0 to 100 %."""
    axes.set_ylim(0, 100)
    axes.set_yticks([0, 25, 50, 75, 100], ["0", "25", "50", "75", "100 %"])
    axes.set_ylabel(label)


def few_ticks(axis: Axis, most: int, *, whole: bool = False) -> None:
    """At most about that many intervals, on whole numbers where fractions mean nothing."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(most, integer=whole, steps=[1, 2, 2.5, 5, 10]))


def plain_numbers(axes: Axes) -> None:
    """Ticks as they are said: thousands apart, no offsets, no powers."""
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:,.10g}")
