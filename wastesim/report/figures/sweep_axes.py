"""What the pictures of a sweep share: which key goes where, colours, panels and intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from wastesim.report.palette import light
from wastesim.report.sweep_parts import Cell, Parts
from wastesim.report.sweep_words import Metric, metric

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Colours of lines, apart for the common colour-vision deficiencies.
COLOURS = ("written", "unused", "stranded", "padding", "future", "muted")
MARKERS = ("o", "s", "D", "^", "v", "P")
MOST_PANELS = 4
#: Numbers so far apart are spread by their ratio.
LOG_FROM = 12.0
PANEL_PX = 265
#: A letter of a tick's name, and the part of a panel that its axis has.
LETTER_PX, AXIS_SHARE = 7.5, 0.85
#: More values than these were drawn, not chosen.
MOST_CHOSEN = 16


def numeric_key(parts: Parts) -> str | None:
    """The key for the x axis: the one asked for, or the number with most values."""
    if parts.show.x is not None:
        return parts.show.x
    numbers = [key for key in parts.keys if parts.is_number(key) and len(parts.levels(key)) > 2]
    return max(numbers, key=lambda key: len(parts.levels(key)), default=None)


def panels(parts: Parts, most: int = MOST_PANELS) -> list[Metric]:
    """The metrics that are drawn, one panel each."""
    wanted = [name for name in parts.show.metrics or parts.metrics if name in parts.metrics]
    return [metric(name) for name in wanted[:most]]


def grid_of(figure: Figure, count: int, narrow: bool) -> list[Axes]:
    """Panels two abreast, or one below the other on a phone."""
    columns = 1 if narrow or count == 1 else 2
    rows = -(-count // columns)
    return [figure.add_subplot(rows, columns, i + 1) for i in range(count)]


def heights(count: int) -> tuple[int, int]:
    """Pixels of the wide and the narrow drawing."""
    rows = count if count == 1 else -(-count // 2)
    return (PANEL_PX * rows + 60 if rows > 1 else 380), PANEL_PX * count + 40


def title(axes: Axes, shown: Metric) -> None:
    """A panel's name above it, with its unit."""
    axes.set_title(f"{shown.label}{shown.unit}", loc="left", fontsize=12, color=light("ink"))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.6g}")


def ends(cells: Sequence[Cell], shown: Metric) -> tuple[list[float], list[float], list[float]]:
    """Estimates, lows and highs as drawn; what is undefined is NaN, no interval has no length."""
    middle, low, high = [], [], []
    for cell in cells:
        found = cell.numbers.get(shown.name)
        estimate = found.estimate if found else None
        at = float("nan") if estimate is None else estimate * shown.scale
        middle.append(at)
        low.append(at if found is None or found.low is None else found.low * shown.scale)
        high.append(at if found is None or found.high is None else found.high * shown.scale)
    return middle, low, high


def log_if_wide(axes: Axes, values: Sequence[float]) -> None:
    """A log scale where values span a lot; a mark at each that was chosen, named where it fits."""
    known = sorted(set(values))
    if not known or known[0] <= 0 or known[-1] < LOG_FROM * known[0]:
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.6g}")
        axes.locator_params(axis="x", nbins=6)
        return
    axes.set_xscale("log")
    chosen = known if _are_chosen(known) else _round_numbers(known[0], known[-1])
    named = spaced(chosen, _width_px(axes))
    axes.set_xticks(named, [f"{value:,.6g}" for value in named])
    axes.set_xticks([at for at in chosen if at not in named], minor=True)
    axes.xaxis.set_minor_formatter(_nothing())
    axes.tick_params(axis="x", which="both", length=4, color=light("muted"))


def spaced(values: Sequence[float], width_px: float) -> list[float]:
    """Those whose names do not lie on each other on a log axis: both ends, then from the left."""
    reach = math.log(values[-1] / values[0]) or 1.0
    places = {at: math.log(at / values[0]) / reach * width_px for at in values}
    kept = list(dict.fromkeys([values[0], values[-1]]))
    for at in values[1:-1]:
        if all(abs(places[at] - places[other]) > _room_px(at, other) for other in kept):
            kept.append(at)
    return sorted(kept)


def _room_px(one: float, other: float) -> float:
    """Between the middles of two names."""
    return LETTER_PX * (len(f"{one:,.6g}") + len(f"{other:,.6g}")) / 2 + LETTER_PX


def _are_chosen(values: Sequence[float]) -> bool:
    """Whether somebody wrote them, and not a design or a bisection."""
    plain = all(float(value).is_integer() or float(f"{value:.3g}") == value for value in values)
    return plain and len(values) <= MOST_CHOSEN


def _round_numbers(low: float, high: float) -> list[float]:
    """1, 2 and 5 times powers of ten between the ends; the ends where there are fewer than two."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    every = [digit * 10.0**power for power in powers for digit in (1, 2, 5)]
    inside = [at for at in every if low <= at <= high]
    return inside if len(inside) > 1 else [low, high]


def _width_px(axes: Axes) -> float:
    """About as wide as a panel's axis will be."""
    from wastesim.report.figures.canvas import PIXELS_PER_INCH

    spec = axes.get_subplotspec()
    columns = spec.get_gridspec().ncols if spec is not None else 1
    whole: float = axes.figure.get_figwidth() * PIXELS_PER_INCH  # type: ignore[union-attr]
    return AXIS_SHARE * whole / columns


def _nothing() -> Any:
    from matplotlib.ticker import NullFormatter

    return NullFormatter()


def same(one: Mapping[str, Any], other: Mapping[str, Any], keys: Sequence[str]) -> bool:
    """Whether two cells agree in some keys."""
    return all(one.get(key) == other.get(key) for key in keys)
