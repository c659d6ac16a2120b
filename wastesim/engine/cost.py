"""What one tick moves and computes, in integers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple


class Cost(NamedTuple):
    """Bytes between memory and processor, and floating-point operations, of one tick.

    The rest is what a table of measured steps is asked for: requests that compute one more token
    upon stored ones, the `kv_tokens` these have stored, and tokens of all others.
    """

    moved_bytes: int
    flop: int
    decode_requests: int = 0
    kv_tokens: int = 0
    prefill_tokens: int = 0


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
        stored = tokens = contexts = decodes = decoded_upon = 0
        for before, new in work:
            stored += before + new
            tokens += new
            contexts += new * before + new * (new + 1) // 2
            if new == 1 and before:
                decodes += 1
                decoded_upon += before
        return Cost(
            self.weights_read_bytes + self.kv_bytes_per_token * stored,
            self.flop_per_token * tokens + self.attention_flop_per_context * contexts,
            decodes,
            decoded_upon,
            tokens - decodes,
        )
