"""Numbers of a summary by name: its dotted keys, and a few that are made from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wastesim.report.sweep_names import GOODPUT, REASONS, REJECTED

#: What tables and figures show unless told otherwise; those that are undefined are left out.
USUAL = (
    "memory.written_over_reserved.step",
    "concurrency.mean",
    "throughput.output_tokens_per_s",
    "latency.ttft_s.p99",
    "latency.tpot_s.mean",
    REJECTED,
    GOODPUT,
)


def number(summary: Mapping[str, Any], name: str) -> float | None:
    """The number of that name; None where it is undefined."""
    if name == GOODPUT:
        return number(summary, "statistics.goodput.share")
    if name == REJECTED:
        return _rejected(summary["requests"])
    found: Any = summary
    for part in name.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    if found is None and name.startswith(REASONS):
        return 0.0  # a reason is there only when something happened for it
    plain = isinstance(found, int | float) and not isinstance(found, bool)
    return float(found) if plain else None


def _rejected(requests: Mapping[str, Any]) -> float | None:
    """Rejected requests of all that the measured part is about."""
    counted = requests["submitted"] - requests.get("outside", 0)
    return requests["rejected"] / counted if counted else None
