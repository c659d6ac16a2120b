"""Golden section on noisy answers: the highest place, if the way up and down has one summit.

Two places are compared by the mean of their paired differences, run by run with the same seeds.
Few places are all looked at: then nothing is assumed of the way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from wastesim.statistics import Interval, of_paired
from wastesim.sweep.axes import Axis

GOLDEN = (math.sqrt(5) - 1) / 2
#: So many places are all looked at.
ALL = 8

#: The answer at a place by replication, higher is better; None when the search was stopped.
Height = Callable[[float], Mapping[int, float] | None]


def best_of(
    axis: Axis, height: Height, level: float, most: int
) -> tuple[float | None, list[float]]:
    """The best place, and those whose difference from it may be luck; None when stopped."""
    known: dict[float, Mapping[int, float]] = {}
    if axis.step and len(axis.places) <= min(ALL, most):
        finished = all(_look(place, height, known) for place in axis.places)
    else:
        finished = _narrow(axis, height, known, most)
    judged = {place: values for place, values in known.items() if values}
    if not finished or not judged:
        return None, []
    best = max(judged, key=lambda place: sum(judged[place].values()) / len(judged[place]))
    others = {place: values for place, values in judged.items() if place != best}
    ties = [p for p, values in others.items() if _less(judged[best], values, level).holds(0.0)]
    return best, ties


def _narrow(axis: Axis, height: Height, known: dict[float, Mapping[int, float]], most: int) -> bool:
    low, high = axis.low, axis.high
    while len(known) < most and axis.middle(low, high) is not None:
        left, right = axis.within(1 - GOLDEN, low, high), axis.within(GOLDEN, low, high)
        if left >= right:  # whole places that have come together
            left, right = low, min(high, low + 1)
        if not (_look(left, height, known) and _look(right, height, known)):
            return False
        ahead = _less(known[left], known[right], 0.95).estimate
        rises = ahead is not None and ahead > 0 if known[left] and known[right] else not known[left]
        if (left, right) == (low, min(high, low + 1)):
            low, high = (right, high) if rises else (low, left)
        else:
            low, high = (left, high) if rises else (low, right)
    return _look(low, height, known) and _look(high, height, known)


def _look(place: float, height: Height, known: dict[float, Mapping[int, float]]) -> bool:
    """Whether the place is known now."""
    if place not in known:
        found = height(place)
        if found is None:
            return False
        known[place] = found
    return True


def _less(one: Mapping[int, float], other: Mapping[int, float], level: float) -> Interval:
    """Other minus one, over the replications that both have."""
    both = sorted(set(one) & set(other))
    return of_paired([one[r] for r in both], [other[r] for r in both], level)
