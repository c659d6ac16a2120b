"""The newest tokens of one request in full precision, beside what the arena holds of them.

Their cells are written like all others, so that every count stays exact; reading looks here
first.  The bytes are a second copy and are counted apart.  Letters are those of `arrays`.
"""

from __future__ import annotations

import numpy as np

from wastesim.config.decode import CacheFormat
from wastesim.decode.arrays import Floats
from wastesim.decode.banded import KV, Bands
from wastesim.decode.geometry import DecodeModel


class Recent:
    """Exact K and V of the newest tokens, layer by layer."""

    def __init__(self, model: DecodeModel, how: CacheFormat) -> None:
        self.bands = Bands(how.recent_tokens, how.recent_of == "both")
        self._heads = model.kv_heads
        nothing = np.empty((2 * model.kv_heads, 0, model.head_dim), np.float32)
        self._tails: list[Floats] = [nothing] * model.layers  # L x [2 * G, n, D]

    @property
    def nbytes(self) -> int:
        """Bytes held now, values included where those are read exactly."""
        used = 1.0 if self.bands.recent_values else 0.5
        return int(used * sum(tail.nbytes for tail in self._tails))

    def push(self, layer: int, kv: Floats) -> KV:
        """Add the K and V ``[N, 2 * G, D]`` of new tokens; returns them behind the earlier ones.

        What is returned reaches far enough back for the first of the new tokens.
        """
        longer = np.concatenate([self._tails[layer], kv.swapaxes(0, 1)], axis=1)  # [2 * G, n, D]
        self._tails[layer] = longer[:, -self.bands.recent :]
        return KV(longer[: self._heads], longer[self._heads :])
