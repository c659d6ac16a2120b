"""Pictures of a quality study: what each cache costs, and quality against bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from wastesim.report.figures.canvas import Picture
from wastesim.report.figures.quality_bytes import bytes_by_length
from wastesim.report.figures.quality_windows import by_position, first_tokens
from wastesim.report.palette import light
from wastesim.report.quality import GOOD_ENOUGH, good_enough
from wastesim.report.text import count, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Row = dict[str, Any]
ROW_PX = 21
LINEAR = 0.5  # percent: changes smaller than this are drawn to scale, larger ones by their size
RISES = (0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500)
TICKS = (*(-tick for tick in reversed(RISES)), 0, *RISES)


def pictures(summary: dict[str, Any]) -> list[Picture]:
    """All that this study has something to show for."""
    rows = summary["cells"][1:]
    if not rows:
        return []
    plans = [_costs(rows), _pareto(summary)]
    plans += by_position(summary) + first_tokens(summary) + bytes_by_length(summary)
    return plans


def tone(row: Row) -> str:
    """The colour of a kind of cache."""
    if row["window"] is None:
        return light("written" if "newest" not in row["cache"] else "padding")
    return light("stranded" if row["sinks"] else "unused")


def _costs(rows: Sequence[Row]) -> Picture:
    good = sum(map(good_enough, rows))
    return Picture(
        "costs",
        f"{good} of {len(rows)} caches surely cost less than {percent(GOOD_ENOUGH)} in perplexity",
        f"Surely: the whole 95 % interval lies below {percent(GOOD_ENOUGH)}."
        " Change in perplexity against float32 on the same tokens, with 95 % intervals; the axis is"
        f" linear within {LINEAR} % and logarithmic beyond. At the right, bytes per token.",
        lambda figure, narrow: _draw_costs(figure, narrow, rows),
        height_px=90 + ROW_PX * len(rows),
        narrow_height_px=90 + (ROW_PX + 14) * len(rows),
    )


def _draw_costs(figure: Figure, narrow: bool, rows: Sequence[Row]) -> None:
    axes = figure.add_subplot()
    for at, row in enumerate(rows):
        _mark(axes, row, 100 * row["change"], at, horizontal=True)
        label = row["cache"]
        if narrow:
            axes.text(0, at - 0.36, label, transform=axes.get_yaxis_transform(), fontsize=10.5,
                      va="center", color=light("ink"))  # fmt: skip
        _at_right(axes, at, count(round(row["bytes_per_token"])))
    names = ["" if narrow else row["cache"] for row in rows]
    axes.set_yticks(range(len(rows)), names)
    axes.tick_params(axis="y", length=0, labelcolor=light("ink"), labelsize=11)
    axes.set_ylim(len(rows) - 0.4, -0.9)
    axes.grid(axis="x")
    axes.grid(visible=False, axis="y")
    _change_axis(axes, rows, "x", room=3.2)
    axes.set_xlabel("change in perplexity (%)")
    axes.axvline(0, color=light("muted"), linewidth=1)
    _at_right(axes, -0.8, "bytes per token")


def _at_right(axes: Axes, at: float, text: str) -> None:
    axes.text(1.0, at, text, fontsize=10.5, ha="right", va="center", color=light("muted"),
              transform=axes.get_yaxis_transform())  # fmt: skip


def _mark(axes: Axes, row: Row, value: float, other: float, *, horizontal: bool) -> None:
    low, high = 100 * row["change_low"], 100 * row["change_high"]
    colour = tone(row)
    style: dict[str, Any] = {"color": colour, "linewidth": 2.4, "solid_capstyle": "round"}
    if horizontal:
        axes.plot([low, high], [other, other], alpha=0.45, **style)
        axes.plot([value], [other], "o", color=colour, markersize=6)
    else:
        axes.plot([other, other], [low, high], alpha=0.45, **style)
        axes.plot([other], [value], "o", color=colour, markersize=6.5)


def _change_axis(axes: Axes, rows: Sequence[Row], which: str, room: float = 1.15) -> None:
    """From the lowest end of an interval to the highest: every cache is inside."""
    lowest = min(-LINEAR, *(100 * row["change_low"] for row in rows))
    highest = max(1.0, *(100 * row["change_high"] for row in rows))
    axis = axes.xaxis if which == "x" else axes.yaxis
    scale = axes.set_xscale if which == "x" else axes.set_yscale
    scale("symlog", linthresh=LINEAR, linscale=0.8)
    ticks = [tick for tick in TICKS if lowest <= tick <= highest]
    axis.set_ticks(ticks, [f"{tick:+g}" if tick else "0" for tick in ticks])
    axis.set_minor_locator(_no_minor())
    limits = axes.set_xlim if which == "x" else axes.set_ylim
    limits(lowest * 1.15 if lowest < -LINEAR else lowest, highest * room)


def _no_minor() -> Any:
    from matplotlib.ticker import NullLocator

    return NullLocator()


def front(rows: Sequence[Row]) -> list[Row]:
    """Caches that no other beats in both bytes and perplexity, smallest first."""
    best: list[Row] = []
    for row in sorted(rows, key=lambda row: (-row["bytes_per_token"], -row["change"])):
        while best and best[-1]["change"] >= row["change"]:
            best.pop()
        best.append(row)
    return best[::-1]


def _pareto(summary: dict[str, Any]) -> Picture:
    found = front(summary["cells"])
    names = [row["cache"] for row in found]
    return Picture(
        "pareto",
        _front_title(found),
        f"Line: from small to large, {'; '.join(names)}. Blue: every token packed. Amber: the"
        " newest exact. Vermilion: windows without the first tokens. Purple: windows with them."
        f" Windows are counted over all {count(summary['tokens'])} tokens, so they shrink with the"
        " text.",
        lambda figure, narrow: _draw_pareto(figure, narrow, summary, found),
        height_px=470,
        narrow_height_px=400,
    )


def _front_title(found: Sequence[Row]) -> str:
    if len(found) == 1:
        return f"No cache is smaller than {found[0]['cache']}, and none is better"
    return f"{len(found)} caches are worth choosing between: no other is smaller and better"


def _draw_pareto(
    figure: Figure, narrow: bool, summary: dict[str, Any], found: Sequence[Row]
) -> None:
    axes = figure.add_subplot()
    rows = summary["cells"]
    for row in rows:
        _mark(axes, row, 100 * row["change"], row["bytes_per_element"], horizontal=False)
    steps = [(row["bytes_per_element"], 100 * row["change"]) for row in found]
    axes.step(*zip(*steps, strict=True), where="post", color=light("ink"), linewidth=1, zorder=1)
    axes.set_xscale("log", base=2)
    axes.set_xticks([0.25, 0.5, 1, 2, 4], ["0.25", "0.5", "1", "2", "4"])
    axes.xaxis.set_minor_locator(_no_minor())
    axes.set_xlim(min(row["bytes_per_element"] for row in rows) * 0.85, 4.6)
    _change_axis(axes, rows, "y")
    axes.set_xlabel("bytes per number of K and V")
    axes.set_ylabel("change in perplexity (%)")
    _name_points(axes, found, narrow)


def _name_points(axes: Axes, found: Sequence[Row], narrow: bool) -> None:
    """Names of the front, turn about above and below so that neighbours keep apart."""
    for turn, row in enumerate(found):
        if narrow and turn % 2:
            continue
        words = row["cache"].replace(" in float32", "").replace(", groups of", " /")
        axes.annotate(
            words if len(words) < 34 else words.replace(", ", "\n", 1),
            (row["bytes_per_element"], 100 * row["change"]),
            xytext=(7, 7 if turn % 2 else -9),
            textcoords="offset points",
            fontsize=10,
            va="bottom" if turn % 2 else "top",
            color=light("ink"),
        )
