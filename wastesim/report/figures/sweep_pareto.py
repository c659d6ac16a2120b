"""The front: cells that no other cell beats in both of two numbers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from wastesim.report.figures.canvas import Picture
from wastesim.report.figures.sweep_axes import LOG_FROM
from wastesim.report.palette import light
from wastesim.report.sweep_parts import Parts
from wastesim.report.sweep_words import Metric, metric, value
from wastesim.report.text import plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: The first should be low, the second high.
USUAL = ("latency.ttft_s.p99", "throughput.output_tokens_per_s")
FEWEST = 3
MOST_NAMES = 8
#: Cells so close to the best one in both numbers are counted in the title.
ALIKE = 0.05
#: Closer ones cannot be told apart in the picture.
SAME = 0.01
#: Room for a name, in parts of the picture's width and height.
NAME_WIDE, NAME_HIGH = 0.3, 0.05


class Point(NamedTuple):
    """A cell in the plane of two numbers."""

    x: float
    y: float
    name: str


def pareto(parts: Parts) -> Picture | None:
    """All cells by two numbers and the front of the best trades; not of a search."""
    names = parts.show.pareto or USUAL
    if parts.bound is not None or parts.answer or any(n not in parts.metrics for n in names):
        return None
    x, y = metric(names[0]), metric(names[1])
    points = _points(parts, x, y)
    if len(points) < FEWEST:
        return None
    best = front(points)

    def draw(figure: Figure, narrow: bool) -> None:
        _draw(figure.add_subplot(), points, best, (x, y), narrow)

    words = _title(points, best, x, y)
    caption = (
        f"Left and up is better. No other cell has both less {x.label} and more {y.label} than"
        f" those on the line.{_on_each_other(best)}"
    )
    return Picture("pareto", words, caption, draw, 400, 340)


def _title(points: Sequence[Point], best: Sequence[Point], x: Metric, y: Metric) -> str:
    if len(best) > 1:
        return f"{len(best)} of {len(points)} cells trade {x.label} against {y.label}"
    near = sum(_near(point, best[0]) for point in points) - 1
    alike = f"; {plural(near, 'cell')} within {ALIKE:.0%}".replace("%", " %") if near else ""
    return f"{best[0].name} has the least {x.label} and the most {y.label}{alike}"


def _near(point: Point, best: Point) -> bool:
    return point.x <= best.x * (1 + ALIKE) and point.y >= best.y * (1 - ALIKE)


def front(points: Sequence[Point]) -> list[Point]:
    """Points that no other has a smaller or equal x and a larger or equal y than, from the left."""
    found: list[Point] = []
    for point in sorted(points, key=lambda p: (p.x, -p.y)):
        if not found or point.y > found[-1].y:
            found.append(point)
    return found


def _points(parts: Parts, x: Metric, y: Metric) -> list[Point]:
    found = []
    for cell in parts.finished:
        at, up = cell.estimate(x.name), cell.estimate(y.name)
        if at is not None and up is not None:
            name = ", ".join(value(v) for v in cell.values.values())
            found.append(Point(at * x.scale, up * y.scale, name))
    return found


def _draw(
    axes: Axes, points: Sequence[Point], best: Sequence[Point], shown: tuple[Metric, Metric],
    narrow: bool,
) -> None:  # fmt: skip
    axes.plot([p.x for p in points], [p.y for p in points], "o", color=light("future"),
              markersize=6)  # fmt: skip
    axes.step([p.x for p in best], [p.y for p in best], where="post", color=light("written"))
    axes.plot([p.x for p in best], [p.y for p in best], "o", color=light("written"), markersize=7)
    _wide(axes, [p.x for p in points])
    axes.set_ylim(bottom=0)
    axes.margins(x=0.12)
    axes.set_xlabel(f"{shown[0].label}{shown[0].unit}")
    axes.set_ylabel(f"{shown[1].label}{shown[1].unit}")
    axes.yaxis.set_major_formatter(lambda number, _: f"{number:,.6g}")
    for point in () if narrow else _named(best, axes):
        axes.annotate(point.name, (point.x, point.y), xytext=(8, -12), textcoords="offset points",
                      fontsize=10, color=light("muted"))  # fmt: skip


def _named(best: Sequence[Point], axes: Axes) -> Sequence[Point]:
    """Not all: names would lie on each other."""
    kept: list[tuple[float, float]] = []
    named = []
    for point in best:
        x, y = axes.transAxes.inverted().transform(axes.transData.transform((point.x, point.y)))
        if all(abs(x - a) > NAME_WIDE or abs(y - b) > NAME_HIGH for a, b in kept):
            kept.append((x, y))
            named.append(point)
    return named


def _on_each_other(best: Sequence[Point]) -> str:
    """Which dots of the line nobody can tell apart."""
    close = [
        point for one, other in pairwise(best) if _same_place(one, other) for point in (one, other)
    ]
    names = list(dict.fromkeys(point.name for point in close))
    if not names:
        return ""
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return f" Dots that nearly hide each other: {'; '.join(names[:MOST_NAMES])}{more}."


def _same_place(one: Point, other: Point) -> bool:
    near = SAME * max(abs(one.y), abs(other.y))
    return abs(one.x - other.x) <= SAME * abs(other.x) and abs(one.y - other.y) <= near


def _wide(axes: Axes, values: Sequence[float]) -> None:
    """A log scale, ticks at powers of ten, where the values span a lot."""
    if min(values) > 0 and max(values) > LOG_FROM * min(values):
        axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda number, _: f"{number:,.6g}")
