"""How a run settled: running requests over time, and where MSER-5 cuts the warm-up off."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from wastesim.records import Records
from wastesim.report.figures.canvas import Picture
from wastesim.report.figures.render import Drawn, draw
from wastesim.report.palette import light
from wastesim.report.text import seconds
from wastesim.statistics.steadiness import Part, steady_part
from wastesim.statistics.warmup import GROUP

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw_warmups(
    runs: Sequence[tuple[str, Records]], folder: Path
) -> tuple[list[Drawn], list[str]]:
    """One picture per run; one that fails becomes a warning."""
    drawn: list[Drawn] = []
    warnings: list[str] = []
    for index, (name, records) in enumerate(runs):
        try:
            picture = warmup(records, name, f"warmup_{index + 1}")
            if picture is not None:
                drawn.append(draw(picture, folder))
        except Exception as error:  # whatever goes wrong in a picture, the numbers are kept
            warnings.append(f"figure of {name} could not be drawn: {type(error).__name__}: {error}")
    return drawn, warnings


def warmup(records: Records, name: str, file: str = "warmup") -> Picture | None:
    """The warm-up of a run; None where none was looked for."""
    part = steady_part(records)
    if part.cut is None or part.window is None or not len(part.cut.curve):
        return None

    def paint(figure: Figure, narrow: bool) -> None:
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
        _level(upper, part)
        _curve(lower, part)
        upper.set_ylabel("running" if narrow else "running requests")
        lower.set_ylabel("MSER-5")
        lower.set_xlabel("simulated time (s)")

    cut_s = part.window.from_s - float(part.edges[0])
    doubt = "" if part.cut.settled else ", and is not certain"
    words = f"{name}: MSER-5 leaves out the first {seconds(cut_s)}{doubt}"
    caption = (
        "Above, running requests in a thousand equal windows between first and last arrival, grey"
        " where they are left out. Below, the statistic when everything before that moment is left"
        " out, on a log scale: its minimum in the first half is the cut."
    )
    return Picture(file, words, caption, paint, 340, 320)


def _level(axes: Axes, part: Part) -> None:
    middles = (part.edges[:-1] + part.edges[1:]) / 2
    cut = part.cut.values if part.cut else 0
    axes.plot(middles[: cut + 1], part.series[: cut + 1], color=light("muted"), linewidth=1)
    axes.plot(middles[cut:], part.series[cut:], color=light("written"), linewidth=1)
    axes.axvline(float(part.edges[cut]), color=light("unused"), linewidth=1.2)
    axes.set_ylim(bottom=0)


def _curve(axes: Axes, part: Part) -> None:
    if part.cut is None:
        return
    places = [float(part.edges[GROUP * d]) for d in range(len(part.cut.curve))]
    axes.plot(places, part.cut.curve, color=light("stranded"), linewidth=1.2)
    axes.axvline(float(part.edges[part.cut.values]), color=light("unused"), linewidth=1.2)
    if (part.cut.curve > 0).all():
        axes.set_yscale("log")
        axes.set_yticks([])
        axes.minorticks_off()
