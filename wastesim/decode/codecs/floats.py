"""Caches of narrow floats: float32 and float16 by the machine, bfloat16 and fp8 by integers."""

from __future__ import annotations

import numpy as np

from wastesim.decode.arrays import Bytes, Floats
from wastesim.decode.codecs.narrow import NarrowFloat, narrowed, table


class NativeFloat:
    """A dtype that NumPy converts."""

    def __init__(self, dim: int, dtype: type[np.float32] | type[np.float16]) -> None:
        self._dtype = np.dtype(dtype)
        self._largest = np.float32(np.finfo(dtype).max)
        self.row_bytes = dim * self._dtype.itemsize

    def encode(self, rows: Floats) -> Bytes:
        """``[..., D]`` to ``[..., row_bytes]``; what is too large becomes the largest number."""
        bounded = np.clip(rows, -self._largest, self._largest)
        return np.ascontiguousarray(bounded.astype(self._dtype)).view(np.uint8)

    def decode(self, stored: Bytes) -> Floats:
        """``[..., row_bytes]`` to ``[..., D]``."""
        return np.ascontiguousarray(stored).view(self._dtype).astype(np.float32)


class IntegerFloat:
    """A narrow float that NumPy does not have, by integer arithmetic and a table."""

    def __init__(self, dim: int, kind: NarrowFloat) -> None:
        self._kind = kind
        bits = 1 + kind.exponent + kind.significand
        self._codes = np.dtype(np.uint8 if bits == 8 else np.uint16)
        self.row_bytes = dim * self._codes.itemsize

    def encode(self, rows: Floats) -> Bytes:
        """``[..., D]`` to ``[..., row_bytes]``."""
        return narrowed(rows, self._kind).astype(self._codes).view(np.uint8)

    def decode(self, stored: Bytes) -> Floats:
        """``[..., row_bytes]`` to ``[..., D]``."""
        codes = np.ascontiguousarray(stored).view(self._codes)
        numbers: Floats = table(self._kind)[codes]
        return numbers
