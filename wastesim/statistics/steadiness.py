"""The part of a run that is steady, whether it is, and whether the server kept up.

A run begins empty and ends by draining: neither is what a server does all day.  The steady part
is from where MSER-5 cuts the requests in the system to the last arrival; with `measure:` it is
what was asked for.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from wastesim.records import Array, Records
from wastesim.statistics.series import Window, events, integrals
from wastesim.statistics.warmup import Truncation, mser5

#: Windows that a run is looked at in.
POINTS = 1000
PARTS = 20
#: Arrivals within so small a part of a run are all at once: there is no steady part.
AT_ONCE = 0.01
#: A trend is one when chance makes as strong a one so rarely.
TREND_P = 0.01
#: A queue that grows by less than this part of the arrivals is no queue that grows; as many may
#: give up.
GROWTH = 0.01
#: A client gave up because it waited when so much of its time had passed in the queue.
WAITED = 0.5


class Part(NamedTuple):
    """The steady part, how it was found, and the series it was found from."""

    window: Window | None
    cut: Truncation | None
    series: Array
    edges: Array


def steady_part(records: Records) -> Part:
    """Where a run's numbers mean the server and not its start or end; None if there is nothing."""
    nothing = np.empty(0)
    known = records.facts.window
    if known:
        return Part(Window(known["begin_s"], known["end_s"]), None, nothing, nothing)
    arrivals, end_s = records.totals.requests, records.totals.ticks.end_s
    if end_s is None or not arrivals.submitted:
        return Part(None, None, nothing, nothing)
    begin_s, last_s = arrivals.first_arrival_s, min(arrivals.last_arrival_s, end_s)
    if last_s - begin_s <= AT_ONCE * (end_s - begin_s):
        return Part(None, None, nothing, nothing)
    edges = Window(begin_s, last_s).edges(POINTS)
    series = integrals(records, records.ticks["running"], edges) / np.diff(edges)
    cut = mser5(series)
    return Part(Window(float(edges[cut.values]), last_s), cut, series, edges)


def trend(values: Array) -> tuple[float, float]:
    """Kendall's tau of a series against time, and how often chance gives as much (Mann, Kendall).

    The normal approximation, with ties; good from about ten values on.
    """
    n = len(values)
    i, j = np.triu_indices(n, 1)
    signs = np.sign(values[j] - values[i])
    ties = np.unique(values, return_counts=True)[1]
    variance = (_ties(np.array([n])) - _ties(ties)) / 18
    if n < 3 or variance <= 0:
        return 0.0, 1.0
    score = float(signs.sum())
    z = (abs(score) - (score != 0)) / math.sqrt(variance)
    return score / len(signs), math.erfc(z / math.sqrt(2))


def _ties(counts: Array) -> float:
    return float((counts * (counts - 1) * (2 * counts + 5)).sum())


def is_steady(records: Records, window: Window) -> bool:
    """Whether neither running requests nor written cells drift through the window."""
    edges = window.edges(PARTS)
    levels = (records.ticks["running"], records.ticks["written"])
    return all(trend(integrals(records, level, edges))[1] >= TREND_P for level in levels)


def saturation(records: Records, part: Part) -> dict[str, Any]:
    """Whether the queue grows for as long as requests come.

    `keeps up`, `saturated`, `sheds load` where the queue is short because its clients give up,
    `undecided`, or `all at once` where nothing can be said.
    """
    names = ("arrived_per_s", "served_per_s", "given_up_per_s", "queue_growth_per_s")
    nothing = dict.fromkeys(names)
    if part.window is None or part.window.length_s <= 0:
        return {"verdict": "all at once", **nothing}
    rows, edges = records.requests, part.window.edges(PARTS)
    seconds = part.window.length_s
    each = records.requests_per_row
    arrived = each * float(events(rows["arrival_s"], edges).sum()) / seconds
    done = rows["finished_s"][rows["status"] == "completed"]
    served = each * float(events(done, edges).sum()) / seconds
    left_s, waited_s = _given_up(rows)
    lost = each * float(events(left_s, edges).sum()) / seconds
    waiting = integrals(records, records.ticks["waiting"], edges) / np.diff(edges)
    growth = _slope(waiting) * PARTS / seconds
    # Who only waits for a tick to end is in no queue; in one, Little's law holds for who left.
    queued = len(left_s) > 0 and waiting.mean() > WAITED * lost * waited_s.mean()
    return {
        "verdict": _verdict(waiting, growth, arrived, lost if queued else 0.0),
        "arrived_per_s": arrived,
        "served_per_s": served,
        "given_up_per_s": lost,
        "queue_growth_per_s": growth,
    }


def _given_up(rows: dict[str, Array]) -> tuple[Array, Array]:
    """When clients gave up that spent most of their time before admission, and that time."""
    left = rows["status"] == "cancelled"
    end_s, arrival_s = rows["finished_s"][left], rows["arrival_s"][left]
    admitted_s = np.where(np.isnan(rows["admitted_s"][left]), end_s, rows["admitted_s"][left])
    waited_s = admitted_s - arrival_s
    long = waited_s > WAITED * (end_s - arrival_s)
    return end_s[long], waited_s[long]


def _verdict(waiting: Array, growth: float, arrived: float, lost: float) -> str:
    if not arrived:  # all came before the window: a queue that is never empty is full load
        return "saturated" if len(waiting) and waiting.min() > 0 else "undecided"
    tau, chance = trend(waiting)
    grows = tau > 0 and chance < TREND_P
    if grows and growth > GROWTH * arrived:
        return "saturated"
    if lost > GROWTH * arrived:
        return "sheds load"
    return "keeps up" if not grows or growth < GROWTH * arrived / 2 else "undecided"


def _slope(values: Array) -> float:
    """Theil and Sen's slope per step: the median of all slopes between two values."""
    i, j = np.triu_indices(len(values), 1)
    return float(np.median((values[j] - values[i]) / (j - i)))
