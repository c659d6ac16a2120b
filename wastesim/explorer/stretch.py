"""Which part of the runs the map shows: where its boxes are complete, and few enough to ship.

The boxes of a run are held to its ledger: in every tick shown they add up to the reserved cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from wastesim.explorer.spans import Boxes, held_at
from wastesim.records import Array, Records

#: Boxes on one page; gzipped they take about 12 bytes each.
MOST_BOXES = 300_000
_HOLES = (
    "more was held than was recorded span by span, so what is blank on its map is not known;"
    " its shares are whole."
)
_LEAST = 0.02  # a complete part shorter than this share of the run is not worth showing alone


class Stretch(NamedTuple):
    """From when to when the map goes, and what is to be said of it.

    Of the runs named in `holes` more was held than was recorded span by span.
    """

    from_s: float
    to_s: float
    partial: bool
    notes: list[str]
    holes: list[str]


class Drawn(NamedTuple):
    """A run and its boxes."""

    name: str
    records: Records
    boxes: Boxes


def stretch(runs: Sequence[Drawn], most: int = MOST_BOXES) -> Stretch:
    """One stretch for all runs, so that they share the time axis."""
    begin = min(_span(run.records)[0] for run in runs)
    end = max(_span(run.records)[1] for run in runs)
    notes: list[str] = []
    holes: list[str] = []
    whole = begin, end
    for run in runs:
        first, last = complete(run.records, run.boxes)
        whole_from, whole_to = _span(run.records)
        if last - first < _LEAST * (whole_to - whole_from):
            holes.append(run.name)
            notes.append(f"{run.name}: {_HOLES}")
        elif (first, last) != (whole_from, whole_to):
            begin, end = max(begin, first), min(end, last)
            notes.append(f"{run.name}: outside that, more was held than was recorded span by span.")
    begin, end, halved = _few_enough(runs, begin, end, most)
    if halved:
        notes.append("Outside that there are more boxes than one page should carry.")
    return Stretch(begin, end, (begin, end) != whole, notes, holes)


def complete(records: Records, boxes: Boxes) -> tuple[float, float]:
    """The longest time in which the boxes add up to the ledger's reserved cells."""
    ticks, held = records.ticks, boxes.held
    reserved = sum(ticks[name] for name in ("written", "future", "unused", "padding"))
    agrees = held_at(held, held.stop - held.start, ticks["t_s"]) == reserved
    edges = np.flatnonzero(np.diff(np.concatenate([[0], agrees.astype(int), [0]])))
    if not len(edges):
        return 0.0, 0.0
    begins, ends = edges[::2], edges[1::2]
    from_s, to_s = ticks["t_s"][begins], (ticks["t_s"] + ticks["dt_s"])[ends - 1]
    longest = int(np.argmax(to_s - from_s))
    return float(from_s[longest]), float(to_s[longest])


def inside(boxes: Boxes, from_s: float, to_s: float) -> Array:
    """Which boxes are held at some time of the stretch."""
    mask: Array = (boxes.held.to_s > from_s) & (boxes.held.from_s < to_s)
    return mask


def _few_enough(
    runs: Sequence[Drawn], begin: float, end: float, most: int
) -> tuple[float, float, bool]:
    """The middle of the stretch, halved until its boxes are few enough, or it is a moment."""
    halved, shortest = False, (end - begin) / 1000
    while sum(int(inside(boxes, begin, end).sum()) for _, _, boxes in runs) > most:
        begin, end = (3 * begin + end) / 4, (begin + 3 * end) / 4
        halved = True
        if end - begin < shortest:
            break
    return begin, end, halved


def _span(records: Records) -> tuple[float, float]:
    ticks = records.ticks
    if not len(ticks["t_s"]):
        return 0.0, 0.0
    return float(ticks["t_s"][0]), float(ticks["t_s"][-1] + ticks["dt_s"][-1])
