"""The judge: a causal forward pass without a cache, written out plainly in float64.

It shares the weights with the decode and nothing else: no arena, no batch, no attention code.
Checking a reply costs one pass: fed the tokens that were generated, position t must predict
token t + 1.  By induction that equals generating naively, a whole pass for every token.

Letters are those of `arrays`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wastesim.decode.arrays import Doubles, Floats
from wastesim.decode.weights import LayerWeights, Weights

# float32 logits of `tiny` are within about 1e-5 of these (`tests/decode/test_reference.py`
# measures it).  Both candidates can be off, so a gap of twice that may flip; the rest is room
# for other BLAS kernels.  Gaps are 0.3 on average: one token in some thousands is this close.
NEAR_TIE = 1e-4


@dataclass(frozen=True)
class Verification:
    """How many generated tokens equal the reference's choice.

    A near tie is a token that differs although the reference itself prefers its own choice by
    less than `NEAR_TIE`; every other difference is a mismatch.
    """

    tokens: int
    equal: int
    near_ties: int
    mismatches: int

    @property
    def passed(self) -> bool:
        """Whether nothing differs beyond near ties."""
        return self.mismatches == 0

    def __add__(self, other: Verification) -> Verification:
        return Verification(
            self.tokens + other.tokens,
            self.equal + other.equal,
            self.near_ties + other.near_ties,
            self.mismatches + other.mismatches,
        )

    def __str__(self) -> str:
        text = f"{self.equal:,} of {self.tokens:,} tokens equal the uncached reference"
        return f"{text}, {self.near_ties:,} near ties, {self.mismatches:,} mismatches"


NOTHING_VERIFIED = Verification(0, 0, 0, 0)


def generate_uncached(weights: Weights, prompt: Sequence[int], count: int) -> list[int]:
    """`count` greedy tokens after `prompt`, computing everything anew for each."""
    tokens = list(prompt)
    for _ in range(count):
        tokens.append(int(np.argmax(uncached_logits(weights, tokens)[-1])))
    return tokens[len(prompt) :]


def check_tokens(weights: Weights, prompt: Sequence[int], generated: Sequence[int]) -> Verification:
    """Compare every generated token with the reference's choice at its position."""
    return judge(weights, prompt, generated)[0]


def judge(
    weights: Weights, prompt: Sequence[int], generated: Sequence[int]
) -> tuple[Verification, float]:
    """The comparison, and the smallest gap between the reference's first and second choice."""
    if not generated:
        return NOTHING_VERIFIED, float("inf")
    tokens = [*prompt, *generated]
    logits = uncached_logits(weights, tokens[:-1], len(prompt) - 1)  # [generated, V]
    rows = np.arange(len(generated))
    best = np.argmax(logits, axis=1)
    differs = best != np.asarray(generated)
    lost = logits[rows, best] - logits[rows, np.asarray(generated)]
    near = int(np.count_nonzero(differs & (lost < NEAR_TIE)))
    equal = int(np.count_nonzero(~differs))
    second, first = np.partition(logits, -2, axis=1)[:, -2:].T
    found = Verification(len(generated), equal, near, len(generated) - equal - near)
    return found, float((first - second).min())


def uncached_logits(weights: Weights, tokens: Sequence[int], first: int = 0) -> Doubles:
    """Logits ``[T - first, V]`` after each of `tokens` from the `first` on."""
    x = _double(weights.embedding)[np.asarray(tokens)]  # [T, E]
    eps = weights.model.rms_eps
    for layer in weights.layers:
        x = x + _attention(weights, layer, _normalise(x, layer.attention_norm, eps))
        x = x + _feed_forward(weights, layer, _normalise(x, layer.ffn_norm, eps))
    logits: Doubles = _normalise(x[first:], weights.norm, eps) @ _double(weights.head)
    return logits


def _attention(weights: Weights, layer: LayerWeights, x: Doubles) -> Doubles:
    """Every head on its own: scores of all pairs, the future hidden, softmax, mix."""
    model = weights.model
    heads = np.split(x @ _double(layer.qkv), model.q_heads + 2 * model.kv_heads, axis=1)
    queries = heads[: model.q_heads]  # H x [T, D]
    keys = heads[model.q_heads : model.q_heads + model.kv_heads]  # G x [T, D]
    values = heads[model.q_heads + model.kv_heads :]  # G x [T, D]
    keys = [_rope(key, model.rope_base) for key in keys]
    mixed = []
    for index, query in enumerate(queries):
        shared = index // (model.q_heads // model.kv_heads)
        scores = _rope(query, model.rope_base) @ keys[shared].T / np.sqrt(model.head_dim)
        mixed.append(_causal_softmax(scores) @ values[shared])  # [T, D]
    out: Doubles = np.concatenate(mixed, axis=1) @ _double(layer.out)  # [T, E]
    return out


def _rope(x: Doubles, base: float) -> Doubles:
    """Turn pairs (2i, 2i + 1) of row t by the angle t / base ** (2i / D)."""
    tokens, dim = x.shape
    turned = np.empty_like(x)
    for even in range(0, dim, 2):
        angle = np.arange(tokens) / base ** (even / dim)  # [T]
        turned[:, even] = x[:, even] * np.cos(angle) - x[:, even + 1] * np.sin(angle)
        turned[:, even + 1] = x[:, even] * np.sin(angle) + x[:, even + 1] * np.cos(angle)
    return turned


def _causal_softmax(scores: Doubles) -> Doubles:
    hidden = np.triu(np.full(scores.shape, -np.inf), k=1)  # [T, T]
    shifted = scores + hidden
    weights: Doubles = np.exp(shifted - shifted.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    return weights


def _feed_forward(weights: Weights, layer: LayerWeights, x: Doubles) -> Doubles:
    gate, up = np.split(x @ _double(layer.gate_up), 2, axis=1)  # [T, F]
    down: Doubles = (gate / (1 + np.exp(-gate)) * up) @ _double(layer.down)
    return down


def _normalise(x: Doubles, weight: Floats, eps: float) -> Doubles:
    normed: Doubles = x / np.sqrt(np.mean(x**2, axis=1, keepdims=True) + eps) * _double(weight)
    return normed


def _double(array: Floats) -> Doubles:
    return array.astype(np.float64)
