"""Totals of a long run: integers beyond 64 bits, and their floats as Python's own would be."""

from __future__ import annotations

import numpy as np

from wastesim.engine.leap.clocks.protocol import Expanded
from wastesim.records import Array

#: Sums of 64-bit integers stay below.
LIMIT = 1 << 62
#: What is left of a total above `LIMIT` has more bits than a float.
_ENOUGH = 1 << 58
#: So many bits at most can be left out at once.
_MOST_BITS = 61


def within(busy: Expanded, firsts: Array, amounts: Array) -> Array:
    """`amounts` added up within each busy time, which begins at `firsts`; exact.

    Beyond `LIMIT` they are Python's integers.
    """
    if float(amounts.sum(dtype=np.float64)) >= LIMIT:
        amounts = amounts.astype(object)
    sums = np.cumsum(amounts)
    inside = np.minimum(firsts, len(sums) - 1)  # a busy time may have no ticks yet
    found: Array = sums - busy.each(sums[inside] - amounts[inside])
    return found


def as_floats(carried: int, sums: Array) -> Array:
    """``float(carried + s)`` for each s of `sums`, none negative: rounded once.

    Bits beyond 62 are left out below, and the lowest that is kept says whether any of them was
    set: a float has 53, so that no more of them matters (a sticky bit).
    """
    top = carried + int(sums.max(initial=0))
    drop = top.bit_length() - 62
    if drop <= 0 and sums.dtype != object:
        return (carried + sums).astype(np.float64)
    if sums.dtype == object or carried < _ENOUGH or drop > _MOST_BITS:
        return (carried + sums.astype(object)).astype(np.float64)
    low = (1 << drop) - 1
    left = (sums & low) + (carried & low)
    kept = (sums >> drop) + (carried >> drop) + (left >> drop)
    found: Array = np.ldexp((kept | ((left & low) != 0)).astype(np.float64), drop)
    return found
