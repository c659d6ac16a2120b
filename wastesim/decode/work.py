"""What a step of generating costs: columns of K and V, products, bytes.  Counted while it runs.

For one step that projects n tokens and lets each of them look at those before it, over L layers::

    columns computed   n L
    columns read       (tokens seen by each query, summed) L
    FLOP               2 n (matrices) + 2 (head) + 4 H D (columns read)
    bytes              weights once + 8 G D (columns computed + columns in memory)

A column is one token's K and V in one layer.  Without a cache a step over t tokens has n = t and
t (t + 1) / 2 columns read per layer; with one, n = 1 and t.  Letters are those of `arrays`.
"""

from __future__ import annotations

from dataclasses import dataclass

from wastesim.decode.geometry import DecodeModel


@dataclass(frozen=True)
class Work:
    """One step, or several added up."""

    projected_tokens: int = 0
    columns_computed: int = 0
    columns_read: int = 0
    columns_held: int = 0  # in memory while they are read
    vectors_turned: int = 0  # by RoPE
    sampled: int = 0
    steps: int = 0

    def __add__(self, other: Work) -> Work:
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Work(*(mine + theirs for mine, theirs in pairs))

    def flop(self, model: DecodeModel) -> int:
        """Multiplications and additions of all matrix products and of RoPE."""
        attention = 4 * model.q_heads * model.head_dim * self.columns_read
        return (
            2 * self.projected_tokens * matrix_numbers(model)
            + 2 * self.sampled * model.vocab * model.width
            + attention
            + 3 * model.head_dim * self.vectors_turned
        )

    def bytes(self, model: DecodeModel) -> int:
        """Weights read once per step, and every column written or read once, in float32."""
        weights = matrix_numbers(model) + model.vocab * model.width
        column = 2 * model.kv_heads * model.head_dim
        return 4 * (self.steps * weights + column * (self.columns_computed + self.columns_held))


def matrix_numbers(model: DecodeModel) -> int:
    """Numbers in the matrices of all layers, embedding and head apart."""
    attended, kv_width = model.q_heads * model.head_dim, model.kv_heads * model.head_dim
    return model.layers * model.width * (2 * attended + 2 * kv_width + 3 * model.ffn)
