"""Where a search looks: places from low to high, and the value of the key at each.

A list has its indices for places, whole numbers their multiples, real numbers themselves; ranges
above 0 are halved by their ratio, so that each step takes as much off in proportion.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from wastesim.config.search import Search


@dataclass(frozen=True)
class Axis:
    """Places `low` to `high`; `step` is 0 where any number will do."""

    low: float
    high: float
    step: float = 0.0
    choices: Sequence[Any] = ()
    tolerance: float = 0.0
    factor: int = 0  # whole numbers: place times this is the value

    def value(self, place: float) -> Any:
        """The key's value there."""
        if self.choices:
            return self.choices[round(place)]
        return round(place) * self.factor if self.factor else place

    def place(self, value: Any) -> float:
        """Where a value is that was looked at."""
        if self.choices:
            return float(list(self.choices).index(value))
        return float(value / self.factor if self.factor else value)

    def middle(self, one: float, other: float) -> float | None:
        """Half way; None when the two are close enough or have nothing between them."""
        low, high = sorted((one, other))
        if self._close(low, high):
            return None
        half = math.sqrt(low * high) if low > 0 and not self.choices else (low + high) / 2
        if not self.step:
            return half
        half = float(math.floor(half))
        half = half if half > low else low + 1
        return half if half < high else None

    def within(self, share: float, one: float, other: float) -> float:
        """The place at that share of the way; on a ratio scale where places are above 0."""
        if one > 0 and other > 0 and not self.choices:
            place = one * (other / one) ** share
        else:
            place = one + (other - one) * share
        return float(round(place)) if self.step else place

    def _close(self, low: float, high: float) -> bool:
        if self.choices:
            return high - low <= 1
        return high - low <= max(self.step, self.tolerance * abs(high))

    @property
    def places(self) -> list[float]:
        """Every place, where they can be counted."""
        if not self.step:
            return []
        return [self.low + i for i in range(int(self.high - self.low) + 1)]


def axis_of(search: Search) -> Axis:
    """The axis of a search, whose config has seen that a multiple lies in its range."""
    if search.among is not None:
        return Axis(0, len(search.among) - 1, 1, search.among, search.tolerance)
    low, high = search.between or (0.0, 0.0)
    if search.multiple_of is None:
        return Axis(low, high, 0, (), search.tolerance)
    m = search.multiple_of
    return Axis(math.ceil(low / m), math.floor(high / m), 1, (), search.tolerance, m)
