"""Buffers that are kept from step to step.

A fresh buffer of some hundred KiB comes from the system page by page, zeroed, and goes back when
it is freed: whether the C library keeps it depends on what else was freed before.  On `tiny` with
128 paged requests that was 7.1 against 4.6 ms per step.
"""

from __future__ import annotations

import numpy as np

from wastesim.decode.arrays import Floats


class Scratch:
    """Named one-dimensional buffers that grow and are never given back."""

    def __init__(self) -> None:
        self._buffers: dict[str, Floats] = {}

    def get(self, name: str, size: int) -> Floats:
        """`size` numbers of any value; they are the same memory for the same name."""
        held = self._buffers.get(name)
        if held is None or len(held) < size:
            held = self._buffers[name] = np.empty(size + size // 4, np.float32)
        return held[:size]
