"""The decode's memory: an address space of cells, each with room for one token's K and V.

A span of n cells owns n cells' bytes, laid out inside it as ``[L, k|v, G, n, D]``, so that a
contiguous request's keys are one strided view and a whole slot can go back to the system.
Spans are never merged: the same cells cut differently mean other addresses, so growing a span
in place is a copy.  Seen as rows of D numbers (R per cell), the rows of a span's i-th cell are::

    start * R + ((layer * 2 + k_or_v) * G + kv_head) * n + i

=================  ==================================  =============================
rows of            range                               given back by
=================  ==================================  =============================
one span           [start * R, stop * R)               `release` of its placement
one KV head in it  n rows from the formula with i = 0  with its span
the last page      rest behind capacity                the end of the arena
=================  ==================================  =============================

Letters are those of `arrays`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from wastesim.address import Placement, Span
from wastesim.decode.arrays import Floats, Ints, Stored
from wastesim.decode.geometry import DecodeModel
from wastesim.decode.pages import PAGE, PagedMemory, distinct_pages
from wastesim.errors import AllocationError, ConfigError

CACHE_DTYPES: dict[str, np.dtype[np.floating[Any]]] = {
    "float32": np.dtype(np.float32),
    "float16": np.dtype(np.float16),
}


class Arena:
    """`capacity_cells` cells of `model`, untouched (hence not resident) until written."""

    def __init__(self, model: DecodeModel, capacity_cells: int, dtype: str = "float32") -> None:
        if dtype not in CACHE_DTYPES:
            known = ", ".join(CACHE_DTYPES)
            raise ConfigError(f"'kv_cache_dtype' must be one of {known} (got '{dtype}')")
        self.model = model
        self.capacity_cells = capacity_cells
        self.dtype = CACHE_DTYPES[dtype]
        self.cell_bytes = model.kv_bytes_per_cell(self.dtype.itemsize)
        self._memory = PagedMemory(capacity_cells * self.cell_bytes)
        used = self._memory.bytes[: capacity_cells * self.cell_bytes]
        self.rows: Stored = used.view(self.dtype).reshape(-1, model.head_dim)  # [cells * R, D]

    def check(self, placement: Placement) -> None:
        """AllocationError unless every span has cells and lies inside the arena."""
        for span in placement.spans:
            if not 0 <= span.start < span.stop <= self.capacity_cells:
                raise AllocationError(
                    f"span [{span.start}, {span.stop}) is not inside the {self.capacity_cells} "
                    f"cells of the pool"
                )

    def view(self, span: Span) -> Stored:
        """The span's own bytes, not copied."""
        model, per_cell = self.model, self.model.rows_per_cell
        rows = self.rows[span.start * per_cell : span.stop * per_cell]
        shape = (model.layers, 2, model.kv_heads, span.cells, model.head_dim)
        return rows.reshape(shape)  # [L, 2, G, n, D]

    def units(self, rows: int) -> Stored:
        """The arena in units of `rows` rows: one KV head of one layer of an aligned block."""
        whole = len(self.rows) // rows * rows
        return self.rows[:whole].reshape(-1, rows * self.model.head_dim)  # [cells * R / n, n * D]

    def read(self, placement: Placement, tokens: int) -> Floats:
        """Copy of the first `tokens` tokens' K and V, as float32."""
        parts = [self.view(span)[..., :cells, :] for span, cells in _filled(placement, tokens)]
        if not parts:
            return self._nothing()
        return np.concatenate(parts, axis=3, dtype=np.float32)  # [L, 2, G, T, D]

    def read_half(self, placement: Placement, layer: int, half: int, tokens: int) -> Floats:
        """Copy of one layer's keys (half 0) or values (half 1), as float32."""
        parts = [self.view(span)[layer, half, :, :n] for span, n in _filled(placement, tokens)]
        return np.concatenate(parts, axis=1, dtype=np.float32)  # [G, T, D]

    def write(self, placement: Placement, contents: Floats) -> None:
        """Store ``[L, 2, G, T, D]`` as the placement's first T tokens."""
        done = 0
        for span, cells in _filled(placement, contents.shape[3]):
            self.view(span)[..., :cells, :] = contents[..., done : done + cells, :]
            done += cells

    def copy(self, old: Placement, new: Placement, tokens: int) -> None:
        """Move `tokens` tokens from `old`, which is released, to `new`.

        The contents wait outside the arena, because `new` may overlap `old`: a span that grows
        where it stands keeps its cells and changes their layout.
        """
        contents = self.read(old, tokens)
        self.release(old)
        self.write(new, contents)

    def release(self, placement: Placement) -> None:
        """Zero the placement's cells and give back every page this empties."""
        for start, stop in _joined(placement.spans):
            self._memory.clear(start * self.cell_bytes, stop * self.cell_bytes)

    def count_written(self, placement: Placement) -> int:
        """Cells of the placement in which anything is not zero."""
        return sum(self._written_in(span) for span in placement.spans)

    def _written_in(self, span: Span) -> int:
        # The bits of all heads or-ed together: five times faster than any() over floats.
        bits = self.view(span).view(f"u{self.dtype.itemsize}")
        heads = bits.reshape(self.model.rows_per_cell, -1)  # [R, n * D]
        either = np.bitwise_or.reduce(heads, axis=0).reshape(span.cells, -1)  # [n, D]
        return int(np.count_nonzero(either.any(axis=1)))

    def resident_bytes(self) -> int | None:
        """What the operating system says this arena occupies; None where it does not tell."""
        return self._memory.resident_bytes()

    def page_ledger_bytes(self, written: Iterable[tuple[Placement, int]]) -> int:
        """Bytes of the pages that hold these placements' first tokens, each page once."""
        held = [
            (span.start, span.cells, cells)
            for placement, tokens in written
            for span, cells in _filled(placement, tokens)
        ]
        if not held:
            return 0
        starts, stops = self._byte_ranges(np.array(held, np.int64))
        return distinct_pages(starts, stops) * PAGE

    def _byte_ranges(self, held: Ints) -> tuple[Ints, Ints]:
        """Byte ranges of the written rows of every KV head of every span."""
        start, cells, filled = (held[:, i, None] for i in range(3))  # [spans, 1]
        heads = np.arange(self.model.rows_per_cell)  # [R]
        row_bytes = self.model.head_dim * self.dtype.itemsize
        first = (start * self.model.rows_per_cell + heads * cells) * row_bytes  # [spans, R]
        return first.ravel(), (first + filled * row_bytes).ravel()

    def _nothing(self) -> Floats:
        model = self.model
        return np.empty((model.layers, 2, model.kv_heads, 0, model.head_dim), np.float32)


def _filled(placement: Placement, tokens: int) -> list[tuple[Span, int]]:
    """Spans that hold the first `tokens` tokens, each with how many of them."""
    filled, left = [], tokens
    for span in placement.spans:
        if left <= 0:
            break
        filled.append((span, min(left, span.cells)))
        left -= span.cells
    return filled


def _joined(spans: Iterable[Span]) -> list[tuple[int, int]]:
    """Ranges of cells with neighbours joined, so that a page inside a run is given back whole."""
    joined: list[tuple[int, int]] = []
    for span in sorted(spans):
        if joined and span.start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], span.stop))
        else:
            joined.append((span.start, span.stop))
    return joined
