"""Two ways to draw spans on an address-by-time plane: one by one, or mixed by area in pixels."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wastesim.records import Array
from wastesim.report.figures.address_grid import Window, grid
from wastesim.report.figures.holdings import Holdings
from wastesim.report.palette import light

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: What the colours of the map mean, in the order of the key.
KEY = (("written", "written"), ("future", "future"), ("never written", "unused"))


class Level(NamedTuple):
    """What of a request's cells lies below a line that rises with time."""

    colour: str
    corners: list[list[tuple[float, float]]]


def boxes(axes: Axes, held: Holdings) -> None:
    """Each span as a box; in it, what will be written, and what is."""
    from matplotlib.collections import PolyCollection

    for level in _levels(held):
        edge = light("surface") if level.colour == "unused" else "none"
        axes.add_collection(
            PolyCollection(level.corners, facecolor=light(level.colour), edgecolor=edge, lw=0.6)
        )


def _levels(held: Holdings) -> list[Level]:
    whole, final, grown = [], [], []
    for a, b, t0, t1, t2, t3, w1, w2 in np.column_stack(held).tolist():
        whole.append([(t0, a), (t0, b), (t3, b), (t3, a)])
        final.append([(t0, a), (t0, a + w2), (t3, a + w2), (t3, a)])
        top = [(t0, a + w1), (t1, a + w1), (t2, a + w2), (t3, a + w2)]
        grown.append([(t0, a), *top, (t3, a)])
    return [Level("unused", whole), Level("future", final), Level("written", grown)]


def pixels(axes: Axes, held: Holdings, window: Window, shape: tuple[int, int]) -> None:
    """Colours mixed by area; free addresses stay see-through, so that they follow the page."""
    axes.imshow(
        _mixed(*grid(held, window, shape)),
        origin="lower",
        aspect="auto",
        extent=(window.start_s, window.end_s, window.first, window.first + window.cells),
        interpolation="none",
    )


def _mixed(whole: Array, final: Array, written: Array) -> Array:
    from matplotlib.colors import to_rgb

    parts = {"written": written, "future": final - written, "unused": whole - final}
    colours = np.array([to_rgb(light(name)) for name in parts])
    weights = np.stack(list(parts.values()), axis=-1).clip(0)
    total = weights.sum(axis=-1, keepdims=True)
    shares = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
    return np.concatenate([(shares @ colours).clip(0, 1), whole[..., None].clip(0, 1)], axis=-1)


def key(axes: Axes) -> None:
    """What the colours mean, above the map."""
    from matplotlib.patches import Patch

    axes.legend(
        handles=[Patch(color=light(share), label=text) for text, share in KEY],
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=len(KEY),
        frameon=False,
        handlelength=1,
        handleheight=1,
        columnspacing=1.2,
        borderaxespad=0.2,
        borderpad=0,
    )
