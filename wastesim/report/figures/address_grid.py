"""Many spans on few pixels, exactly: the held and written part of each address-by-time cell.

A rectangle covers bin k of an axis by R_k(stop) - R_k(start) with R_k(x) = clip(x - k, 0, 1),
and R_k is a reverse cumulative sum of two entries.  So each rectangle is four corners of four
entries, whatever its size, and two cumulative sums give the covered area of every cell.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from wastesim.records import Array
from wastesim.report.figures.holdings import Holdings, written_at


def covered(x0: Array, x1: Array, y0: Array, y1: Array, shape: tuple[int, int]) -> Array:
    """The covered part of each cell of a (y, x) grid, from rectangles in units of cells."""
    rows, columns = shape[0] + 1, shape[1] + 1
    corners = np.zeros(rows * columns)
    for sign, x, y in ((1, x1, y1), (-1, x0, y1), (-1, x1, y0), (1, x0, y0)):
        for row, by in _entries(y, shape[0]):
            for column, bx in _entries(x, shape[1]):
                at, part = row * columns + column, sign * by * bx
                corners += np.bincount(at, weights=part, minlength=len(corners))
    mirrored = corners.reshape(rows, columns)[::-1, ::-1]
    area: Array = mirrored.cumsum(axis=0).cumsum(axis=1)[::-1, ::-1]
    return area[1:, 1:]


def _entries(x: Array, bins: int) -> tuple[tuple[Array, Array], ...]:
    """Where R(x) has its entries (shifted by one: entry 0 is before the axis), and how large."""
    x = np.clip(x, 0, bins)
    whole = np.minimum(np.floor(x).astype(np.int64), bins - 1)
    part = x - whole
    return (whole + 1, part), (whole, 1 - part)


class Window(NamedTuple):
    """A part of the plane: its time, and its cells from the address `first` on."""

    start_s: float
    end_s: float
    cells: int
    first: int = 0


def grid(held: Holdings, window: Window, shape: tuple[int, int]) -> tuple[Array, Array, Array]:
    """(held, ever written, written so far): parts of each cell of an (address, time) grid."""
    per_s, per_cell = shape[1] / (window.end_s - window.start_s), shape[0] / window.cells
    x0, x1 = (held.from_s - window.start_s) * per_s, (held.to_s - window.start_s) * per_s
    start = held.start - window.first
    bottom = start * per_cell
    whole = covered(x0, x1, bottom, (held.stop - window.first) * per_cell, shape)
    final = covered(x0, x1, bottom, (start + held.last_written) * per_cell, shape)
    index, left, right = _slices(x0.clip(0, shape[1]), x1.clip(0, shape[1]))
    middle_s = window.start_s + (left + right) / 2 / per_s
    top = start[index] + written_at(held, index, middle_s)
    return whole, final, covered(left, right, bottom[index], top * per_cell, shape)


def _slices(x0: Array, x1: Array) -> tuple[Array, Array, Array]:
    """Cut intervals at whole numbers: (interval, left, right) of each piece."""
    pieces = np.maximum(1, np.ceil(x1) - np.floor(x0)).astype(np.int64)
    index = np.repeat(np.arange(len(x0)), pieces)
    nth = np.arange(len(index)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    base = np.floor(x0)[index] + nth
    return index, np.maximum(base, x0[index]), np.minimum(base + 1, x1[index])
