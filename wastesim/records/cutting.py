"""Which rows a measured window holds, and what becomes of the others; see `wastesim.window`."""

from __future__ import annotations

import numpy as np

from wastesim.records.request_totals import OUTSIDE
from wastesim.records.rows import Array


def counts(ticks: dict[str, Array], from_s: float, stop_s: float) -> Array:
    """Which ticks count, if only with a part of their time."""
    t_s, runs = ticks["t_s"], ticks["running"] > 0
    begun = (t_s >= from_s) | (~runs & (t_s + ticks["dt_s"] > from_s))
    mask: Array = begun & (t_s < stop_s)
    return mask


def cut(ticks: dict[str, Array], from_s: float, stop_s: float) -> dict[str, Array]:
    """Ticks that count: those that ran and begin in the window, and sleep, cut at its edges."""
    kept = counts(ticks, from_s, stop_s)
    found = {name: column[kept] for name, column in ticks.items()}
    ends_s, slept = found["t_s"] + found["dt_s"], found["running"] <= 0
    begin_s = np.where(slept, np.maximum(found["t_s"], from_s), found["t_s"])
    end_s = np.where(slept, np.minimum(ends_s, stop_s), ends_s)
    changed = (begin_s != found["t_s"]) | (end_s != ends_s)
    found["dt_s"] = np.where(changed, end_s - begin_s, found["dt_s"])
    found["t_s"] = begin_s
    return found


def ended(rows: dict[str, Array]) -> Array:
    """When each request ended; NaN for whoever had not when the run did."""
    moments: Array = np.where(rows["status"] == "rejected", rows["arrival_s"], rows["finished_s"])
    return moments


def judged(
    rows: dict[str, Array], begin_s: float, end_s: float, *, interrupted: bool
) -> dict[str, Array]:
    """The requests, those that ended elsewhere marked so."""
    status, reason, ended_s = rows["status"].copy(), rows["reason"].copy(), ended(rows)
    if interrupted:  # nobody knows: they stay unfinished
        ended_s = np.where(status == "unfinished", end_s, ended_s)
    moments = (
        (ended_s <= begin_s, "ended before the window"),
        (ended_s > end_s, "ended after the window"),
        (np.isnan(ended_s), "not ended when the run did, at the end of the window"),
    )
    for elsewhere, why in moments:
        status[elsewhere], reason[elsewhere] = OUTSIDE, why
    return {**rows, "status": status, "reason": reason}


def touched(spans: dict[str, Array], begin_s: float, end_s: float) -> Array:
    """Which spans were held at some time of the window."""
    mask: Array = (spans["to_s"] > begin_s) & (spans["from_s"] < end_s)
    return mask
