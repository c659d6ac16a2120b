"""The answer of a comparison in one sentence, and what qualifies it."""

from __future__ import annotations

from collections.abc import Sequence

from wastesim.report.comparison_parts import Part
from wastesim.report.text import percent, plural


def headline(parts: Sequence[Part]) -> str:
    """Who fills most of the memory and who least, and how many requests that lets run."""
    told = [part for part in parts if part.shares["written"] is not None]
    if not told:
        return "Nothing ran in any variant."
    best = max(told, key=_written)
    worst = min(told, key=_written)
    if _written(best) == _written(worst):
        return f"All {plural(len(told), 'variant')} fill {_filled(best)}: {_running(best)}."
    return (
        f"{best.name} fills {_filled(best)} and {worst.name} {percent(_written(worst))}:"
        f" on the same requests {_running(best)} instead of {_mean(worst)}."
    )


def speed(parts: Sequence[Part]) -> str:
    """The fastest against the slowest; empty where the clock gives no difference to speak of."""
    rates = {
        part.name: part.summary["throughput"]["output_tokens_per_s"]
        for part in parts
        if part.summary["throughput"]["output_tokens_per_s"]
    }
    if len(rates) < 2:
        return ""
    fast, slow = max(rates, key=rates.__getitem__), min(rates, key=rates.__getitem__)
    if rates[fast] < 1.005 * rates[slow]:
        return f"All make the same output, {rates[fast]:,.0f} tokens/s."
    return (
        f"{fast} makes {rates[fast]:,.0f} output tokens/s, {rates[fast] / rates[slow]:.2f} times as"
        f" many as {slow} ({rates[slow]:,.0f})."
    )


def state(parts: Sequence[Part], missing: Sequence[str]) -> str:
    """What is not there, or did not come to its end."""
    said = []
    if missing:
        said.append(
            f"This comparison was interrupted: {plural(len(parts), 'variant')} finished,"
            f" {', '.join(missing)} did not."
        )
    for part in parts:
        facts = part.records.facts
        if facts.interrupted:
            said.append(f"{part.name} ended early: {facts.stopped_because}.")
    return " ".join(said)


def _written(part: Part) -> float:
    return part.shares["written"] or 0.0


def _filled(part: Part) -> str:
    return f"{percent(_written(part))} of the KV pool with written tokens"


def _mean(part: Part) -> str:
    return "–" if part.running is None else f"{part.running:.1f}"


def _running(part: Part) -> str:
    return f"{_mean(part)} run at once"
