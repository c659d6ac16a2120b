"""The pictures of a sweep, chosen from what was varied: lines, dots, a heat map, a front."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from wastesim.report.figures.canvas import Picture
from wastesim.report.figures.render import Drawn, draw
from wastesim.report.figures.sweep_dots import dots
from wastesim.report.figures.sweep_heat import heat
from wastesim.report.figures.sweep_lines import lines
from wastesim.report.figures.sweep_pareto import pareto
from wastesim.report.sweep_parts import Parts

#: Says what a sweep's picture shows; None when there is nothing to draw.
Plan = Callable[[Parts], Picture | None]
PLANS: dict[str, Plan] = {"lines": lines, "dots": dots, "heat": heat, "pareto": pareto}


def draw_sweep(parts: Parts, folder: Path) -> tuple[list[Drawn], list[str]]:
    """Draw every picture that fits; one that fails becomes a warning."""
    drawn: list[Drawn] = []
    warnings: list[str] = []
    for name, plan in PLANS.items():
        try:
            picture = plan(parts)
            if picture is not None:
                drawn.append(draw(picture, folder))
        except Exception as error:  # whatever goes wrong in a picture, the numbers are kept
            warnings.append(f"figure '{name}' could not be drawn: {type(error).__name__}: {error}")
    return drawn, warnings
