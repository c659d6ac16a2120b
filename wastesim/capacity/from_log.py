"""`--from-log FILE`: the numbers of a log, checked against each other and against geometry."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from wastesim.capacity.hypotheses import (
    Interval,
    block_size,
    block_sizes,
    bytes_per_token,
    catalog_models,
    fitting,
    tokens_of,
)
from wastesim.capacity.logs import LogFacts, read_log, summary_of
from wastesim.catalog.models import resolve_model
from wastesim.units import format_bytes

_MOST = 6


def from_log(path: Path, options: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """A tree and lines; InputError when the log has nothing to read."""
    facts = read_log(path)
    interval = bytes_per_token(facts)
    models = [resolve_model(name) for name in options.model or ()] or list(catalog_models())
    found = [] if interval is None else fitting(interval, models)
    checked = checks(facts)
    tree = {
        "engine": facts.engine,
        "numbers": dict(summary_of(facts)),
        "bytes_per_token": None if interval is None else [interval.low, interval.high],
        "checks": checked,
        "hypotheses": [str(item) for item in found[:_MOST]],
    }
    lines = [f"{facts.engine}: {len(facts.numbers)} numbers read from {path.name}"]
    lines += [f"  {name} = {_shown(name, value)}" for name, value in summary_of(facts).items()]
    lines += [_interval_line(interval), *checked]
    lines += [f"fits: {item}" for item in found[:_MOST]]
    if interval is not None and not found:
        lines.append("fits: none of the models; --model with a config.json may")
    return tree, lines


def checks(facts: LogFacts) -> list[str]:
    """What the log's numbers say of each other, in words."""
    found = [_budget(facts), _concurrency(facts), _blocks(facts), _too_long(facts), _memory(facts)]
    return [line for line in found if line]


def self_consistency(facts: LogFacts) -> float | None:
    """Printed concurrency times length over printed tokens: 1 unless layers differ in kind."""
    tokens, times = tokens_of(facts), facts.value("concurrency")
    length = facts.value("max_model_len")
    if tokens is None or times is None or length is None:
        return None
    return times * length / tokens.value


def budget_bytes(facts: LogFacts) -> float | None:
    """The four-term identity: usable - weights - non-torch - activations."""
    usable = facts.value("usable_bytes")
    if usable is None:
        total, share = facts.value("total_bytes"), facts.value("utilization")
        usable = None if total is None or share is None else total * share
    weights = facts.value("weights_bytes")
    if usable is None or weights is None:
        return None
    other = facts.value("non_torch_bytes") or 0.0
    return usable - weights - other - (facts.value("activation_bytes") or 0.0)


def _budget(facts: LogFacts) -> str:
    left, kv = budget_bytes(facts), facts.numbers.get("kv_bytes")
    if left is None:
        return ""
    said = "" if kv is None else f"; the log says {format_bytes(kv.value)}"
    return f"usable - weights - other - activations = {format_bytes(left)} for the cache{said}"


def _concurrency(facts: LogFacts) -> str:
    ratio = self_consistency(facts)
    if ratio is None:
        return ""
    if abs(ratio - 1) < 0.01:
        return "tokens and concurrency agree: one kind of layer, or full-length tokens (0.33)"
    return (
        f"concurrency x length is {ratio:.2f} times the tokens: layers of several kinds share the"
        " pool, and the token figure divides it evenly; neither is to be computed from the other"
    )


def _blocks(facts: LogFacts) -> str:
    tokens = tokens_of(facts)
    if tokens is None:
        return ""
    sizes = block_sizes(tokens.value)
    return f"{tokens.value:,.0f} tokens are whole blocks of {', '.join(map(str, sizes))}"


def _too_long(facts: LogFacts) -> str:
    tokens, length = tokens_of(facts), facts.value("max_model_len")
    if tokens is None or length is None or "concurrency" in facts.numbers:
        return ""
    if tokens.value >= length:
        return ""
    return (
        f"refused: {length:,.0f} tokens are more than the {tokens.value:,.0f} that can be stored;"
        f" max_model_len must be <= {tokens.value:,.0f}"
    )


def _memory(facts: LogFacts) -> str:
    """Blocks that are really tokens: more memory than the card has."""
    interval, total = bytes_per_token(facts), facts.value("total_bytes")
    blocks = facts.value("num_blocks")
    if interval is None or total is None or blocks is None:
        return ""
    held = interval.low * blocks * block_size(facts)
    if held <= total:
        return ""
    return f"{blocks:,.0f} blocks would take {format_bytes(held)}, more than the card: tokens?"


def _interval_line(interval: Interval | None) -> str:
    if interval is None:
        return "bytes per token: not to be had, tokens or bytes are not printed"
    low, high = f"{interval.low:,.0f}", f"{interval.high:,.0f}"
    both = low if low == high else f"{low} to {high}"
    return f"bytes per token and rank: {both} B (from {interval.source})"


def _shown(name: str, value: float) -> str:
    return format_bytes(value) if name.endswith("_bytes") else f"{value:,.10g}"
