"""Tracks of the timeline: one per request, or lanes that many requests take in turn."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import NamedTuple

from wastesim.report.timeline_phases import Life

#: More tracks than this nobody scrolls through.
MOST_TRACKS = 1000


class Lane(NamedTuple):
    """One track, and the requests on it, which do not overlap."""

    name: str
    lives: list[Life]


def lanes(lives: Sequence[Life]) -> list[Lane]:
    """A track per request while they are few; else lanes, in which waiting is left out."""
    if len(lives) <= MOST_TRACKS:
        return [Lane(f"request {life.request_id}", [life]) for life in lives]
    served = [_served(life) for life in lives if life.end_s > life.admitted_s]
    return _packed(sorted(served, key=lambda life: life.begin_s))


def _served(life: Life) -> Life:
    """From its admission on: what waits is a counter, and would need a lane each."""
    phases = [phase for phase in life.phases if phase[0] != "waiting"]
    return life._replace(begin_s=life.admitted_s, phases=phases)


def _packed(lives: Sequence[Life]) -> list[Lane]:
    """Each takes the lowest lane that is free when it begins."""
    made: list[Lane] = []
    busy: list[tuple[float, int]] = []
    free: list[int] = []
    for life in lives:
        while busy and busy[0][0] <= life.begin_s:
            heapq.heappush(free, heapq.heappop(busy)[1])
        lane = heapq.heappop(free) if free else len(made)
        if lane == len(made):
            made.append(Lane(f"lane {lane + 1}", []))
        made[lane].lives.append(life)
        heapq.heappush(busy, (life.end_s, lane))
    return made
