"""Sums that stay exact: integers of any size from columns of 64 bits."""

from __future__ import annotations

from wastesim.records.rows import Array

_LOW = (1 << 32) - 1


def exact_sum(values: Array) -> int:
    """The sum of an integer column, also where 64 bits cannot hold it.

    Both halves of 2^31 numbers fit.
    """
    return (int((values >> 32).sum()) << 32) + int((values & _LOW).sum())
