"""The advice in words: what to change first, and the table of estimates behind it."""

from __future__ import annotations

from typing import Any, NamedTuple

from wastesim.report.advice import Advice, Option
from wastesim.report.text import DASH, count, number, percent, plural

#: More than this share of requests is never given up without being asked.
TOLERABLE_REJECTED = 0.05
METHOD = (
    "Estimates by closed forms from the lengths of this run's own requests, for a server whose"
    " queue is never empty; not simulations. They leave out fragmentation, preemption and"
    " watermarks. To simulate a change, run it with --set."
)


class Line(NamedTuple):
    """One row of the table of changes."""

    change: str
    fit: str
    written: str
    rejected: str
    speed: str
    caveat: str
    is_now: bool


def first_change(advice: Advice | None, summary: dict[str, Any]) -> str:
    """What to change first, in a few sentences; empty when nothing can be estimated."""
    if advice is None:
        return ""
    best = _best(advice)
    if best is None:
        return "No change estimated here would let more of these requests run at once."
    within = _within_policy(advice, best)
    return " ".join(part for part in (_gain(advice, best), within, _when(summary)) if part)


def lines(advice: Advice | None) -> list[Line]:
    """The run as it is, then every change with its estimate."""
    if advice is None:
        return []
    return [_line(option, advice) for option in (advice.now, *advice.options)]


def _best(advice: Advice) -> Option | None:
    """The most requests at once that a server can be told today, without rejecting more."""
    usable = [
        option
        for option in advice.options
        if option.kind != "exact"
        and option.rejected <= advice.now.rejected
        and (option.at_once or 0) > (advice.now.at_once or 0)
    ]
    return max(usable, key=_rank, default=None)


def _rank(option: Option) -> tuple[int, bool, int]:
    """Among equals the one that wastes least, which paging does."""
    return option.at_once or 0, option.kind == "paged", option.fit or 0


def _gain(advice: Advice, best: Option) -> str:
    now = advice.now
    if best.kind == "seqs":
        return (
            f"Change first: {best.change}. By estimate memory holds {count(best.fit)} of these"
            f" requests at once, of which max_num_seqs lets only {count(now.max_num_seqs)} run."
        )
    capped = (best.fit or 0) > best.max_num_seqs
    limited = f", of which max_num_seqs lets {count(best.max_num_seqs)} run" if capped else ""
    return (
        f"Change first: {best.change}. By estimate {percent(best.written)} of what is reserved is"
        f" then written at an average step (now {percent(now.written)}), and memory holds"
        f" {plural(best.fit or 0, 'request')} at once (now {count(now.fit)}){limited}."
    )


def _within_policy(advice: Advice, best: Option) -> str:
    """The shortest `max_model_len` that rejects few."""
    few = [
        option
        for option in advice.options
        if option.kind == "shorter"
        and option.rejected <= advice.now.rejected + TOLERABLE_REJECTED
        and (option.fit or 0) > (advice.now.fit or 0)
    ]
    chosen = max(few, key=lambda option: option.fit or 0, default=None)
    if chosen is None or chosen is best:
        return ""
    more = chosen.rejected - advice.now.rejected
    cost = f"rejects {percent(more)} of these requests" if more > 0 else "rejects none of them"
    if more < 0:
        cost = f"serves {percent(-more)} of these requests that are rejected now"
    return f"Within this policy, {chosen.change} holds {count(chosen.fit)} at once and {cost}."


def _when(summary: dict[str, Any]) -> str:
    found = summary["concurrency"]
    if found["waiting_peak"] or found["mean"] is None:
        return ""
    return "No request waited in this run, so the gain would be memory, not speed."


def _line(option: Option, advice: Advice) -> Line:
    gain = advice.gain(option)
    times = "" if option.kind == "now" or gain is None else f" ({gain:.1f} x)"
    capped = option.fit is not None and option.fit > option.max_num_seqs
    runs = f", {count(option.max_num_seqs)} run" if capped else ""
    return Line(
        option.change,
        (count(option.fit) + runs + times) if option.fit is not None else DASH,
        percent(option.written),
        percent(option.rejected),
        number(option.tokens_per_s),
        option.caveat,
        option.kind == "now",
    )
