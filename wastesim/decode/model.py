"""The transformer: one step over a ragged batch of decoded tokens and prompt chunks.

`forward` knows neither requests nor memory.  It hands each layer's queries, keys and values to
`attend`, which stores the keys and values wherever it likes and returns what the queries found;
the arena (`step`) and the chapter's cache (`kv_cache`) are two such places.

RoPE is applied before K is stored, in the interleaved convention (pairs 2i, 2i + 1 are turned
together), as in the original Llama and GGUF files: a pair is then one complex number.
Letters are those of `arrays`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from wastesim.decode.arrays import Floats, Ints
from wastesim.decode.geometry import DecodeModel
from wastesim.decode.weights import LayerWeights, Weights

# (layer, queries [N, G, M, D], keys and values [N, 2 * G, D]) -> [N, G, M, D]
Attend: TypeAlias = Callable[[int, Floats, Floats], Floats]


_FEW = 4  # rows from which one product is faster
_IN_CACHE = 2**17  # numbers of a matrix that stays in the second-level cache


class Transformer:
    """Weights and the arithmetic over them."""

    def __init__(self, weights: Weights, *, turn_keys: bool = True) -> None:
        one_blas_thread()
        self.weights = weights
        self.model = weights.model
        # Without turning keys, `attend` is given them as projected and has to turn them itself.
        self._turned_heads = self.model.q_heads + (self.model.kv_heads if turn_keys else 0)
        self._turns = _turns(self.model, 1024)  # [positions, D / 2]

    def forward(self, tokens: Ints, positions: Ints, sampled: Ints, attend: Attend) -> Floats:
        """Logits ``[sampled, V]`` of the `sampled` rows of a batch of N tokens."""
        return self.logits(self.hidden(tokens, positions, attend)[sampled])

    def hidden(self, tokens: Ints, positions: Ints, attend: Attend) -> Floats:
        """What the last layer leaves of each token, ``[N, E]``."""
        x = self.weights.embedding[tokens]  # [N, E]
        turns = self.turns(positions)  # [N, 1, D / 2]
        for index, layer in enumerate(self.weights.layers):
            x += self._attention(index, layer, x, turns, attend)
            x += self._feed_forward(layer, x)
        return x

    def logits(self, hidden: Floats) -> Floats:
        """``[N, E]`` to ``[N, V]``."""
        normed = rms_norm(hidden, self.weights.norm, self.model.rms_eps)
        return product(normed, self.weights.head)

    def _attention(
        self, index: int, layer: LayerWeights, x: Floats, turns: NDArray[np.complex64], at: Attend
    ) -> Floats:
        model, count = self.model, len(x)
        heads = model.q_heads + 2 * model.kv_heads
        normed = rms_norm(x, layer.attention_norm, model.rms_eps)
        qkv = product(normed, layer.qkv).reshape(count, heads, model.head_dim)  # [N, H + 2 * G, D]
        rotate(qkv[:, : self._turned_heads], turns)
        q = qkv[:, : model.q_heads] * np.float32(model.head_dim**-0.5)  # [N, H, D]
        grouped = q.reshape(count, model.kv_heads, model.queries_per_kv_head, model.head_dim)
        mixed = at(index, grouped, qkv[:, model.q_heads :])  # [N, G, M, D]
        return product(mixed.reshape(count, -1), layer.out)  # [N, E]

    def _feed_forward(self, layer: LayerWeights, x: Floats) -> Floats:
        normed = rms_norm(x, layer.ffn_norm, self.model.rms_eps)
        both = product(normed, layer.gate_up)  # [N, 2 * F]
        gate, up = both[:, : self.model.ffn], both[:, self.model.ffn :]
        return product(silu(gate) * up, layer.down)  # [N, E]

    def turns(self, positions: Ints) -> NDArray[np.complex64]:
        """What a head at each position is turned by, ``[N, 1, D / 2]``."""
        needed = int(positions.max()) + 1
        if needed > len(self._turns):
            self._turns = _turns(self.model, max(needed, 2 * len(self._turns)))
        return self._turns[positions, None, :]


def product(x: Floats, matrix: Floats) -> Floats:
    """``x @ matrix``; two or three rows one by one where the matrix leaves the cache.

    OpenBLAS packs the whole matrix for a product with two rows.  All layers of SmolLM2, ms, this
    way and that: 2 rows 59 and 102, 3 rows 80 and 134, 4 rows 92 and 86 (one row: 33).
    """
    if 1 < len(x) < _FEW and matrix.size > _IN_CACHE:
        return np.stack([row @ matrix for row in x])
    whole: Floats = x @ matrix
    return whole


def rms_norm(x: Floats, weight: Floats, eps: float) -> Floats:
    """``x / sqrt(mean(x ** 2) + eps) * weight`` over the last axis."""
    squares = np.einsum("ne,ne->n", x, x)  # [N]
    scale = 1.0 / np.sqrt(squares / np.float32(x.shape[1]) + np.float32(eps))
    normed: Floats = x * scale[:, None] * weight  # [N, E]
    return normed


def rotate(heads: Floats, turns: NDArray[np.complex64]) -> None:
    """Turn each pair (2i, 2i + 1) of ``[N, heads, D]`` by its angle, in place."""
    pairs = heads.view(np.complex64)  # [N, heads, D / 2]
    pairs *= turns


def rotated(heads: Floats, turns: NDArray[np.complex64]) -> Floats:
    """A turned copy of ``[..., D]``, the turns broadcast over what is before D."""
    copy = np.ascontiguousarray(heads)
    turned: Floats = (copy.view(np.complex64) * turns).view(np.float32)
    return turned


def silu(x: Floats) -> Floats:
    """``x * sigmoid(x)``, by tanh because exp(-x) overflows."""
    half = x * np.float32(0.5)
    gated: Floats = half * np.tanh(half) + half
    return gated


def greedy(logits: Floats) -> Ints:
    """The likeliest token of each row; the lowest id among equals."""
    likeliest: Ints = np.argmax(logits, axis=1)
    return likeliest


@cache
def one_blas_thread() -> object:
    """Hold BLAS to one thread for the rest of the process.

    Matrices this small gain nothing from a second thread, and with two threads on a busy machine
    medians rise 10 to 100 times.
    """
    return threadpool_limits(limits=1, user_api="blas")


def _turns(model: DecodeModel, positions: int) -> NDArray[np.complex64]:
    """Unit complex numbers ``[positions, D / 2]`` at angles position * base ** (-2i / D)."""
    frequency = model.rope_base ** (-np.arange(0, model.head_dim, 2) / model.head_dim)
    angles = np.arange(positions)[:, None] * frequency
    turns: NDArray[np.complex64] = np.exp(1j * angles).astype(np.complex64)
    return turns
