"""Output tokens per second against the number of running requests, read off a run's own ticks.

A decode step moves `W + b n c` bytes and computes `n f` operations, where `W` are the weights it
reads once, `b` the bytes per cell, `c` the mean written cells of a running request and `f` the
operations per token.  It takes the longer of both at the speeds that the ticks had, so

    tokens/s = n / max((W + b n c) / bandwidth, n f / peak)

Steps without prefill only; the prompt's work comes on top.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from wastesim.records import Array, Records


@dataclass(frozen=True)
class Roofline:
    """The curve of one run."""

    weights_bytes: float
    bytes_per_token: float
    context_tokens: float
    flop_per_token: float
    bytes_per_s: float
    flop_per_s: float

    def tokens_per_s(self, running: Array) -> Array:
        """Output tokens per second with that many requests running."""
        moved = self.weights_bytes + self.bytes_per_token * self.context_tokens * running
        took = np.maximum(moved / self.bytes_per_s, self.flop_per_token * running / self.flop_per_s)
        rate: Array = running / took
        return rate

    def changed(self, context_tokens: float, bytes_share: float) -> Roofline:
        """The same server with other contexts, and a cache of that share of the bytes."""
        width = self.bytes_per_token * bytes_share
        return replace(self, context_tokens=context_tokens, bytes_per_token=width)

    def limit_tokens_per_s(self) -> float:
        """Where the curve ends: the weights are shared by ever more, the contexts are not."""
        return 1 / max(
            self.bytes_per_token * self.context_tokens / self.bytes_per_s,
            self.flop_per_token / self.flop_per_s,
        )


def roofline(records: Records) -> Roofline | None:
    """The curve, for a run whose times come from a roofline and that decoded; None otherwise."""
    facts, ticks = records.facts, records.totals.ticks
    steps, dt_s = ticks.decoding["steps"], ticks.decoding_s
    if facts.clock != "roofline" or not steps:
        return None
    columns = ("moved_bytes", "written", "running", "decode_tokens", "flop")
    moved, written, running, tokens, flop = (float(ticks.decoding[name]) for name in columns)
    weights = (moved - facts.bytes_per_token * written) / steps
    if weights <= 0 or dt_s <= 0 or written <= 0 or flop <= 0:
        return None
    bound_by_memory = moved / facts.bandwidth_bytes_per_s >= flop / facts.peak_flop_per_s
    return Roofline(
        weights,
        facts.bytes_per_token,
        written / running,
        flop / tokens,
        moved / dt_s if bound_by_memory else facts.bandwidth_bytes_per_s,
        facts.peak_flop_per_s if bound_by_memory else flop / dt_s,
    )
