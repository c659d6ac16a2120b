"""The decode's memory: an address space of cells, each with room for one token's K and V.

A span of n cells owns n cells' bytes, laid out inside it as ``[L, k|v, G, n, D]``, so that a
contiguous request's keys are one strided view and a whole slot can go back to the system.
Spans are never merged: the same cells cut differently mean other addresses, so growing a span
in place is a copy.  Seen as rows (one vector each, R per cell), the rows of a span's i-th cell
are::

    start * R + ((layer * 2 + k_or_v) * G + kv_head) * n + i

=================  ==================================  =============================
rows of            range                               given back by
=================  ==================================  =============================
one span           [start * R, stop * R)               `release` of its placement
one KV head in it  n rows from the formula with i = 0  with its span
the last page      rest behind capacity                the end of the arena
=================  ==================================  =============================

A row is D float32, or what a codec makes of them: bytes, scales included.
Letters are those of `arrays`; ``W`` is the width of a row: D numbers, or its bytes.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from wastesim.address import Placement, Span
from wastesim.config.decode import CacheFormat
from wastesim.decode.arrays import Floats, Ints, Stored
from wastesim.decode.codecs import Codec, codec_for
from wastesim.decode.geometry import DecodeModel
from wastesim.decode.pages import PAGE, PagedMemory, distinct_pages
from wastesim.errors import AllocationError

FLOAT32 = CacheFormat()


class Arena:
    """`capacity_cells` cells of `model`, untouched (hence not resident) until written."""

    def __init__(self, model: DecodeModel, capacity_cells: int, how: CacheFormat = FLOAT32) -> None:
        self.model = model
        self.capacity_cells = capacity_cells
        #: None: float32 as computed.
        self.codec: Codec | None = None if how.plain else codec_for(how, model.head_dim)
        self._row_bytes = self.codec.row_bytes if self.codec else 4 * model.head_dim
        self.cell_bytes = model.rows_per_cell * self._row_bytes
        self._memory = PagedMemory(capacity_cells * self.cell_bytes)
        used = self._memory.bytes[: capacity_cells * self.cell_bytes]
        numbers = used if self.codec else used.view(np.float32)
        self.rows: Stored = numbers.reshape(capacity_cells * model.rows_per_cell, -1)  # [.., W]

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
        return rows.reshape(model.layers, 2, model.kv_heads, span.cells, -1)  # [L, 2, G, n, W]

    def put(self, rows: Ints, vectors: Floats) -> None:
        """Store vectors ``[..., D]`` in those rows."""
        self.rows[rows] = self.codec.encode(vectors) if self.codec else vectors

    def units(self, rows: int) -> Stored:
        """The arena in units of `rows` rows: one KV head of one layer of an aligned block."""
        whole = len(self.rows) // rows * rows
        return self.rows[:whole].reshape(-1, rows * self.rows.shape[1])  # [cells * R / n, n * W]

    def read(self, placement: Placement, tokens: int) -> Floats:
        """Copy of the first `tokens` tokens' K and V, as float32."""
        return self._numbers(self._contents(placement, tokens))  # [L, 2, G, T, D]

    def read_half(self, placement: Placement, layer: int, half: int, tokens: int) -> Floats:
        """Copy of one layer's keys (half 0) or values (half 1), as float32."""
        parts = [self.view(span)[layer, half, :, :n] for span, n in _filled(placement, tokens)]
        return self._numbers(np.concatenate(parts, axis=1))  # [G, T, D]

    def write(self, placement: Placement, contents: Floats) -> None:
        """Store ``[L, 2, G, T, D]`` as the placement's first T tokens."""
        self._fill(placement, self.codec.encode(contents) if self.codec else contents)

    def copy(self, old: Placement, new: Placement, tokens: int) -> None:
        """Move `tokens` tokens from `old`, which is released, to `new`.

        The contents wait outside the arena, because `new` may overlap `old`: a span that grows
        where it stands keeps its cells and changes their layout.
        """
        contents = self._contents(old, tokens)
        self.release(old)
        self._fill(new, contents)

    def _contents(self, placement: Placement, tokens: int) -> Stored:
        """Copy of what is stored of the first tokens, ``[L, 2, G, T, W]``."""
        parts = [self.view(span)[..., :cells, :] for span, cells in _filled(placement, tokens)]
        return np.concatenate(parts, axis=3) if parts else self._nothing()

    def _fill(self, placement: Placement, contents: Stored) -> None:
        done = 0
        for span, cells in _filled(placement, contents.shape[3]):
            self.view(span)[..., :cells, :] = contents[..., done : done + cells, :]
            done += cells

    def _numbers(self, stored: Stored) -> Floats:
        return self.codec.decode(stored) if self.codec else stored

    def release(self, placement: Placement) -> None:
        """Zero the placement's cells and give back every page this empties."""
        for start, stop in _joined(placement.spans):
            self._memory.clear(start * self.cell_bytes, stop * self.cell_bytes)

    def count_written(self, placement: Placement) -> int:
        """Cells of the placement in which anything is not zero."""
        return sum(self._written_in(span) for span in placement.spans)

    def _written_in(self, span: Span) -> int:
        # The bits of all heads or-ed together: five times faster than any() over floats.
        bits = self.view(span).view(np.uint8 if self.codec else np.uint32)
        heads = bits.reshape(self.model.rows_per_cell, -1)  # [R, n * W]
        either = np.bitwise_or.reduce(heads, axis=0).reshape(span.cells, -1)  # [n, W]
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
        first = (start * self.model.rows_per_cell + heads * cells) * self._row_bytes  # [spans, R]
        return first.ravel(), (first + filled * self._row_bytes).ravel()

    def _nothing(self) -> Stored:
        model, width = self.model, self.rows.shape[1]
        return np.empty((model.layers, 2, model.kv_heads, 0, width), self.rows.dtype)


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
