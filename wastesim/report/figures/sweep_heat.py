"""A heat map: the first number over two keys, each value written into its square."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from wastesim.report.figures.canvas import Picture
from wastesim.report.figures.sweep_axes import panels
from wastesim.report.palette import light
from wastesim.report.sweep_parts import Parts
from wastesim.report.sweep_words import Metric, key, value
from wastesim.units import format_digits

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Of the palette's blue, but of no colour in it: a dark page leaves the squares as they are.
PALE, DEEP = "#e4eef7", "#0a4f88"
DARK_TEXT, LIGHT_TEXT = "#101418", "#fcfcfa"
MOST, FEWEST = 12, 2


def heat(parts: Parts) -> Picture | None:
    """The first metric by the two keys with most values; None unless they make a full grid."""
    keys = sorted(parts.keys, key=lambda name: -len(parts.levels(name)))[:2]
    shown = panels(parts, 1)
    if len(parts.keys) != 2 or not shown:
        return None
    sizes = [len(parts.levels(name)) for name in keys]
    full = sizes[0] * sizes[1] == len(parts.cells)
    if not full or min(sizes) < FEWEST or max(sizes) > MOST or sizes[0] < 3:
        return None
    rows, columns = _ordered(parts, keys[1]), _ordered(parts, keys[0])
    empty = _empty(parts, keys, shown[0], rows, columns)

    def draw(figure: Figure, narrow: bool) -> None:
        axes = figure.add_subplot()
        _squares(axes, _grid(parts, keys, shown[0], rows, columns))
        for (i, j), why in empty.items():
            axes.text(j, i, why, ha="center", va="center", color=light("muted"), fontsize=10)
        axes.set_xticks(
            range(len(columns)), [value(v) for v in columns], rotation=90 if narrow else 0
        )
        axes.set_yticks(range(len(rows)), [value(v) for v in rows])
        axes.set_xlabel(key(keys[0]))
        axes.set_ylabel(key(keys[1]))

    words = f"{shown[0].label} by {key(keys[0])} and {key(keys[1])}"
    height = 42 * len(rows) + 90
    return Picture(
        "heat",
        words[:1].upper() + words[1:],
        f"Each square is a cell's mean{shown[0].unit}; darker is more.{_why_empty(empty)}",
        draw,
        height,
        height + 40,
    )


def _ordered(parts: Parts, name: str) -> list[Any]:
    levels = parts.levels(name)
    return sorted(levels) if parts.is_number(name) else levels


def _grid(
    parts: Parts, keys: list[str], shown: Metric, rows: list[Any], columns: list[Any]
) -> list[list[float]]:
    found = [[float("nan")] * len(columns) for _ in rows]
    for cell in parts.finished:
        i, j = rows.index(cell.values[keys[1]]), columns.index(cell.values[keys[0]])
        estimate = cell.estimate(shown.name)
        found[i][j] = float("nan") if estimate is None else estimate * shown.scale
    return found


#: What stands where there is no number, and what it means.
FAILED, NOT_RUN, UNDEFINED = "failed", "not run", "undefined"
_MEANINGS = {
    FAILED: "no run came to its end",
    NOT_RUN: "no run was begun",
    UNDEFINED: "the number has no value there, as where every request was rejected",
}


def _empty(
    parts: Parts, keys: list[str], shown: Metric, rows: list[Any], columns: list[Any]
) -> dict[tuple[int, int], str]:
    """The places without a number, and why."""
    found: dict[tuple[int, int], str] = {}
    for cell in parts.cells:
        if cell.estimate(shown.name) is None:
            why = UNDEFINED if cell.runs else FAILED if cell.errors else NOT_RUN
            found[rows.index(cell.values[keys[1]]), columns.index(cell.values[keys[0]])] = why
    return found


def _why_empty(empty: Mapping[tuple[int, int], str]) -> str:
    there = [why for why in _MEANINGS if why in empty.values()]
    return "".join(f" {why.capitalize()}: {_MEANINGS[why]}." for why in there)


def _squares(axes: Axes, grid: list[list[float]]) -> None:
    known = [v for row in grid for v in row if v == v]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    for i, row in enumerate(grid):
        for j, at in enumerate(row):
            if at == at:
                _square(axes, i, j, at, (at - low) / (high - low) if high > low else 0.5)
    axes.set_xlim(-0.5, len(grid[0]) - 0.5)
    axes.set_ylim(len(grid) - 0.5, -0.5)
    axes.grid(visible=False)


def _square(axes: Axes, i: int, j: int, at: float, share: float) -> None:
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((j - 0.48, i - 0.46), 0.96, 0.92, color=_blend(share), linewidth=0))
    ink = LIGHT_TEXT if share > 0.5 else DARK_TEXT
    axes.text(j, i, format_digits(at, 3), ha="center", va="center",
              color=ink, fontsize=11)  # fmt: skip


def _blend(share: float) -> str:
    pairs = [(int(PALE[k : k + 2], 16), int(DEEP[k : k + 2], 16)) for k in (1, 3, 5)]
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)
