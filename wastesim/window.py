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
from wastesim.records import Array, Facts, Records

OUTSIDE = "outside"


def within(records: Records, from_s: float, until_s: float | None) -> Records:
    """What counts between `from_s` and `until_s`; InputError when nothing does."""
    stop_s = np.inf if until_s is None else until_s
    ticks = _cut(records.ticks, from_s, stop_s)
    if not len(ticks["t_s"]):
        raise InputError(_nothing(records, from_s))
    begin_s, end_s = float(ticks["t_s"][0]), float(ticks["t_s"][-1] + ticks["dt_s"][-1])
    requests = _judged(records, begin_s, end_s)
    spans = records.spans
    touched = (spans["to_s"] > begin_s) & (spans["from_s"] < end_s)
    kept = {name: column[touched] for name, column in spans.items()}
    facts = _facts(records.facts, requests, (from_s, until_s, begin_s, end_s))
    return Records(requests, ticks, kept, facts)


def sampled_tokens(records: Records) -> int:
    """Output tokens of the window: those of decoding, and one per prefill that came to its end.

    Prefills that ended are first tokens and, after a preemption, as many as were admitted again.
    """
    ticks, rows, window = records.ticks, records.requests, records.facts.window
    begin_s, end_s = window["begin_s"], window["end_s"]
    first = rows["first_token_s"]
    firsts = int(((first > begin_s) & (first <= end_s)).sum())
    admitted = rows["admitted_s"]
    newly = int(((admitted >= begin_s) & (admitted < end_s)).sum())
    return int(ticks["decode_tokens"].sum()) + firsts + int(ticks["admitted"].sum()) - newly


def _cut(ticks: dict[str, Array], from_s: float, stop_s: float) -> dict[str, Array]:
    t_s, ends_s, runs = ticks["t_s"], ticks["t_s"] + ticks["dt_s"], ticks["running"] > 0
    begins_inside = (t_s >= from_s) & (t_s < stop_s)
    kept = begins_inside | (~runs & (ends_s > from_s) & (t_s < stop_s))
    cut = {name: column[kept] for name, column in ticks.items()}
    slept = ~runs[kept]
    begin_s = np.where(slept, np.maximum(cut["t_s"], from_s), cut["t_s"])
    end_s = np.where(slept, np.minimum(ends_s[kept], stop_s), ends_s[kept])
    changed = (begin_s != cut["t_s"]) | (end_s != ends_s[kept])
    cut["dt_s"] = np.where(changed, end_s - begin_s, cut["dt_s"])
    cut["t_s"] = begin_s
    return cut


def _judged(records: Records, begin_s: float, end_s: float) -> dict[str, Array]:
    """The requests, those that ended elsewhere marked so."""
    rows = dict(records.requests)
    status, reason = rows["status"].copy(), rows["reason"].copy()
    ended_s = np.where(status == "rejected", rows["arrival_s"], rows["finished_s"])
    unfinished = status == "unfinished"
    if records.facts.interrupted:
        ended_s = np.where(unfinished, end_s, ended_s)  # nobody knows: they stay unfinished
    moments = (
        (ended_s <= begin_s, "ended before the window"),
        (ended_s > end_s, "ended after the window"),
        (np.isnan(ended_s), "not ended when the run did, at the end of the window"),
    )
    for elsewhere, why in moments:
        status[elsewhere], reason[elsewhere] = OUTSIDE, why
    return {**rows, "status": status, "reason": reason}


def _facts(
    facts: Facts, requests: dict[str, Array], window: tuple[float, float | None, float, float]
) -> Facts:
    from_s, until_s, begin_s, end_s = window
    outside = int((requests["status"] == OUTSIDE).sum())
    said = (
        f"only what happened between {begin_s:,.6g} s and {end_s:,.6g} s of simulated time counts"
        f" ('measure'); {outside:,} of {len(requests['status']):,} requests ended outside"
    )
    short = until_s is not None and end_s < until_s
    early = [f"the run came to its end before measure.until_s, {until_s:,.6g} s"] if short else []
    known = {"from_s": from_s, "until_s": until_s, "begin_s": begin_s, "end_s": end_s}
    return replace(facts, window=known, explanations=[*facts.explanations, said, *early])


def _nothing(records: Records, from_s: float) -> str:
    ticks = records.ticks
    end_s = float(ticks["t_s"][-1] + ticks["dt_s"][-1]) if len(ticks["t_s"]) else 0.0
    return (
        f"'measure.from_s' is {from_s:,.6g} s, but the run ended at {end_s:,.6g} s: nothing is left"
        " to measure; begin earlier, or send more requests"
    )
