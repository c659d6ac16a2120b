"""The pictures of a comparison; the first is the main one.

It is the shares of the pool per variant; where only block sizes differ, waste against them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from wastesim.records import SHARES
from wastesim.report.comparison_answer import headline
from wastesim.report.comparison_parts import Part
from wastesim.report.figures.canvas import Picture
from wastesim.report.figures.comparison_blocks import block_sizes
from wastesim.report.figures.comparison_maps import maps
from wastesim.report.figures.render import Drawn, draw
from wastesim.report.palette import light, on_share

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Says what a picture of these variants shows; None when there is nothing to draw.
Plan = Callable[[Sequence[Part], str], Picture | None]

ROW_PX, REST_PX = 38, 76
LABEL_SHARE = 6.0  # percent of the pool that a segment must be wide to carry its number


def draw_comparison(
    parts: Sequence[Part], resolved: str, folder: Path
) -> tuple[list[Drawn], list[str]]:
    """Draw every picture; one that fails becomes a warning."""
    plans: dict[str, Plan] = {"blocks": block_sizes, "shares": shares, "maps": maps}
    drawn: list[Drawn] = []
    warnings: list[str] = []
    for name, plan in plans.items():
        try:
            picture = plan(parts, resolved)
            if picture is not None:
                drawn.append(draw(picture, folder))
        except Exception as error:  # whatever goes wrong in a picture, the numbers are kept
            warnings.append(f"figure '{name}' could not be drawn: {type(error).__name__}: {error}")
    return drawn, warnings


def shares(parts: Sequence[Part], resolved: str) -> Picture | None:
    """The picture, or None when nothing ran."""
    told = [part for part in parts if part.shares["written"] is not None]
    if not told:
        return None
    height = ROW_PX * len(told) + REST_PX
    return Picture(
        "comparison_shares",
        headline(parts),
        "Each bar is a variant's whole KV pool, a mean over scheduler steps that ran something;"
        " on the right how many requests ran at once, likewise.",
        lambda figure, narrow: _draw(figure, narrow, told),
        height_px=height,
        narrow_height_px=height + 24,
    )


def _draw(figure: Figure, narrow: bool, parts: Sequence[Part]) -> None:
    axes = figure.add_subplot()
    for row, part in enumerate(parts):
        _bar(axes, row, part, 2.2 * LABEL_SHARE if narrow else LABEL_SHARE)
        if part.running is not None:
            axes.text(101.5, row, _running(part.running, narrow), va="center", fontweight="bold")
    axes.set_ylim(len(parts) - 0.5, -0.5)
    axes.set_yticks(range(len(parts)), [part.name for part in parts])
    axes.tick_params(axis="y", length=0, labelcolor=light("ink"))
    axes.set_xlim(0, 100)
    axes.set_xticks([0, 25, 50, 75, 100], ["0", "25", "50", "75", "100 %"])
    axes.set_xlabel("share of the KV pool")
    axes.spines["left"].set_visible(False)
    axes.grid(False)
    _key(axes, parts, 3 if narrow else 6)


def _bar(axes: Axes, row: int, part: Part, least: float) -> None:
    left = 0.0
    for name in SHARES:
        width = 100 * (part.shares[name] or 0.0)
        axes.barh(row, width, 0.72, left, color=light(name), linewidth=0)
        if width >= least:
            axes.text(left + width / 2, row, f"{width:.1f}", ha="center", va="center",
                      color=on_share(name))  # fmt: skip
        left += width


def _running(mean: float, narrow: bool) -> str:
    return f"{mean:.1f}" if narrow else f"{mean:.1f} running"


def _key(axes: Axes, parts: Sequence[Part], columns: int) -> None:
    from matplotlib.patches import Patch

    seen = [name for name in SHARES if any(part.shares[name] for part in parts)]
    axes.legend(
        handles=[Patch(facecolor=light(name), label=name) for name in seen],
        loc="lower left", bbox_to_anchor=(0, 1.0), ncols=columns, frameon=False,
        borderaxespad=0.1, handlelength=1.0, handleheight=1.0, columnspacing=1.4,
        handletextpad=0.5, fontsize=12,
    )  # fmt: skip
