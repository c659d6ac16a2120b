"""Many values in little memory: exact count and sum, quantiles within a stated relative error.

A positive value falls in the bin ``k`` with ``g^(k-1) < x <= g^k``, ``g = (1 + a) / (1 - a)``; the
bin's number, ``2 g^k / (g + 1)``, is within ``a`` of every value in it (as in DDSketch, Masson,
Rim and Lee, 2019).  Order statistics are therefore found within ``a``, and so is what is
interpolated between two of them.  Memory goes with the logarithm of the values' range.
"""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

from wastesim.records.rows import Array

#: Smaller than what any clock of a simulation resolves, and 2,300 bins per factor of 100.
ACCURACY = 0.001


class Exact:
    """All values, for runs that are kept."""

    def __init__(self) -> None:
        self._values = np.empty(0)

    def add(self, values: Array) -> None:
        """Take values."""
        self._values = np.concatenate([self._values, values]) if len(self._values) else values

    def mean(self) -> float | None:
        """None of nothing."""
        return float(self._values.mean()) if len(self._values) else None

    def quantiles(self, wanted: list[float]) -> list[float] | None:
        """By linear interpolation between order statistics."""
        if not len(self._values):
            return None
        found: list[float] = np.quantile(self._values, wanted).tolist()
        return found


class Sketch:
    """Counts per bin, for runs that are streamed.  Values must not be negative."""

    def __init__(self, accuracy: float = ACCURACY) -> None:
        self._log_base = math.log1p(accuracy) - math.log1p(-accuracy)
        self._half = (1 + math.exp(self._log_base)) / 2
        self._bins: Counter[int] = Counter()
        self._zeros = 0
        self._sum = 0.0

    def add(self, values: Array) -> None:
        """Take values."""
        positive = values[values > 0]
        self._zeros += len(values) - len(positive)
        self._sum += float(values.sum())
        numbers, counts = np.unique(
            np.ceil(np.log(positive) / self._log_base).astype(np.int64), return_counts=True
        )
        self._bins.update(dict(zip(numbers.tolist(), counts.tolist(), strict=True)))

    def mean(self) -> float | None:
        """Exact but for rounding; None of nothing."""
        count = self._zeros + self._bins.total()
        return self._sum / count if count else None

    def quantiles(self, wanted: list[float]) -> list[float] | None:
        """By linear interpolation between order statistics, each within the accuracy."""
        numbers = sorted(self._bins)
        upto = np.cumsum([self._zeros, *(self._bins[number] for number in numbers)])
        if not upto[-1]:
            return None
        values = np.array([0.0, *(math.exp(k * self._log_base) / self._half for k in numbers)])
        at = np.array(wanted) * (int(upto[-1]) - 1)
        low, high = (
            values[np.searchsorted(upto, rank, side="right")]
            for rank in (np.floor(at), np.ceil(at))
        )
        found: list[float] = (low + (high - low) * (at - np.floor(at))).tolist()
        return found
