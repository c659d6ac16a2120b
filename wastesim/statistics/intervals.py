"""Student's t intervals.  Undefined is None: one value has no spread."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64] | Sequence[float]
LEVEL = 0.95
#: Below so many values the lag-1 correlation says nothing.
FEWEST_FOR_LAG = 8
MOST_LAG = 0.8


class Interval(NamedTuple):
    """An estimate with the interval that covers the truth in `level` of all repetitions."""

    estimate: float | None
    low: float | None
    high: float | None
    n: int
    level: float = LEVEL

    @property
    def half_width(self) -> float | None:
        """Half the interval's length."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2

    @property
    def is_cut(self) -> bool:
        """Whether the estimate is not in the middle: an end is where the possible ends."""
        if self.estimate is None or self.low is None or self.high is None:
            return False
        below, above = self.estimate - self.low, self.high - self.estimate
        return not math.isclose(below, above, rel_tol=0.01, abs_tol=1e-9 * abs(self.estimate))

    def holds(self, value: float) -> bool:
        """Whether `value` is inside; an interval without ends holds everything."""
        return self.low is None or self.high is None or self.low <= value <= self.high


def of_mean(values: Floats, level: float = LEVEL, *, correlated: bool = False) -> Interval:
    """The mean of independent values; `correlated` widens it by their lag-1 correlation."""
    return of_ratio(values, np.ones(len(values)), level, correlated=correlated)


def of_paired(one: Floats, other: Floats, level: float = LEVEL) -> Interval:
    """The mean of `other - one`, value by value: what common random numbers are for."""
    return of_mean(np.subtract(other, one, dtype=np.float64), level)


def of_ratio(
    parts: Floats, wholes: Floats, level: float = LEVEL, *, correlated: bool = False
) -> Interval:
    """`sum parts / sum wholes` over independent pairs, by the delta method.

    The residuals ``parts - ratio * wholes`` have mean 0; their spread over the mean whole is the
    ratio's standard error.  With equal wholes this is the interval of a mean.
    """
    x, y = np.asarray(parts, dtype=np.float64), np.asarray(wholes, dtype=np.float64)
    n, whole = len(x), float(y.sum())
    if not n or not whole:
        return Interval(None, None, None, n, level)
    ratio = float(x.sum()) / whole
    if n < 2:
        return Interval(ratio, None, None, n, level)
    residuals = x - ratio * y
    variance = float(residuals @ residuals) / (n - 1) * (_inflation(residuals) if correlated else 1)
    half = quantile(n - 1, level) * math.sqrt(variance / n) / abs(whole / n)
    return Interval(ratio, ratio - half, ratio + half, n, level)


def quantile(freedom: int, level: float) -> float:
    """Student's t that `level` of the distribution lies within, on both sides of 0."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + level) / 2))


def lag1(residuals: Floats) -> float:
    """The correlation of neighbours, of values whose mean is 0; 0 for too few or equal ones."""
    e = np.asarray(residuals, dtype=np.float64)
    power = float(e @ e)
    return float(e[:-1] @ e[1:]) / power if len(e) >= FEWEST_FOR_LAG and power > 0 else 0.0


def _inflation(residuals: Floats) -> float:
    """What a mean's variance gains by positive correlation of neighbours, as in an AR(1)."""
    rho = lag1(residuals) + 1 / len(residuals)  # the estimate is low by about 1/n
    rho = min(max(rho, 0.0), MOST_LAG)
    return (1 + rho) / (1 - rho)
