"""Small multiples: the whole pool of each variant at a crowded moment, cell by cell.

The address space runs from left to right and wraps like text, the lowest address at the top.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wastesim.records import Array, Records
from wastesim.report.comparison_parts import Part
from wastesim.report.figures.canvas import Picture
from wastesim.report.figures.holdings import holdings, written_at
from wastesim.report.palette import light

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: What a cell can be, in the order of the key; free cells are the last.
KINDS = (
    ("written", "written"),
    ("future", "future"),
    ("never written", "unused"),
    ("free", "idle"),
)
WRITTEN, FUTURE, NEVER, FREE = range(4)
ROWS, COLUMNS = 40, 160
PANEL_PX, KEY_PX = 166, 34


class Moment(NamedTuple):
    """The pool at one time: what each cell is, and how many requests run."""

    cells: Array
    running: int
    at_s: float


def maps(parts: Sequence[Part], resolved: str) -> Picture | None:
    """The picture, or None when no variant has a moment of which all spans are known."""
    moments = {part.name: moment(part.records) for part in parts}
    known = {name: found for name, found in moments.items() if found is not None}
    if not known:
        return None
    return Picture(
        "comparison_maps",
        "The pool at the most crowded moment of each variant",
        "Addresses run from left to right and wrap like text, the lowest at the top; below each"
        " name, how many requests run then. Each pixel mixes the colours of its cells."
        + _left_out([name for name in moments if name not in known]),
        lambda figure, narrow: _draw(figure, 2 if narrow else 4, known),
        height_px=KEY_PX + PANEL_PX * math.ceil(len(known) / 4),
        narrow_height_px=KEY_PX + PANEL_PX * math.ceil(len(known) / 2),
    )


def _left_out(names: Sequence[str]) -> str:
    return f" Not shown, as not all of their spans were kept: {', '.join(names)}." if names else ""


def moment(records: Records) -> Moment | None:
    """The middle one of the ticks with most requests running whose spans are all recorded."""
    ticks, spans = records.ticks, records.spans
    reserved = np.sum([ticks[n] for n in ("written", "future", "unused", "padding")], axis=0)
    known = (_held(spans, ticks["t_s"]) == reserved) & (reserved > 0)
    if not known.any():
        return None
    most = ticks["running"][known].max()
    chosen = np.flatnonzero(known & (ticks["running"] == most))
    at = int(chosen[len(chosen) // 2])
    at_s = float(ticks["t_s"][at] + ticks["dt_s"][at] / 2)
    return Moment(_cells(records, at_s), int(most), at_s)


def _held(spans: dict[str, Array], at_s: Array) -> Array:
    """Cells in recorded spans at each of the times."""
    size = spans["stop"] - spans["start"]

    def total(column: str) -> Array:
        order = np.argsort(spans[column], kind="stable")
        grown = np.concatenate([[0], np.cumsum(size[order])])
        before: Array = grown[np.searchsorted(spans[column][order], at_s, side="right")]
        return before

    held: Array = total("from_s") - total("to_s")
    return held


def _cells(records: Records, at_s: float) -> Array:
    spans = records.spans
    then = np.flatnonzero((spans["from_s"] <= at_s) & (spans["to_s"] > at_s))
    held = holdings(records)
    written = written_at(held, then, np.full(len(then), at_s)).astype(np.int64)
    cells = np.full(records.facts.capacity_cells, FREE, dtype=np.int8)
    last_written = held.last_written[then].astype(np.int64)
    for start, stop, now, last in zip(
        held.start[then], held.stop[then], written, last_written, strict=True
    ):
        cells[start:stop] = NEVER
        cells[start : start + last] = FUTURE
        cells[start : start + now] = WRITTEN
    return cells


def _draw(figure: Figure, columns: int, moments: dict[str, Moment]) -> None:
    from matplotlib.patches import Patch

    columns = min(columns, len(moments))
    panels = figure.subplots(math.ceil(len(moments) / columns), columns, squeeze=False).ravel()
    for axes in panels:
        axes.set_axis_off()
    for axes, (name, found) in zip(panels, moments.items(), strict=False):
        _panel(axes, name, found)
    keys = [Patch(facecolor=light(tone), label=label) for label, tone in KINDS]
    figure.legend(handles=keys, loc="outside lower left", ncols=4, frameon=False, handlelength=1.0,
                  handleheight=1.0, columnspacing=1.2, handletextpad=0.5)  # fmt: skip


def _panel(axes: Axes, name: str, found: Moment) -> None:
    axes.imshow(_image(found.cells), aspect="auto", interpolation="nearest")
    axes.set_title(f"{name}\n{found.running:,} running", loc="left", fontsize=11, linespacing=1.3)


def _image(cells: Array) -> Array:
    """Mean colours of equal parts of the address space, row by row."""
    colours = np.array([_rgb(light(tone)) for _, tone in KINDS])
    edges = np.linspace(0, len(cells), ROWS * COLUMNS + 1)
    counts = np.stack([_integral(cells == kind, edges) for kind in range(len(KINDS))], axis=1)
    image: Array = (counts / counts.sum(axis=1, keepdims=True)) @ colours
    return image.reshape(ROWS, COLUMNS, 3).clip(0, 1)


def _integral(mask: Array, edges: Array) -> Array:
    grown = np.concatenate([[0], np.cumsum(mask)])
    parts: Array = np.diff(np.interp(edges, np.arange(len(grown)), grown))
    return parts


def _rgb(colour: str) -> tuple[float, ...]:
    return tuple(int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
