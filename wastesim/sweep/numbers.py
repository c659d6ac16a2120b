"""Numbers of a summary by name: its dotted keys, and a few that are made from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wastesim.errors import ConfigError, Problem
from wastesim.metrics import flat
from wastesim.report.sweep_names import GOODPUT, NEEDS_OBJECTIVES, REJECTED

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
    plain = isinstance(found, int | float) and not isinstance(found, bool)
    return float(found) if plain else None


def check_name(summary: Mapping[str, Any], name: str, where: str) -> None:
    """ConfigError for a name that a summary does not have."""
    plain = [key for key, v in flat(dict(summary)).items() if not isinstance(v, str | bool)]
    known = [*plain, REJECTED, GOODPUT]
    if name == GOODPUT and summary["statistics"]["goodput"] is None:
        raise ConfigError([Problem(where, NEEDS_OBJECTIVES)])
    if name not in known:
        from wastesim.config.validation import did_you_mean

        message = f"must be a number of summary.json{did_you_mean(name, known)} (got {name!r})"
        raise ConfigError([Problem(where, message)])


def _rejected(requests: Mapping[str, Any]) -> float | None:
    """Rejected requests of all that the measured part is about."""
    counted = requests["submitted"] - requests.get("outside", 0)
    return requests["rejected"] / counted if counted else None
