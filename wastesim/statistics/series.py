"""A run's levels, events and requests within ``[from_s, until_s)``, cut into batches.

A level (running requests, written cells) holds over each tick: its integral is exact between any
two moments.  What counts per step is cut into equal numbers of steps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from wastesim.records import RESERVED, Array, Records


class Window(NamedTuple):
    """A part of simulated time."""

    from_s: float
    until_s: float

    @property
    def length_s(self) -> float:
        """Its length."""
        return self.until_s - self.from_s

    def edges(self, batches: int) -> Array:
        """Ends of equal parts."""
        return np.linspace(self.from_s, self.until_s, batches + 1)


def integrals(records: Records, values: Array, edges: Array) -> Array:
    """The integral over time of a level between each two edges."""
    ticks = records.ticks
    begins, dt_s = ticks["t_s"], ticks["dt_s"]
    moments = np.append(begins, begins[-1] + dt_s[-1]) if len(begins) else np.zeros(1)
    running = np.concatenate([[0.0], np.cumsum(values * dt_s)])
    found: Array = np.diff(np.interp(edges, moments, running))
    return found


def reserved(records: Records) -> Array:
    """Cells that requests hold, by tick."""
    total: Array = np.sum([records.ticks[name] for name in RESERVED], axis=0)
    return total


def steps_within(records: Records, window: Window) -> Array:
    """Mask of the rows of ticks that ran something and begin in the window."""
    ticks = records.ticks
    mask: Array = (
        (records.steps > 0) & (ticks["t_s"] >= window.from_s) & (ticks["t_s"] < window.until_s)
    )
    return mask


def per_step(records: Records) -> tuple[Array, Array]:
    """Written and reserved cells, added up over the steps that each row of ticks stands for."""
    ticks = records.ticks
    if records.streamed is None:
        return ticks["written"], reserved(records)
    return ticks["step_written"], ticks["step_reserved"]


def events(times_s: Array, edges: Array) -> Array:
    """How many of the moments lie between each two edges."""
    known = times_s[~np.isnan(times_s)]
    found: Array = np.diff(np.searchsorted(np.sort(known), edges)).astype(np.float64)
    return found


def output_tokens(records: Records, edges: Array) -> Array:
    """Tokens generated between each two edges: those of decoding, and first tokens."""
    ticks = records.ticks
    rates = np.divide(
        ticks["decode_tokens"],
        ticks["dt_s"],
        out=np.zeros(len(ticks["dt_s"])),
        where=ticks["dt_s"] > 0,
    )
    first = events(records.requests["first_token_s"], edges) * records.requests_per_row
    total: Array = integrals(records, rates, edges) + first
    return total


def completed_within(records: Records, window: Window) -> Array:
    """Indices of the completed requests that arrived in the window, in order of arrival."""
    rows = records.requests
    mask = (rows["status"] == "completed") & (rows["arrival_s"] >= window.from_s)
    inside = np.flatnonzero(mask & (rows["arrival_s"] <= window.until_s))
    found: Array = inside[np.argsort(rows["arrival_s"][inside], kind="stable")]
    return found


def latencies(records: Records, indices: Array) -> dict[str, Array]:
    """`ttft_s`, `tpot_s` (NaN where O = 1) and `e2el_s` of some completed requests."""
    rows = records.requests
    arrival, outputs = rows["arrival_s"][indices], rows["output_tokens"][indices]
    ttft = rows["first_token_s"][indices] - arrival
    e2el = rows["finished_s"][indices] - arrival
    tpot = np.full(len(indices), np.nan)
    np.divide(e2el - ttft, outputs - 1, out=tpot, where=outputs > 1)
    return {"ttft_s": ttft, "tpot_s": tpot, "e2el_s": e2el}
