"""How many requests fit, and what share is written, by formula: estimates, not simulations.

Letters: request i has `p` prompt and `o` output tokens and runs for `o` ticks; in its k-th tick
(k = 0 .. o - 1) it has `t = p + k` written cells.  `C` is the capacity in cells.  When requests
queue, the mean of what a running request holds is taken over ticks, so each counts `o` times:

    fit     = C / (sum of held cells over all ticks / sum o)
    written = sum of written cells over all ticks / sum of held cells over all ticks

They leave out fragmentation, preemption, watermarks and the ticks of a split prefill.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from wastesim.records import Array
from wastesim.report.lengths import Lengths


class Estimate(NamedTuple):
    """Requests that memory holds at once, and the written share of what they reserve."""

    fit: int | None
    written: float | None


def written_cell_ticks(lengths: Lengths) -> int:
    """sum over requests of sum_{t = p}^{p + o - 1} t = o (2 p + o - 1) / 2."""
    p, o = lengths
    return int((o * (2 * p + o - 1)).sum()) // 2


def slots(lengths: Lengths, capacity_cells: int, slot_cells: int) -> Estimate:
    """Every request holds `S` cells: fit = C // S, written = sum t / (S sum o)."""
    held = slot_cells * int(lengths.output.sum())
    return Estimate(capacity_cells // slot_cells, _ratio(written_cell_ticks(lengths), held))


def exact(lengths: Lengths, capacity_cells: int) -> Estimate:
    """Every request holds the `p + o - 1` cells that it will write:

    fit = C sum o / sum o (p + o - 1), written = sum t / sum o (p + o - 1).
    """
    p, o = lengths
    return _estimate(lengths, capacity_cells, int((o * (p + o - 1)).sum()))


def paged(lengths: Lengths, capacity_cells: int, block_size: int) -> Estimate:
    """Every request holds whole blocks of `b` cells, as many as its written cells need:

    written = sum t / (b sum ceil(t / b)) over t = p .. p + o - 1, fit = C sum o / (b sum ceil).
    """
    p, o = lengths
    blocks = _sum_of_ceilings(p + o - 1, block_size) - _sum_of_ceilings(p - 1, block_size)
    return _estimate(lengths, capacity_cells, block_size * int(blocks.sum()))


def _sum_of_ceilings(n: Array, b: int) -> Array:
    """sum_{t = 1}^{n} ceil(t / b) = b q (q + 1) / 2 + r (q + 1) with n = q b + r."""
    q, r = n // b, n % b
    total: Array = b * (q * (q + 1) // 2) + r * (q + 1)
    return total


def _estimate(lengths: Lengths, capacity_cells: int, held: int) -> Estimate:
    steps = int(lengths.output.sum())
    fit = math.floor(capacity_cells * steps / held) if held else None
    return Estimate(fit, _ratio(written_cell_ticks(lengths), held))


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None
