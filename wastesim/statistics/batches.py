"""Batch means: one long series is cut into batches whose means are nearly independent.

The means of neighbouring batches still lean on each other where batches are short; the interval is
widened by what is left of their correlation.
"""

from __future__ import annotations

import numpy as np

from wastesim.statistics.intervals import LEVEL, Floats, Interval, of_ratio

#: More batches make the spread surer, fewer make them independent: the usual compromise.
BATCHES = 30
FEWEST = 10


def of_series(values: Floats, level: float = LEVEL, batches: int = BATCHES) -> Interval:
    """The mean of a correlated series whose mean does not move."""
    return of_pairs(values, np.ones(len(values)), level, batches)


def of_pairs(
    parts: Floats, wholes: Floats, level: float = LEVEL, batches: int = BATCHES
) -> Interval:
    """`sum parts / sum wholes` of a correlated series of pairs; None for ends when it is short."""
    x, y = np.asarray(parts, dtype=np.float64), np.asarray(wholes, dtype=np.float64)
    if len(x) < 2 * FEWEST:
        total = float(y.sum())
        estimate = float(x.sum()) / total if total else None
        return Interval(estimate, None, None, 0, level)
    count = min(batches, len(x) // 2)
    begins = np.linspace(0, len(x), count, endpoint=False).astype(np.int64)
    sums = np.add.reduceat(x, begins), np.add.reduceat(y, begins)
    return of_ratio(*sums, level, correlated=True)
