"""Hadamard rotation: outliers of single channels are spread over all before they are rounded."""

from __future__ import annotations

from functools import cache

import numpy as np

from wastesim.decode.arrays import Bytes, Floats
from wastesim.decode.codecs.protocol import Codec


class Rotated:
    """Another codec's storage of vectors turned by an orthogonal matrix, its own inverse."""

    def __init__(self, dim: int, inner: Codec) -> None:
        self._matrix = hadamard(dim)
        self._inner = inner
        self.row_bytes = inner.row_bytes

    def encode(self, rows: Floats) -> Bytes:
        """``[..., D]`` to ``[..., row_bytes]``."""
        return self._inner.encode(rows @ self._matrix)

    def decode(self, stored: Bytes) -> Floats:
        """``[..., row_bytes]`` to ``[..., D]``."""
        numbers: Floats = self._inner.decode(stored) @ self._matrix
        return numbers


@cache
def hadamard(dim: int) -> Floats:
    """Sylvester's matrix of a power of two, scaled to keep lengths."""
    matrix = np.ones((1, 1), np.float32)
    while len(matrix) < dim:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return np.ascontiguousarray(matrix * np.float32(dim**-0.5))
