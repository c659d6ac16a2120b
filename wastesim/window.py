"""Records of a part of a run: the warm-up left out, so that every number is of the rest.

Of the rows that ran something, those count that begin in ``[from_s, until_s)``, whole; time in
which the server slept is cut at the edges.  The window is then ``(begin, end]``: from the first
counted row's begin to the last one's end.  Requests count where they ended: all others keep their
rows with the status `outside` and a reason.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from wastesim.errors import InputError
from wastesim.records import OUTSIDE, Array, Records, cutting

__all__ = ["OUTSIDE", "within"]


def within(records: Records, from_s: float, until_s: float | None) -> Records:
    """What counts between `from_s` and `until_s`; InputError when nothing does.

    A run that was streamed was cut while it ran, and is only told what it was cut to.
    """
    if records.streamed is not None:
        return _known(records, from_s, until_s)
    ticks = cutting.cut(records.ticks, from_s, np.inf if until_s is None else until_s)
    if not len(ticks["t_s"]):
        raise InputError(_nothing(_end_s(records.ticks), from_s, until_s))
    begin_s, end_s = float(ticks["t_s"][0]), float(ticks["t_s"][-1] + ticks["dt_s"][-1])
    interrupted = records.facts.interrupted
    requests = cutting.judged(records.requests, begin_s, end_s, interrupted=interrupted)
    inside = cutting.touched(records.spans, begin_s, end_s)
    spans = {name: column[inside] for name, column in records.spans.items()}
    known = {"from_s": from_s, "until_s": until_s, "begin_s": begin_s, "end_s": end_s}
    return _explained(Records(requests, ticks, spans, replace(records.facts, window=known)))


def _known(records: Records, from_s: float, until_s: float | None) -> Records:
    streamed, totals = records.streamed, records.totals.ticks
    if streamed is None or streamed.part != (from_s, until_s):
        raise InputError("'measure' has to be known before a run is streamed")
    if totals.begin_s is None or totals.end_s is None:
        raise InputError(_nothing(streamed.end_s, from_s, until_s))
    begin_s, end_s = totals.begin_s, totals.end_s
    known = {"from_s": from_s, "until_s": until_s, "begin_s": begin_s, "end_s": end_s}
    return _explained(replace(records, facts=replace(records.facts, window=known)))


def _end_s(ticks: dict[str, Array]) -> float:
    return float(ticks["t_s"][-1] + ticks["dt_s"][-1]) if len(ticks["t_s"]) else 0.0


def _explained(records: Records) -> Records:
    """Says what counts, and that the end was never reached if so."""
    window, requests = records.facts.window, records.totals.requests
    until_s, begin_s, end_s = window["until_s"], window["begin_s"], window["end_s"]
    said = (
        f"only what happened between {begin_s:,.6g} s and {end_s:,.6g} s of simulated time counts"
        f" ('measure'); {requests.statuses[OUTSIDE]:,} of {requests.submitted:,} requests ended"
        " outside"
    )
    short = until_s is not None and end_s < until_s
    early = [f"the run came to its end before measure.until_s, {until_s:,.6g} s"] if short else []
    explanations = [*records.facts.explanations, said, *early]
    records.facts = replace(records.facts, explanations=explanations)
    return records


def _nothing(end_s: float, from_s: float, until_s: float | None) -> str:
    if until_s is not None and from_s < end_s:
        return (
            f"'measure.until_s' is {until_s:,.6g} s, and nothing ran between {from_s:,.6g} s and"
            f" then: the run was followed to {end_s:,.6g} s; end later"
        )
    return (
        f"'measure.from_s' is {from_s:,.6g} s, but the run ended at {end_s:,.6g} s: nothing is left"
        " to measure; begin earlier, or send more requests"
    )
