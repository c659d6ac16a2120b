"""What one tick moves and computes, in integers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple


class Cost(NamedTuple):
    """Bytes between memory and processor, and floating-point operations, of one tick."""

    moved_bytes: int
    flop: int


@dataclass(frozen=True)
class CostModel:
    """Integer coefficients of the roofline (see docs/metrics.md, "The roofline").

    A step reads the weights once, reads the K and V stored before it and writes those of its new
    tokens: together the K and V stored after it.  A token at context c costs
    ``flop_per_token + attention_flop_per_context * c``.
    """

    weights_read_bytes: int
    kv_bytes_per_token: int
    flop_per_token: int
    attention_flop_per_context: int

    def of(self, work: Iterable[tuple[int, int]]) -> Cost:
        """Cost of one tick; `work` has (stored tokens before, new tokens) per request."""
        kv_tokens = tokens = contexts = 0
        for before, new in work:
            kv_tokens += before + new
            tokens += new
            contexts += new * before + new * (new + 1) // 2
        return Cost(
            self.weights_read_bytes + self.kv_bytes_per_token * kv_tokens,
            self.flop_per_token * tokens + self.attention_flop_per_context * contexts,
        )
