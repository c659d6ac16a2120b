"""A passage read in one pass, through a cache of some format: what decoding it would have seen.

Every token's K and V go through the codec once and are read back by all that look at them, the
token itself included, exactly as when tokens come one by one; only the products are done for many
tokens at once.  That makes a perplexity cost seconds instead of minutes.

Letters are those of `arrays`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from wastesim.config.decode import CacheFormat
from wastesim.decode.arrays import Floats, Ints
from wastesim.decode.banded import KV, Bands, Watch, banded_attention
from wastesim.decode.codecs import Codec, codec_for
from wastesim.decode.model import Transformer, rotated
from wastesim.decode.weights import Weights

_ROWS_AT_ONCE = 256  # logits of so many tokens at a time: 50 MB for a vocabulary of 49,152


@dataclass(frozen=True)
class CacheRule:
    """What a cache keeps of each token, and for how long."""

    how: CacheFormat = field(default_factory=CacheFormat)
    halves: str = "both"  # which of "keys" and "values" the format applies to
    window: int | None = None
    sinks: int = 0
    renumbered: bool = False  # positions are those inside the window, not in the text

    @property
    def bands(self) -> Bands:
        """Who sees what."""
        kept = self.how.recent_of == "both"
        return Bands(self.how.recent_tokens, kept, self.window, self.sinks)


class Likelihoods(NamedTuple):
    """What the model thought of each token but the first, given those before it."""

    nll: Floats  # [T - 1], nats
    top: Ints  # [T - 1], the token it would have chosen


def likelihoods(
    weights: Weights,
    tokens: Sequence[int],
    rule: CacheRule,
    watch: Callable[[int, int, Floats], None] | None = None,
) -> Likelihoods:
    """One pass over `tokens`; `watch` is told (layer, first query, weights [H, Q, T])."""
    transformer = Transformer(weights)
    ids = np.asarray(tokens, np.int64)
    attend = _Attend(transformer, len(ids), rule, watch)
    hidden = transformer.hidden(ids, np.arange(len(ids)), attend)  # [T, E]
    parts = [
        _judged(transformer.logits(hidden[at : at + _ROWS_AT_ONCE]), ids[at + 1 :][:_ROWS_AT_ONCE])
        for at in range(0, len(ids) - 1, _ROWS_AT_ONCE)
    ]
    nll, top = zip(*parts, strict=True)
    return Likelihoods(np.concatenate(nll), np.concatenate(top))


class _Attend:
    """One layer after another, each over its own K and V as the cache gives them back."""

    def __init__(
        self,
        transformer: Transformer,
        count: int,
        rule: CacheRule,
        watch: Callable[[int, int, Floats], None] | None,
    ) -> None:
        self._rule, self._watch = rule, watch
        self._kv_heads = transformer.model.kv_heads
        self._codec: Codec | None = None
        if not rule.how.plain:
            self._codec = codec_for(rule.how, transformer.model.head_dim)
        self._turns = None
        if rule.renumbered and rule.sinks and rule.window is not None:
            moved = np.maximum(0, np.arange(count) - (rule.window - 1))  # [T]
            self._turns = transformer.turns(moved).conj()

    def __call__(self, layer: int, q: Floats, kv: Floats) -> Floats:
        halves = kv.reshape(len(kv), 2, self._kv_heads, -1).transpose(1, 2, 0, 3)  # [2, G, T, D]
        exact = KV(*np.ascontiguousarray(halves))
        stored = KV(self._through(exact.keys, "keys"), self._through(exact.values, "values"))
        looked = None if self._turns is None else rotated(q, self._turns[:, None])
        return banded_attention(q, stored, exact, self._rule.bands, looked, self._watcher(layer))

    def _through(self, rows: Floats, half: str) -> Floats:
        if self._codec is None or self._rule.halves not in (half, "both"):
            return rows
        return self._codec.decode(self._codec.encode(rows))

    def _watcher(self, layer: int) -> Watch | None:
        watch = self._watch
        return None if watch is None else lambda first, weights: watch(layer, first, weights)


def _judged(logits: Floats, targets: Ints) -> tuple[Floats, Ints]:
    """Negative log-likelihoods of the targets and the likeliest tokens, row by row."""
    logits = logits[: len(targets)]  # nothing follows the last token
    highest = logits.max(axis=1)
    sums = np.exp(logits - highest[:, None]).sum(axis=1, dtype=np.float64)
    nll = np.log(sums) + highest - logits[np.arange(len(targets)), targets]
    return nll.astype(np.float32), np.argmax(logits, axis=1)
