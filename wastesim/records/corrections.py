"""Shares of tick rows that are known better later: when a client gives up, see `hindsight`."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from wastesim.records.rows import Array

#: What is added to each share, in the order in which corrections name them.
SHIFTED = ("future", "unused", "padding")
FIELDS = ("begin", "end", *SHIFTED)


def as_rows(corrections: Iterable[tuple[int, ...]]) -> Array:
    """Corrections as rows of `FIELDS`."""
    rows: Array = np.array(list(corrections), dtype=np.int64).reshape(-1, len(FIELDS))
    return rows


def apply(corrections: Array, ticks: dict[str, Array], first: int = 0) -> Array:
    """Add them to the ticks, whose first has the number `first`; returns what reaches further."""
    if not len(corrections):
        return corrections
    count = len(ticks["t_s"])
    begin, end = (np.clip(corrections[:, side] - first, 0, count) for side in (0, 1))
    for column, name in enumerate(SHIFTED, start=2):
        changes = np.zeros(count + 1, dtype=np.int64)
        np.add.at(changes, begin, corrections[:, column])
        np.add.at(changes, end, -corrections[:, column])
        ticks[name] = ticks[name] + np.cumsum(changes)[:count]
    further: Array = corrections[corrections[:, 1] > first + count]
    return further
