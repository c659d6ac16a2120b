"""Waste against block size, where that is all that the variants differ in, and its closed form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wastesim.records import Array
from wastesim.report.closed_forms import paged
from wastesim.report.comparison_parts import Part
from wastesim.report.figures.canvas import Picture
from wastesim.report.lengths import Lengths
from wastesim.report.palette import light
from wastesim.report.resolved import compared
from wastesim.report.text import percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ONLY = {"server": {"block_size"}}


class Points(NamedTuple):
    """What was simulated, and the formula for every block size between."""

    sizes: list[int]
    wasted: list[float]
    every: Array
    formula: list[float]


def block_sizes(parts: Sequence[Part], resolved: str) -> Picture | None:
    """The picture, or None when the variants differ in anything else."""
    found = points(parts, compared(resolved))
    if found is None:
        return None
    low, high = min(found.sizes), max(found.sizes)
    return Picture(
        "comparison_blocks",
        f"Blocks of {low:,} waste {percent(found.wasted[found.sizes.index(low)])} of what is"
        f" reserved, blocks of {high:,} waste {percent(found.wasted[found.sizes.index(high)])}",
        "Points: 1 - written / reserved, summed over the simulated steps. Line: the closed form"
        " 1 - sum t / (b sum ceil(t / b)), t = p .. p + o - 1 over the completed requests.",
        lambda figure, narrow: _draw(figure, found, narrow),
        height_px=340,
        narrow_height_px=300,
    )


def points(parts: Sequence[Part], changes: dict[str, dict[str, Any]]) -> Points | None:
    """Simulated and computed waste; None when not all variants are block sizes."""
    alike = all(_keys(changes.get(part.name, {})) == ONLY for part in parts)
    written = [part.summary["memory"]["written_over_reserved"]["step"] for part in parts]
    if len(parts) < 2 or not alike or None in written:
        return None
    sizes = [int(changes[part.name]["server"]["block_size"]) for part in parts]
    every = np.unique(np.geomspace(min(sizes), max(sizes), 120).round().astype(int))
    lengths = _completed(parts[0])
    formula = [1 - (paged(lengths, 1, int(size)).written or 0.0) for size in every]
    return Points(sizes, [1 - share for share in written], every, formula)


def _keys(changes: dict[str, Any]) -> dict[str, set[str]]:
    return {key: set(value) if isinstance(value, dict) else set() for key, value in changes.items()}


def _completed(part: Part) -> Lengths:
    rows = part.records.requests
    done = rows["status"] == "completed"
    return Lengths(rows["prompt_tokens"][done], rows["output_tokens"][done])


def _draw(figure: Figure, found: Points, narrow: bool) -> None:
    axes = figure.add_subplot()
    axes.plot(found.every, 100 * np.array(found.formula), color=light("padding"), linewidth=2)
    axes.plot(found.sizes, 100 * np.array(found.wasted), "o", color=light("written"), markersize=7)
    axes.set_xscale("log", base=2)
    axes.set_xticks(found.sizes, [f"{size:,}" for size in found.sizes])
    axes.minorticks_off()
    axes.set_ylim(0, None)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g} %")
    axes.set_xlabel("block size (cells)")
    axes.set_ylabel("reserved and not written")
    for size, wasted in zip(found.sizes, found.wasted, strict=True):
        axes.annotate(f"{100 * wasted:.2f}", (size, 100 * wasted), xytext=(0, 9), ha="center",
                      textcoords="offset points", fontsize=10 if narrow else 11)  # fmt: skip
    middle = len(found.every) * 3 // 5
    axes.annotate("closed form", (found.every[middle], 100 * found.formula[middle]),
                  xytext=(14, -16), textcoords="offset points", color=light("muted"))  # fmt: skip
