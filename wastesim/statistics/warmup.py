"""MSER-5: how much of a series' beginning to leave out (White, 1997; White and Spratt, 2000)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wastesim.statistics.intervals import Floats

GROUP = 5
#: A best cut in the second half says that the series never became steady.
MOST_SHARE = 0.5


class Truncation(NamedTuple):
    """What to leave out.  `curve[d]` is the statistic when the first `5 d` values are left out."""

    values: int
    settled: bool
    curve: npt.NDArray[np.float64]


def mser5(series: Floats) -> Truncation:
    """The cut that makes the mean of the rest surest.

    Of the means z of groups of five, MSER(d) = sum_{j >= d} (z_j - mean)^2 / (n - d)^2; the
    smallest d of the first half wins.  Where one of the second half is smaller still, the series
    had not become steady for certain: `settled` is false.
    """
    values = np.asarray(series, dtype=np.float64)
    n = len(values) // GROUP
    if n < 2:
        return Truncation(0, False, np.empty(0))
    groups = values[: n * GROUP].reshape(n, GROUP).mean(axis=1)
    groups = groups - groups.mean()  # smaller numbers, smaller rounding errors
    left = np.arange(n, 0, -1)
    sums = np.cumsum(groups[::-1])[::-1]
    squares = np.cumsum(groups[::-1] ** 2)[::-1]
    curve = np.maximum(squares - sums**2 / left, 0.0) / left**2
    considered = max(1, n - GROUP)  # the last few groups are always alike
    half = max(1, min(considered, int(MOST_SHARE * n)))
    cut = int(np.argmin(curve[:half]))
    settled = cut == int(np.argmin(curve[:considered]))
    return Truncation(GROUP * cut, settled, curve[:considered])
