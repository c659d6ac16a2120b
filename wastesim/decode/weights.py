"""Weights: what a transformer of some shape holds, and how the seeded ones are drawn.

A randomly drawn model serves here as a detector: a wrong address must change its tokens.
So it has to be lively, which fixes the scales below.  Attention must matter (an allocator's bug
reaches the logits only through it) and must be peaked, or one wrong cell among 300 is averaged
away; the head is untied, because a tied random one falls into repeating about two tokens.

Matrices are C-order ``[in, out]``.  Letters are those of `arrays`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from wastesim.decode.arrays import Floats
from wastesim.decode.geometry import DecodeModel

WEIGHTS_SEED = 20_240_501  # apart from the run's seed: every run decodes with the same model

# Standard deviations for inputs of unit variance.  With scores of deviation s, attention over
# many tokens looks at about one in exp(s**2): GAIN_SCORE = 2 makes that one in 55.
# Measured on `tiny`: zeroing one stored cell of 100 changes a reply of 32 tokens in 94 % of
# requests, one of 400 in 55 %; 78 of 128 tokens are distinct; the top two logits are 0.24 apart
# (median).  With GAIN_SCORE 1 or 3 one wrong cell in 400 shows in 41 % or 45 %.
GAIN_SCORE = 2.0
GAIN_VALUE = 2.0
GAIN_FFN = 1.5


@dataclass(frozen=True)
class LayerWeights:
    """One layer; Q, K and V are one matrix, and so are the gate and up projections."""

    attention_norm: Floats  # [E]
    qkv: Floats  # [E, (H + G + G) * D]
    out: Floats  # [H * D, E]
    ffn_norm: Floats  # [E]
    gate_up: Floats  # [E, 2 * F]
    down: Floats  # [F, E]


@dataclass(frozen=True)
class Weights:
    """All numbers of one model, and the shape they belong to."""

    model: DecodeModel
    embedding: Floats  # [V, E]
    layers: tuple[LayerWeights, ...]
    norm: Floats  # [E]
    head: Floats  # [E, V]


@cache
def seeded_weights(model: DecodeModel) -> Weights:
    """The fixed random weights of `model`; drawn once per process."""
    rng = np.random.default_rng(WEIGHTS_SEED)
    embedding = _normal(rng, 1.0, model.vocab, model.width)
    layers = tuple(_draw_layer(rng, model) for _ in range(model.layers))
    head = _matrix(rng, 1.0, model.width, model.vocab)
    return Weights(model, embedding, layers, _norm(rng, model.width), head)


def _draw_layer(rng: np.random.Generator, model: DecodeModel) -> LayerWeights:
    width, attended = model.width, model.q_heads * model.head_dim
    kv_width = model.kv_heads * model.head_dim
    score = GAIN_SCORE**0.5  # q and k share it: their product has deviation GAIN_SCORE
    qk = _matrix(rng, score, width, attended + kv_width)
    v = _matrix(rng, GAIN_VALUE, width, kv_width)
    return LayerWeights(
        attention_norm=_norm(rng, width),
        qkv=np.ascontiguousarray(np.concatenate([qk, v], axis=1)),
        out=_matrix(rng, GAIN_VALUE, attended, width),
        ffn_norm=_norm(rng, width),
        gate_up=_matrix(rng, GAIN_FFN, width, 2 * model.ffn),
        down=_matrix(rng, 1.0, model.ffn, width),
    )


def _normal(rng: np.random.Generator, deviation: float, *shape: int) -> Floats:
    return rng.normal(0.0, deviation, shape).astype(np.float32)


def _matrix(rng: np.random.Generator, gain: float, inputs: int, outputs: int) -> Floats:
    """A product with unit-variance inputs has deviation `gain`."""
    return _normal(rng, gain / inputs**0.5, inputs, outputs)


def _norm(rng: np.random.Generator, width: int) -> Floats:
    """Norm weights that differ from one, so that forgetting them shows."""
    return rng.uniform(0.8, 1.2, width).astype(np.float32)
