"""The answer of a comparison in one sentence, and what qualifies it."""

from __future__ import annotations

from collections.abc import Sequence

from wastesim.report.comparison_parts import Part
from wastesim.report.text import percent, plural

#: Pools that differ by more than this part are compared by their size first.
SAME_POOL = 0.01
#: Variants whose written shares of the pool are this close differ in what they reserve at most.
SAME_FILL = 0.005
#: Rates of output within this ratio are the same.
SAME_SPEED = 1.005
#: So many variants are told by name.
FEW = 3


def headline(parts: Sequence[Part]) -> str:
    """The one sentence: whose pool holds how much, or who fills most of it and who least."""
    told = [part for part in parts if part.shares["written"] is not None]
    if not told:
        return "Nothing ran in any variant."
    cells = [part.records.facts.capacity_cells for part in told]
    if max(cells) - min(cells) > SAME_POOL * max(cells):
        return _pools(told)
    most, worst = max(map(_written, told)), min(told, key=_written)
    if most - _written(worst) < SAME_FILL:
        return _reserved(told)
    best = [part for part in told if most - _written(part) < SAME_FILL]
    first = max(best, key=_kept)
    who = _who([part.name for part in best], len(told), "fill")
    here, there = f"{_running(first)} run at once", f" instead of {_running(worst)}"
    return (
        f"{who} {percent(most)} of the KV pool with written tokens and {worst.name}"
        f" {percent(_written(worst))}: on the same requests"
        f" {here}{'' if _running(first) == _running(worst) else there}.{_alike(best)}"
    )


def _who(names: Sequence[str], variants: int, verb: str) -> str:
    """`a fills`, `a and b fill`, `9 of 12 variants fill`."""
    if len(names) == 1:
        return f"{names[0]} {verb}s"
    if len(names) <= FEW:
        return f"{', '.join(names[:-1])} and {names[-1]} {verb}"
    return f"{len(names)} of {variants} variants {verb}"


def _alike(best: Sequence[Part]) -> str:
    """What tells apart those that fill the pool alike, if there are some."""
    if len(best) == 1:
        return ""
    least, most = max(best, key=_kept), min(best, key=_kept)
    said = (
        f" Of what {least.name} reserves {percent(_kept(least))} is written, of {most.name}'s"
        f" {percent(_kept(most))}."
        if _kept(least) > _kept(most)
        else ""
    )
    if not any(part.summary["concurrency"]["waiting_peak"] for part in best):
        said += " Nobody waited with them: more load would tell them apart."
    return said


def _pools(parts: Sequence[Part]) -> str:
    said = [f"{part.records.facts.capacity_cells:,} tokens with {part.name}" for part in parts]
    return f"The KV pool holds {', '.join(said[:-1])} and {said[-1]}."


def _reserved(parts: Sequence[Part]) -> str:
    """All fill the pool alike: what of the reserved cells is never written is the difference."""
    best, worst = max(parts, key=_kept), min(parts, key=_kept)
    if len(parts) == 1 or _kept(best) == _kept(worst):
        return f"{best.name} fills {percent(_written(best))} of the KV pool with written tokens."
    return (
        f"{worst.name}: {percent(1 - _kept(worst))} of the reserved cells hold nothing;"
        f" {best.name}: {percent(1 - _kept(best))}; all fill {percent(_written(best))} of the pool."
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
    if rates[fast] < SAME_SPEED * rates[slow]:
        return f"All make the same output, {rates[fast]:,.0f} tokens/s."
    fastest = [name for name in rates if rates[name] * SAME_SPEED > rates[fast]]
    return (
        f"{_who(fastest, len(rates), 'make')} {rates[fast]:,.0f} output tokens/s,"
        f" {rates[fast] / rates[slow]:.2f} times as many as {slow} ({rates[slow]:,.0f})."
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


def _kept(part: Part) -> float:
    return part.summary["memory"]["written_over_reserved"]["step"] or 0.0


def _running(part: Part) -> str:
    return "–" if part.running is None else f"{part.running:.1f}"
