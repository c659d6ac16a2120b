"""The answer in words: what share was wasted, of what, why, and what set the limit.

Terminal, Markdown and HTML print these same sentences.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from wastesim.records import RESERVED, Records
from wastesim.report.text import bytes_, count, percent, plural, seconds

#: Why cells that are held hold nothing, in words a newcomer understands.
CAUSES = {
    "unused": "lengths were over-estimated, and what was set aside beyond a request's real"
    " length is never written",
    "future": "cells were set aside before their tokens existed",
    "padding": "requests were rounded up to the policy's granularity",
}
#: A smaller lost share than this is called little.
LITTLE = 0.05


@dataclass(frozen=True)
class Answer:
    """Sentences in the order in which they are read; an empty one has nothing to say."""

    state: str
    claim: str
    evidence: str
    cause: str
    pool: str
    ceiling: str

    @property
    def headline(self) -> str:
        """The one sentence: what share of what, and the numbers behind it."""
        return f"{self.claim}: {self.evidence}." if self.evidence else f"{self.claim}."

    @property
    def sentences(self) -> list[str]:
        """Those that say something, the headline first but for a run that was cut short."""
        every = (self.state, self.headline, self.cause, self.pool, self.ceiling)
        return [sentence for sentence in every if sentence]


def answer(records: Records, summary: dict[str, Any]) -> Answer:
    """What this run found."""
    return Answer(
        _state(records),
        *_headline(records, summary),
        _cause(records, summary),
        _pool(records, summary),
        _ceiling(summary),
    )


def reserved_shares(records: Records) -> dict[str, float] | None:
    """Written, future, unused and padding as parts of what was reserved, averaged over time."""
    held = {name: records.totals.ticks.integrals[name] for name in RESERVED}
    whole = sum(held.values())
    return {name: part / whole for name, part in held.items()} if whole else None


def _state(records: Records) -> str:
    parts = (_cut_short(records), _window(records), _streamed(records))
    return " ".join(part for part in parts if part)


def _streamed(records: Records) -> str:
    if records.streamed is None:
        return ""
    return (
        "This run was too long to keep: its numbers are of all of it, latency quantiles within"
        f" {percent(records.streamed.accuracy)}, and its pictures are of a sample."
    )


def _window(records: Records) -> str:
    window = records.facts.window
    if not window:
        return ""
    begin, end = seconds(window.get("begin_s")), seconds(window.get("end_s"))
    return f"Only a part of the run was measured, from {begin} to {end}."


def _cut_short(records: Records) -> str:
    if not records.facts.interrupted:
        return ""
    unfinished = records.totals.requests.statuses["unfinished"]
    why = records.facts.stopped_because or "stopped early"
    what = "came to a standstill" if why.startswith("nothing runs") else "was interrupted"
    return (
        f"This run {what} ({why}): {plural(unfinished, 'request')} did not finish,"
        " and every number is of what ran."
    )


def _headline(records: Records, summary: dict[str, Any]) -> tuple[str, str]:
    """(claim, evidence), from the best ratio that this run defines."""
    ratios = summary["memory"]["written_over_reserved"]
    if ratios["at_finish"] is not None:
        return (
            f"{percent(1 - ratios['at_finish'])} of the KV memory that requests reserved was never"
            " written",
            _finished(records),
        )
    if ratios["time"] is not None:
        claim = (
            f"{percent(1 - ratios['time'])} of the KV memory that requests reserved held nothing"
        )
        return claim, "an average over time, as no request completed"
    return "No KV memory was ever reserved", why_nothing(summary["requests"])


def _finished(records: Records) -> str:
    found = records.totals.requests
    written, held = found.ended["written_cells"], found.ended["reserved_cells"]
    done, gone = found.statuses["completed"], found.statuses["cancelled"]
    who = f"{done:,} completed requests" if done > 1 else "only completed request"
    if gone:
        who = f"{done:,} completed and {plural(gone, 'cancelled request')}"
    return f"the {who} held {count(held)} cells at the end and had written {count(written)} of them"


def why_nothing(requests: dict[str, Any]) -> str:
    """`all 20 requests were rejected`, and the like."""
    submitted, rejected = requests["submitted"], requests["rejected"]
    if not submitted:
        return "no request arrived"
    if rejected == submitted:
        return (
            f"all {plural(submitted, 'request')} were rejected"
            if submitted > 1
            else ("the only request was rejected")
        )
    return f"none of {plural(submitted, 'request')} was admitted"


def _cause(records: Records, summary: dict[str, Any]) -> str:
    shares = reserved_shares(records)
    if shares is None or shares["written"] >= 1:
        return ""
    # The largest cause of cells never written; `future` only where there is no other.
    lost = {name: shares[name] for name in ("unused", "padding")}
    main = max(lost, key=lambda name: lost[name]) if any(lost.values()) else "future"
    at_finish = summary["memory"]["written_over_reserved"]["at_finish"]
    little = at_finish is not None and at_finish > 1 - LITTLE
    opening = "Little is lost; what is lost is" if little else "The main cause is"
    return (
        f"{opening} {main}: {CAUSES[main]}. At an average moment,"
        f" {percent(shares['unused'])} of reserved memory would never be written (unused),"
        f" {percent(shares['future'])} was waiting for tokens still to come (future),"
        f" {percent(shares['padding'])} was rounding (padding) and"
        f" {percent(shares['written'])} was written."
    )


def _pool(records: Records, summary: dict[str, Any]) -> str:
    memory = summary["memory"]
    shares = memory["shares_of_pool"]["time"]
    if shares["written"] is None:
        return ""
    return (
        f"Of the whole pool ({bytes_(memory['capacity_bytes'])}, {count(memory['capacity_cells'])}"
        f" cells), {percent(shares['written'])} held written tokens on average over time,"
        f" {percent(shares['stranded'])} was free while a request waited for memory (stranded)"
        f" and {percent(shares['idle'])} was free {_idle(records)} (idle)."
    )


def _idle(records: Records) -> str:
    """Free cells are idle where nobody waits, and where something else than memory refused."""
    ticks = records.ticks
    if not ((ticks["waiting"] > 0) & (ticks["idle"] > 0)).any():
        return "with nobody waiting for it"
    return "while nobody waited, or something else than memory held up the first in the queue"


def _ceiling(summary: dict[str, Any]) -> str:
    found = summary["concurrency"]
    reason = f"what sets it is {found['ceiling_reason']}"
    limit = f"The ceiling of {plural(found['ceiling'], 'request')} at once"
    if found["at_ceiling_share"] is None:
        return f"{limit} was not tested; {reason}."
    if found["peak"] >= found["ceiling"]:
        return (
            f"{limit} was reached, for {percent(found['at_ceiling_share'])} of the time; {reason}."
        )
    peak = count(found["peak"])
    if not found["waiting_peak"]:
        return f"{limit} was not reached (peak {peak}) and nobody waited; {reason}."
    if summary["memory"]["shares_of_pool"]["time"]["stranded"]:
        return f"{limit} was not reached: memory held at most {peak} of these; {reason}."
    return f"{limit} was not reached (peak {peak}); {reason}."
