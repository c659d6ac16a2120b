"""What the pictures of a sweep share: which key goes where, colours, panels and intervals."""

from __future__ import annotations

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
    """A log scale, with a tick at some of the values, where they span a lot."""
    known = sorted(set(values))
    if not known or known[0] <= 0 or known[-1] < LOG_FROM * known[0]:
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.6g}")
        return
    axes.set_xscale("log")
    every = -(-len(known) // 6)
    axes.set_xticks(known[::every], [f"{value:,.6g}" for value in known[::every]])
    axes.xaxis.set_minor_locator(_nowhere())


def _nowhere() -> Any:
    from matplotlib.ticker import NullLocator

    return NullLocator()


def same(one: Mapping[str, Any], other: Mapping[str, Any], keys: Sequence[str]) -> bool:
    """Whether two cells agree in some keys."""
    return all(one.get(key) == other.get(key) for key in keys)
