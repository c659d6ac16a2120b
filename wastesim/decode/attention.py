"""Attention over requests of different lengths, three ways.

`flat_attention` is what decodes: one query per request, all scores of the batch in one flat
buffer, one softmax over it.  `causal_attention` is for prompt chunks, many queries of one
request.  `padded_attention` is what a straightforward batch would do, kept as the slow
comparison for the benchmark.

Queries arrive scaled by ``D ** -0.5``.  Letters are those of `arrays`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from wastesim.decode.arrays import Floats, Ints
from wastesim.decode.scratch import Scratch

# Few at once: less of the hidden triangle is computed and the scores stay in the cache.  A prompt
# of 300 tokens on `tiny`: 140,000 tokens/s with 32, 102,000 with 256.
_QUERIES_AT_ONCE = 32


class FlatScores:
    """The scores of a batch, request after request in one buffer; made once per step."""

    def __init__(
        self, lengths: Sequence[int], kv_heads: int, queries: int, scratch: Scratch
    ) -> None:
        heads = kv_heads * queries
        stops = np.cumsum(np.asarray(lengths, np.int64) * heads)  # [B]
        self._flat = scratch.get("scores", stops[-1])  # [sum of H * T]
        starts = [0, *stops.tolist()]
        self.parts = [
            self._flat[start : start + heads * length].reshape(kv_heads, queries, length)
            for start, length in zip(starts, lengths, strict=False)
        ]  # B x [G, M, T]
        self._lengths = np.repeat(lengths, heads)  # [B * H]
        self._starts: Ints = np.cumsum(self._lengths) - self._lengths  # [B * H]

    def exponentiate(self) -> Floats:
        """Turn scores into unnormalised weights in place; the sum of each row is returned."""
        flat = self._flat
        highest = np.maximum.reduceat(flat, self._starts)  # [B * H]
        np.subtract(flat, np.repeat(highest, self._lengths), out=flat)
        np.exp(flat, out=flat)
        return np.add.reduceat(flat, self._starts)  # [B * H]


def flat_attention(
    q: Floats, keys: Iterable[Floats], values: Iterable[Floats], scores: FlatScores
) -> Floats:
    """One query per request, ``[B, G, M, D]``, over its keys and its values [G, T, D].

    All keys are consumed before the first values, each only until the next is asked for.
    """
    for query, stored, part in zip(q, keys, scores.parts, strict=True):
        np.matmul(query, stored.swapaxes(1, 2), out=part)  # [G, M, T]
    sums = scores.exponentiate()
    mixed = np.empty_like(q)  # [B, G, M, D]
    for part, stored, out in zip(scores.parts, values, mixed, strict=True):
        np.matmul(part, stored, out=out)
    # Dividing D numbers per head is cheaper than dividing T weights.
    mixed /= sums.reshape(*q.shape[:3], 1)
    return mixed


def causal_attention(q: Floats, keys: Floats, values: Floats) -> Floats:
    """The newest N queries ``[N, G, M, D]`` of one request over keys and values ``[G, T, D]``.

    Token i of them sees the T - N + i + 1 tokens up to and including itself.
    """
    first = keys.shape[1] - len(q)
    parts = []
    for start in range(0, len(q), _QUERIES_AT_ONCE):
        part = q[start : start + _QUERIES_AT_ONCE]
        seen = first + start + len(part)
        parts.append(_causal_part(part, keys[:, :seen], values[:, :seen]))
    return np.concatenate(parts)  # [N, G, M, D]


def _causal_part(q: Floats, keys: Floats, values: Floats) -> Floats:
    count, kv_heads, queries, dim = q.shape
    stacked = q.transpose(1, 2, 0, 3).reshape(kv_heads, queries * count, dim)  # [G, M * N, D]
    scores = np.matmul(stacked, keys.swapaxes(1, 2)).reshape(
        kv_heads, queries, count, -1
    )  # [G, M, N, T]
    tokens = scores.shape[-1]
    later = np.triu(np.ones((count, count), bool), k=1)  # [N, N]
    scores[..., tokens - count :][..., later] = -np.inf
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    sums = scores.sum(axis=-1, keepdims=True)  # [G, M, N, 1]
    flat = scores.reshape(kv_heads, queries * count, tokens)
    mixed: Floats = np.matmul(flat, values).reshape(q.transpose(1, 2, 0, 3).shape)
    mixed /= sums  # [G, M, N, D]
    return mixed.transpose(2, 0, 1, 3)  # [N, G, M, D]


def padded_attention(q: Floats, keys: Floats, values: Floats, lengths: Ints) -> Floats:
    """``[B, G, M, D]`` over K and V padded to the longest request, ``[B, G, T, D]``."""
    scores = np.matmul(q, keys.swapaxes(2, 3))  # [B, G, M, T]
    hidden = np.arange(keys.shape[2]) >= lengths[:, None]  # [B, T]
    scores = np.where(hidden[:, None, None, :], np.float32(-np.inf), scores)
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    mixed: Floats = np.matmul(scores, values)
    return mixed
