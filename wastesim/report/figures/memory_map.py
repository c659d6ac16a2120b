"""The memory map, address by time: who holds which cells, and how far they are written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wastesim.records import Array, Records
from wastesim.report.figures.address_grid import Window
from wastesim.report.figures.canvas import Picture, plain_numbers
from wastesim.report.figures.holdings import Holdings, holdings
from wastesim.report.figures.map_drawing import boxes, key, pixels
from wastesim.report.palette import light
from wastesim.report.text import count, percent, plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEGIBLE_SPANS = 600
WIDE_GRID, NARROW_GRID = (240, 420), (160, 200)
CLOSE_SPANS, CLOSE_ROWS = 24, 6  # more spans than this get a closer look at this many addresses
CLOSE_SHARE = 0.025  # of either axis at least: the outline of less would be a line


def memory_map(records: Records, summary: dict[str, Any]) -> Picture | None:
    """The picture, or None when no request held memory."""
    if not len(records.spans["start"]) or not len(records.ticks["t_s"]):
        return None
    written = summary["memory"]["written_over_reserved"]["time"]
    used = int(records.spans["stop"].max()) / records.facts.capacity_cells
    close = len(records.spans["start"]) > CLOSE_SPANS
    return Picture(
        "memory_map",
        f"Of the cells that requests hold, {percent(written)} are written at an average moment",
        _caption(records, used, close),
        lambda figure, narrow: _draw(figure, narrow, records),
        height_px=460,
        narrow_height_px=640 if close else 380,
    )


def _caption(records: Records, used: float, close: bool) -> str:
    spans = len(records.spans["start"])
    how = (
        "each box is cells held by one request, the blue wedge at its bottom what was written"
        if spans <= LEGIBLE_SPANS
        else "too many to draw one by one, so each pixel mixes the colours by their exact areas"
    )
    closer = " The second panel enlarges the outlined part." if close else ""
    return (
        f"{plural(spans, 'span')} over {count(records.facts.capacity_cells)} cells: {how}."
        f"{closer} The highest address ever used lies at {percent(used)} of the pool."
    )


def _draw(figure: Figure, narrow: bool, records: Records) -> None:
    held, ticks = holdings(records), records.ticks
    end_s = float(ticks["t_s"][-1] + ticks["dt_s"][-1])
    window = Window(float(ticks["t_s"][0]), end_s, records.facts.capacity_cells)
    close = len(held.start) > CLOSE_SPANS
    panels = _panels(figure, narrow, close)
    shape = NARROW_GRID if narrow else WIDE_GRID
    if len(held.start) <= LEGIBLE_SPANS:
        boxes(panels[0], held)
    else:
        pixels(panels[0], held, window, shape)
    _frame(panels[0], (window.start_s, end_s), (0, window.cells))
    key(panels[0])
    if close:
        _closer_look(panels, held, _busiest_s(records), window, shape)


def _panels(figure: Figure, narrow: bool, close: bool) -> list[Axes]:
    if not close:
        return [figure.add_subplot()]
    if narrow:
        return list(figure.subplots(2, 1, height_ratios=[1.15, 1]))
    return list(figure.subplots(1, 2, width_ratios=[1.5, 1]))


def _busiest_s(records: Records) -> float:
    ticks = records.ticks
    busy = np.flatnonzero(ticks["running"] == ticks["running"].max())
    return float(ticks["t_s"][busy[len(busy) // 2]])


def _closer_look(
    panels: list[Axes], held: Holdings, centre_s: float, window: Window, shape: tuple[int, int]
) -> None:
    """The lowest few spans of the busiest time, one by one where that can be seen."""
    from matplotlib.patches import Rectangle

    low, high, inside = _lowest(held, centre_s, window.cells)
    share = 5 * CLOSE_ROWS / max(1, int(inside.sum()))
    width_s = (window.end_s - window.start_s) * min(1.0, max(CLOSE_SHARE, share))
    left = float(np.clip(centre_s - width_s / 2, window.start_s, window.end_s - width_s))
    inside &= (held.to_s > left) & (held.from_s < left + width_s)
    shown = Holdings(*(column[inside] for column in held))
    if len(shown.start) <= LEGIBLE_SPANS:
        boxes(panels[1], shown)
    else:
        pixels(panels[1], shown, Window(left, left + width_s, high - low, low), shape)
    _frame(panels[1], (left, left + width_s), (low, high))
    panels[1].set_ylabel("")
    panels[1].set_title("a closer look", loc="left", fontsize=12, color=light("muted"))
    panels[0].add_patch(
        Rectangle((left, low), width_s, high - low, fill=False, edgecolor=light("ink"), lw=1.4,
                  clip_on=False, zorder=5)
    )  # fmt: skip


def _lowest(held: Holdings, centre_s: float, cells: int) -> tuple[int, int, Array]:
    """(first cell, last cell, which spans) from the lowest spans held at that moment on."""
    then = (held.from_s <= centre_s) & (held.to_s > centre_s)
    chosen = np.sort(held.start[then] if then.any() else held.start)[:CLOSE_ROWS]
    low = int(chosen[0])
    high = int(held.stop[held.start == chosen[-1]].max())
    high = min(cells, max(high, low + round(CLOSE_SHARE * cells)))
    low = max(0, min(low, high - round(CLOSE_SHARE * cells)))
    inside: Array = (held.start < high) & (held.stop > low)
    return low, high, inside


def _frame(axes: Axes, time: tuple[float, float], cells: tuple[int, int]) -> None:
    axes.grid(False)
    axes.set_xlim(*time)
    axes.set_ylim(*cells)
    axes.set_xlabel("simulated time (s)")
    axes.set_ylabel("address (cells)")
    plain_numbers(axes)
