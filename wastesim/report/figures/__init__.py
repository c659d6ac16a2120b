"""The pictures of a report.  Each has a file of its own that says what it found and draws it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from wastesim.records import Records
from wastesim.report.figures.batching import batching
from wastesim.report.figures.canvas import Picture
from wastesim.report.figures.concurrency import concurrency
from wastesim.report.figures.distributions import lengths
from wastesim.report.figures.latency import latency
from wastesim.report.figures.memory_map import memory_map
from wastesim.report.figures.render import Drawn, draw
from wastesim.report.figures.reservations import reservations
from wastesim.report.figures.shares import shares
from wastesim.report.text import count

#: Says what a run's picture shows; None when there is nothing to draw.
Plan = Callable[[Records, dict[str, Any]], Picture | None]

PLANS: dict[str, Plan] = {
    "shares": shares,
    "reservations": reservations,
    "concurrency": concurrency,
    "memory_map": memory_map,
    "lengths": lengths,
    "latency": latency,
    "batching": batching,
}
#: Pictures that are made from rows of requests.
OF_REQUESTS = ("reservations", "lengths", "latency")


def draw_all(
    records: Records, summary: dict[str, Any], folder: Path
) -> tuple[list[Drawn], list[str]]:
    """Draw every picture; one that fails becomes a warning."""
    drawn: list[Drawn] = []
    warnings: list[str] = []
    for name, plan in PLANS.items():
        try:
            picture = plan(records, summary)
            if picture is not None:
                drawn.append(draw(_of_a_sample(picture, records), folder))
        except Exception as error:  # whatever goes wrong in a picture, the numbers are kept
            warnings.append(f"figure '{name}' could not be drawn: {type(error).__name__}: {error}")
    return drawn, warnings


def _of_a_sample(picture: Picture, records: Records) -> Picture:
    """Says so where not every request is in the picture."""
    if records.streamed is None or picture.name not in OF_REQUESTS:
        return picture
    shown, all_ = len(records.requests["status"]), records.totals.requests.submitted
    words = f" Requests are a sample: {count(shown)} drawn evenly from {count(all_)}."
    return replace(picture, caption=picture.caption + words)


__all__ = ["PLANS", "Drawn", "Picture", "draw_all"]
