"""Three attentions against one written with loops."""

from __future__ import annotations

import numpy as np
import pytest

from wastesim.decode import attention
from wastesim.decode.attention import (
    FlatScores,
    causal_attention,
    flat_attention,
    padded_attention,
)
from wastesim.decode.scratch import Scratch

G, M, D = 2, 3, 8
SCRATCH = Scratch()


def by_hand(query: np.ndarray, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
    """One query ``[G, M, D]`` in float64, head by head."""
    mixed = np.empty(query.shape)
    for g, m in np.ndindex(G, M):
        weights = np.exp(keys[g].astype(float) @ query[g, m].astype(float))
        mixed[g, m] = weights @ values[g] / weights.sum()
    return mixed


def drawn(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


LENGTHS = [5, 1, 30, 17]


def test_flat_attention_softmaxes_each_request_over_its_own_tokens():
    q = drawn(4, G, M, D)
    keys = [drawn(G, length, D, seed=1 + length) for length in LENGTHS]
    values = [drawn(G, length, D, seed=99 + length) for length in LENGTHS]
    found = flat_attention(q, keys, values, FlatScores(LENGTHS, G, M, SCRATCH))
    for b in range(4):
        assert np.allclose(found[b], by_hand(q[b], keys[b], values[b]), atol=1e-5)


def test_flat_attention_survives_huge_scores():
    q = drawn(2, G, M, D) * 1e4
    keys = [drawn(G, length, D, seed=length) for length in (3, 9)]
    found = flat_attention(q, keys, keys, FlatScores([3, 9], G, M, SCRATCH))
    assert np.isfinite(found).all()


def test_padded_attention_equals_flat_attention():
    q, lengths = drawn(4, G, M, D), np.array(LENGTHS)
    keys, values = drawn(4, G, 30, D, seed=1), drawn(4, G, 30, D, seed=2)
    flat = flat_attention(
        q,
        [keys[b, :, :n] for b, n in enumerate(LENGTHS)],
        [values[b, :, :n] for b, n in enumerate(LENGTHS)],
        FlatScores(LENGTHS, G, M, SCRATCH),
    )
    assert np.allclose(padded_attention(q, keys, values, lengths), flat, atol=1e-5)


@pytest.mark.parametrize("at_once", [2, 256])
def test_causal_attention_sees_nothing_later(monkeypatch, at_once):
    monkeypatch.setattr(attention, "_QUERIES_AT_ONCE", at_once)
    q, keys, values = drawn(7, G, M, D), drawn(G, 20, D, seed=1), drawn(G, 20, D, seed=2)
    found = causal_attention(q, keys, values)
    for i in range(7):
        seen = 20 - 7 + i + 1
        expected = by_hand(q[i], keys[:, :seen], values[:, :seen])
        assert np.allclose(found[i], expected, atol=1e-5)
