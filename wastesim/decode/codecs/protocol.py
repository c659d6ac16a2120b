"""What a cache dtype is: vectors of D numbers to bytes, and back."""

from __future__ import annotations

from typing import Protocol

from wastesim.decode.arrays import Bytes, Floats


class Codec(Protocol):
    """Stores each vector on its own; scales and zero points are among its bytes.

    A vector that is not zero never encodes to zero bytes unless it underflows: written cells are
    found by that.
    """

    @property
    def row_bytes(self) -> int:
        """Bytes of one vector."""

    def encode(self, rows: Floats) -> Bytes:
        """``[..., D]`` to ``[..., row_bytes]``."""

    def decode(self, stored: Bytes) -> Floats:
        """``[..., row_bytes]`` to ``[..., D]``."""
