"""The memory map, address by time: who holds which cells, and how far they are written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wastesim.records import Records
from wastesim.report.figures.address_grid import grid
from wastesim.report.figures.canvas import Picture
from wastesim.report.figures.holdings import Holdings, holdings
from wastesim.report.palette import light
from wastesim.report.text import count, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEGIBLE_SPANS = 600
WIDE_GRID, NARROW_GRID = (240, 480), (160, 200)


def memory_map(records: Records, summary: dict[str, Any]) -> Picture | None:
    """The picture, or None when no request held memory."""
    if not len(records.spans["start"]) or not len(records.ticks["t_s"]):
        return None
    top = int(records.spans["stop"].max())
    used = top / records.facts.capacity_cells
    return Picture(
        "memory_map",
        f"Each request fills only the lower part of what it holds; {percent(used)} of the"
        " addresses were ever handed out",
        _caption(records),
        lambda figure, narrow: _draw(figure, narrow, records),
        height_px=460,
        narrow_height_px=380,
    )


def _caption(records: Records) -> str:
    spans = len(records.spans["start"])
    legible = spans <= LEGIBLE_SPANS
    how = (
        "each box is a span of cells held by one request, the blue wedge in it what was written"
        if legible
        else "too many to draw one by one, so each pixel mixes the colours by the exact parts that"
        " were written, held and free"
    )
    return f"{count(spans)} spans over {count(records.facts.capacity_cells)} cells: {how}."


def _draw(figure: Figure, narrow: bool, records: Records) -> None:
    axes = figure.add_subplot()
    held, ticks = holdings(records), records.ticks
    start_s, end_s = float(ticks["t_s"][0]), float(ticks["t_s"][-1] + ticks["dt_s"][-1])
    if len(held.start) <= LEGIBLE_SPANS:
        _boxes(axes, held, end_s - start_s)
    else:
        _pixels(axes, held, records, (start_s, end_s), NARROW_GRID if narrow else WIDE_GRID)
    axes.grid(False)
    axes.set_xlim(start_s, end_s)
    axes.set_ylim(0, records.facts.capacity_cells)
    axes.set_xlabel("simulated time (s)")
    axes.set_ylabel("address (cells)")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    _key(axes)


def _boxes(axes: Axes, held: Holdings, span_s: float) -> None:
    from matplotlib.collections import PolyCollection

    boxes, wedges = [], []
    for a, b, t0, t1, t2, w1, w2 in zip(*held, strict=True):
        boxes.append([(t0, a), (t0, b), (t2, b), (t2, a)])
        wedges.append([(t0, a), (t0, a + w1), (t1, a + w1), (t2, a + w2), (t2, a)])
    edge = light("surface")
    axes.add_collection(PolyCollection(boxes, facecolor=light("unused"), edgecolor=edge, lw=0.5))
    axes.add_collection(PolyCollection(wedges, facecolor=light("written"), lw=0))


def _pixels(
    axes: Axes, held: Holdings, records: Records, time: tuple[float, float], shape: tuple[int, int]
) -> None:
    """Colours mixed by area; free addresses stay see-through, so that they follow the page."""
    from matplotlib.colors import to_rgb

    capacity = records.facts.capacity_cells
    whole, written = grid(held, capacity, *time, shape)
    share = np.divide(written, whole, out=np.zeros_like(whole), where=whole > 0).clip(0, 1)
    blue, warm = np.array(to_rgb(light("written"))), np.array(to_rgb(light("unused")))
    image = np.empty((*shape, 4))
    image[..., :3] = share[..., None] * blue + (1 - share[..., None]) * warm
    image[..., 3] = whole
    axes.imshow(
        image, origin="lower", aspect="auto", extent=(*time, 0, capacity), interpolation="none"
    )


def _key(axes: Axes) -> None:
    """What the two colours mean, above the map."""
    from matplotlib.patches import Patch

    axes.legend(
        handles=[
            Patch(color=light("written"), label="written"),
            Patch(color=light("unused"), label="held, not written"),
        ],
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=2,
        frameon=False,
        handlelength=1,
        handleheight=1,
        borderaxespad=0.2,
    )
