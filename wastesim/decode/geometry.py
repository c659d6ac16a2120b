"""Shapes of the transformers that can be executed, by name.

These are the *executed* models.  The accounted one (say Llama-3-8B) lives in the catalog; the
two meet only in an experiment, which says which is which.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches

from wastesim.errors import ConfigError


@dataclass(frozen=True)
class DecodeModel:
    """Shape of a Llama-like transformer: grouped-query attention, SwiGLU, RoPE.

    `source` is the file with its weights; without one they are drawn.
    """

    name: str
    layers: int
    width: int
    q_heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    vocab: int
    rope_base: float = 10_000.0
    rms_eps: float = 1e-5
    context: int | None = None  # positions it was trained for
    source: str | None = None

    def __post_init__(self) -> None:
        if self.q_heads % self.kv_heads:
            raise ConfigError(
                f"'q_heads' must be a multiple of 'kv_heads' (got {self.q_heads}, {self.kv_heads})"
            )
        if self.head_dim % 2:
            raise ConfigError(f"'head_dim' must be even for RoPE (got {self.head_dim})")

    @property
    def queries_per_kv_head(self) -> int:
        """Query heads that share one KV head."""
        return self.q_heads // self.kv_heads

    @property
    def rows_per_cell(self) -> int:
        """Vectors of `head_dim` numbers that one token stores: K and V in every layer."""
        return self.layers * 2 * self.kv_heads

    @property
    def weights(self) -> int:
        """Numbers in all its matrices and norms, the head counted apart from the embedding."""
        kv_width, attended = self.kv_heads * self.head_dim, self.q_heads * self.head_dim
        attention = self.width * (2 * attended + 2 * kv_width)
        layer = attention + 3 * self.width * self.ffn + 2 * self.width
        return self.layers * layer + 2 * self.vocab * self.width + self.width

    def kv_bytes_per_cell(self, itemsize: int) -> int:
        """Bytes of one token's K and V, at `itemsize` bytes per number."""
        return self.rows_per_cell * self.head_dim * itemsize


_MODELS = {
    model.name: model
    for model in (
        # A float32 cell is 512 B: eight share a page, and a block of 16 is two whole pages.
        DecodeModel("tiny", 2, 64, 4, 2, 16, ffn=176, vocab=256),
        DecodeModel("small", 4, 128, 4, 2, 32, ffn=344, vocab=512),
    )
}


def decode_models() -> tuple[str, ...]:
    """Names of the models that can be executed."""
    return tuple(_MODELS)


def decode_model(name: str) -> DecodeModel:
    """The shape called `name`; ConfigError with the known names otherwise."""
    if name in _MODELS:
        return _MODELS[name]
    close = get_close_matches(name, _MODELS, n=1)
    hint = f", did you mean '{close[0]}'?" if close else ""
    raise ConfigError(f"'model' must be one of {', '.join(_MODELS)} (got '{name}'){hint}")
