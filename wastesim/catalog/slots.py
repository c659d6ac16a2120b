"""llama.cpp's caches: one context divided over slots, padded, windows capped.

::

    -c C -np N           N slots of ceil(C / N / pad) * pad cells each       (split)
    -c C -np N -kvu      one pool of C cells that all N sequences share      (unified)
    window layers        min(slot, pad(W + n_ubatch)) cells, unless `--swa-full`
                         (unified: W for each sequence)
    recurrent layers     a state per sequence

`pad` is 256 cells; before 2025 the context was only divided, with nothing padded (`pad` 1).
"""

from __future__ import annotations

from dataclasses import dataclass

from wastesim.catalog.layers import (
    LIMITED,
    STORING,
    layer_fixed_bytes,
    layer_kinds,
    layer_token_bytes,
)
from wastesim.config.hardware import KvLayers, ModelGeometry

PAD_CELLS = 256
UBATCH_TOKENS = 512


@dataclass(frozen=True, slots=True)
class Slots:
    """How `n_ctx` cells are laid out for `n_parallel` sequences."""

    n_ctx: int
    n_parallel: int = 1
    unified: bool = False
    swa_full: bool = False
    pad_cells: int = PAD_CELLS
    n_ubatch: int = UBATCH_TOKENS

    @property
    def cells_per_slot(self) -> int:
        """Cells of one buffer: padded, or the whole shared pool (`pad_cells` 1 rounds down)."""
        share = self.n_ctx if self.unified else self.n_ctx // self.n_parallel
        if self.pad_cells == 1:
            return share
        whole = self.n_ctx if self.unified else -(-self.n_ctx // self.n_parallel)
        return self._pad(whole)

    @property
    def buffers(self) -> int:
        """Separate buffers: one per slot, or one for all."""
        return 1 if self.unified else self.n_parallel

    @property
    def cells(self) -> int:
        """Cells that are reserved, over all buffers."""
        return self.cells_per_slot * self.buffers

    @property
    def context_per_slot(self) -> int:
        """Tokens that one sequence is told it may have."""
        return self.cells_per_slot

    @property
    def overcommit(self) -> float:
        """Tokens promised over cells that exist: 1 when split, `n_parallel` when unified."""
        return self.context_per_slot * self.n_parallel / self.cells

    @property
    def unused_cells(self) -> int:
        """Cells of `n_ctx` that the division leaves over (0 where slots are padded)."""
        return max(0, self.n_ctx - self.cells)

    def window_cells(self, window: int) -> int:
        """Cells of a window layer's buffer."""
        if self.swa_full:
            return self.cells_per_slot
        sequences = self.n_parallel if self.unified else 1
        return self._pad(min(self.cells_per_slot, window * sequences + self.n_ubatch))

    def bytes(self, model: ModelGeometry, dtype: str = "auto") -> int:
        """Bytes of all buffers and states (K and V types may differ: `q5_0/f16`)."""
        return sum(self._kind_bytes(kind, dtype) for kind in layer_kinds(model))

    def _kind_bytes(self, kind: KvLayers, dtype: str) -> int:
        states = self.n_parallel * layer_fixed_bytes(kind, dtype)
        cells = self.cells_per_slot if kind.kind in STORING else 0
        if kind.kind in LIMITED and kind.window:
            cells = self.window_cells(kind.window)
        return kind.layers * (self.buffers * cells * layer_token_bytes(kind, dtype) + states)

    def _pad(self, cells: int) -> int:
        return -(-cells // self.pad_cells) * self.pad_cells
