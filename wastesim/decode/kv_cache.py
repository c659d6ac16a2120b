"""The KV cache as a textbook builds it: one request, `max_seq` cells reserved up front.

It is the simplest answer to "where do K and V go", and shows the waste that everything else in
this project measures.  The decoder does not use it: requests there share an arena.

Letters are those of `arrays`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wastesim.decode.arrays import Floats
from wastesim.decode.attention import causal_attention
from wastesim.decode.geometry import DecodeModel
from wastesim.decode.model import Transformer, greedy
from wastesim.decode.weights import Weights
from wastesim.errors import AllocationError


class KVCache:
    """Contiguous buffers for `max_seq` tokens of one request, in every layer."""

    def __init__(self, model: DecodeModel, max_seq: int) -> None:
        self.max_seq = max_seq
        shape = (model.layers, 2, model.kv_heads, max_seq, model.head_dim)
        self._buffer: Floats = np.zeros(shape, np.float32)  # [L, 2, G, max_seq, D]
        self._lengths = [0] * model.layers

    @property
    def length(self) -> int:
        """Tokens stored in every layer."""
        return min(self._lengths)

    @property
    def reserved_bytes(self) -> int:
        """Bytes set aside, written or not."""
        return self._buffer.nbytes

    @property
    def wasted(self) -> float:
        """Share of the reserved cells that were never written: ``1 - written / reserved``."""
        return 1 - self.length / self.max_seq

    def append(self, layer: int, k: Floats, v: Floats) -> None:
        """Store the keys and values ``[N, G, D]`` of the next N tokens of a layer."""
        start = self._lengths[layer]
        stop = start + len(k)
        if stop > self.max_seq:
            raise AllocationError(f"token {stop} does not fit a cache of {self.max_seq} tokens")
        self._buffer[layer, 0, :, start:stop] = k.swapaxes(0, 1)
        self._buffer[layer, 1, :, start:stop] = v.swapaxes(0, 1)
        self._lengths[layer] = stop

    def view(self, layer: int) -> tuple[Floats, Floats]:
        """Keys and values ``[G, T, D]`` stored so far, not copied."""
        written = self._buffer[layer, :, :, : self._lengths[layer]]  # [2, G, T, D]
        return written[0], written[1]


def generate_cached(
    weights: Weights, prompt: Sequence[int], count: int, max_seq: int
) -> tuple[list[int], KVCache]:
    """`count` greedy tokens after `prompt`, each token computed once; and the cache."""
    cache = KVCache(weights.model, max_seq)
    transformer = Transformer(weights)
    new, generated = list(prompt), []
    for _ in range(count):
        new = [_next_token(transformer, cache, new)]
        generated += new
    return generated, cache


def _next_token(transformer: Transformer, cache: KVCache, tokens: Sequence[int]) -> int:
    """Compute `tokens` after those in the cache and choose the one that follows."""
    kv_heads = transformer.model.kv_heads

    def attend(layer: int, q: Floats, kv: Floats) -> Floats:
        cache.append(layer, kv[:, :kv_heads], kv[:, kv_heads:])
        keys, values = cache.view(layer)
        return causal_attention(q, keys, values)

    positions = cache.length + np.arange(len(tokens))
    last = np.array([len(tokens) - 1])
    logits = transformer.forward(np.asarray(tokens), positions, last, attend)
    return int(greedy(logits)[0])
