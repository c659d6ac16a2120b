"""How sure a run's numbers are, in words: whether it kept up, what warns, and intervals.

From the `statistics` of a summary; terminal, Markdown and HTML print these same words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from wastesim.report.definitions import GROUPS
from wastesim.report.text import DASH, number, seconds

#: Numbers whose intervals are told beside the answer; the table of intervals has all.
HEADLINES = (
    "memory.written_over_reserved.step",
    "concurrency.mean",
    "throughput.output_tokens_per_s",
    "latency.ttft_s.mean",
)


class Sureness(NamedTuple):
    """Sentences; an empty one has nothing to say."""

    verdict: str
    warnings: list[str]
    intervals: str

    @property
    def line(self) -> str:
        """The verdict, and of each warning what stands before its colon."""
        if not self.warnings:
            return self.verdict
        heads = [text.partition(":")[0] for text in self.warnings]
        said = "; ".join(head[:1].lower() + head[1:] for head in heads)
        return f"{self.verdict} Beware: {said}."


def sureness(summary: Mapping[str, Any]) -> Sureness:
    """What a reader of the numbers has to know; nothing of a summary without statistics."""
    found = summary.get("statistics")
    if not found:
        return Sureness("", [], "")
    warnings = [f"{text[:1].upper()}{text[1:]}." for text in found["warnings"]]
    return Sureness(_verdict(found["saturation"]), warnings, _intervals(found))


def interval_rows(summary: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Every steady estimate: name, `5,639 tokens/s (5,510 tokens/s to 5,768 tokens/s)`, reason.

    The reason says why there is no interval.
    """
    found = summary.get("statistics") or {"intervals": []}
    return [(*_told(row), row["reason"] or "") for row in found["intervals"]]


def _verdict(found: Mapping[str, Any]) -> str:
    names = ("arrived_per_s", "served_per_s", "given_up_per_s", "queue_growth_per_s")
    come, served, lost, grows = (number(found.get(name)) for name in names)
    rates = f"{come} requests/s come and {served} are served"
    sentences = {
        "keeps up": f"The server keeps up: {rates}.",
        "saturated": f"The server is saturated: {rates}, and the queue grows by {grows} a second.",
        "sheds load": f"The server sheds load: {rates}; {lost} requests/s give up waiting.",
        "undecided": f"Whether the server keeps up is undecided: {rates}.",
        "all at once": "All requests come at once: whether the server keeps up cannot be said.",
    }
    return sentences[found["verdict"]]


def _intervals(found: Mapping[str, Any]) -> str:
    rows = {row["of"]: row for row in found["intervals"]}
    told = [_told(rows[name]) for name in HEADLINES if name in rows]
    if not told:
        return ""
    begin, end = seconds(found["steady_from_s"]), seconds(found["steady_until_s"])
    said = "; ".join(f"{label} {value}" for label, value in told)
    return f"Steady part, {begin} to {end}, with {100 * found['level']:.4g} % intervals: {said}."


def _told(row: Mapping[str, Any]) -> tuple[str, str]:
    known = {line.key: line for group in GROUPS for line in group.lines}
    line = known.get(row["of"])
    label, show = (line.label, line.show) if line else (row["of"], number)
    low, high = show(row["low"]), show(row["high"])
    ends = "no interval" if DASH in (low, high) else f"{low} to {high}"
    return label, f"{show(row['estimate'])} ({ends})"
