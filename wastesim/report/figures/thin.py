"""Fewer points, the same integrals: nothing is sampled, everything is averaged exactly.

A tick's numbers hold over [t, t + dt), so a column is a step function.  Its mean over a bin is
the difference of its running integral at the bin's ends, which is piecewise linear.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from wastesim.records import Array


class Steps(NamedTuple):
    """A step function: `values[i]` over [edges[i], edges[i + 1])."""

    edges: Array
    values: Array


def bin_edges(t_s: Array, dt_s: Array, bins: int) -> Array:
    """The ticks' own edges when they are few and without gaps, equal bins otherwise."""
    ends = t_s + dt_s
    contiguous = len(t_s) < 2 or bool(np.allclose(ends[:-1], t_s[1:], rtol=1e-12, atol=1e-12))
    if contiguous and len(t_s) <= bins:
        return np.append(t_s, ends[-1])
    return np.linspace(t_s[0], ends[-1], bins + 1)


def means(t_s: Array, dt_s: Array, values: Array, edges: Array) -> Array:
    """The mean of `values` over each bin; time that no tick covers counts as zero."""
    knots = np.column_stack([t_s, t_s + dt_s]).ravel()
    grown = np.cumsum(values * dt_s)
    integral = np.column_stack([np.concatenate([[0.0], grown[:-1]]), grown]).ravel()
    at_edges = np.interp(edges, knots, integral)
    averages: Array = np.diff(at_edges) / np.diff(edges)
    return averages


def extremes(t_s: Array, dt_s: Array, values: Array, edges: Array) -> tuple[Array, Array]:
    """The least and greatest value that holds somewhere in each bin."""
    first = np.searchsorted(t_s + dt_s, edges[:-1], side="right").clip(0, len(t_s) - 1)
    last = np.searchsorted(t_s, edges[1:], side="left").clip(1, len(t_s))
    pairs = [(values[a : max(b, a + 1)]) for a, b in zip(first, last, strict=True)]
    low = np.array([part.min() for part in pairs], dtype=float)
    high = np.array([part.max() for part in pairs], dtype=float)
    return low, high


def group_means(values: Array, groups: int) -> Steps:
    """Consecutive values averaged in at most `groups` equal groups; edges are ranks."""
    edges = np.unique(np.linspace(0, len(values), min(groups, len(values)) + 1).round().astype(int))
    total = np.concatenate([[0.0], np.cumsum(values)])
    return Steps(edges, np.diff(total[edges]) / np.diff(edges))
