"""From a request's tokens to rows of the arena.

Computed when a placement arrives and extended when blocks are appended, so that a tick only
looks rows up.  Allocators hand out spans of one size (one slot, or blocks), for which an
address is a division; spans of mixed sizes work too, token by token.

Letters are those of `arrays`.
"""

from __future__ import annotations

import numpy as np

from wastesim.address import Placement, Span
from wastesim.decode.arena import Arena
from wastesim.decode.arrays import Floats, Ints
from wastesim.errors import AllocationError


class Addresses:
    """Where one request's tokens are stored."""

    def __init__(self, arena: Arena, placement: Placement) -> None:
        self._arena = arena
        self._per_cell = arena.model.rows_per_cell
        self._adopt(placement)

    def _adopt(self, placement: Placement) -> None:
        self._arena.check(placement)
        self.placement = placement
        self.cells = placement.cells
        self.block = _common_size(placement.spans)  # 0: spans of mixed sizes
        self._starts = self._rows_of(placement.spans)
        plain, single = self._arena.codec is None, len(placement.spans) == 1
        self._views = self._layer_views() if plain and single else None
        self.units = self._units(self._starts) if plain and not single else None

    def extend(self, longer: Placement) -> None:
        """Take over a placement that starts with the same spans."""
        held = self.placement.spans
        if longer.spans[: len(held)] != held:
            raise AllocationError(
                f"a placement of {len(held)} spans was extended to one of {len(longer.spans)} "
                f"that does not start with the same spans"
            )
        added = longer.spans[len(held) :]
        if self.units is None or _common_size(added) != self.block:
            self._adopt(longer)
        else:
            self._append(longer, added)

    def _append(self, longer: Placement, added: tuple[Span, ...]) -> None:
        """Extend by blocks of the same size, without looking at the earlier ones again."""
        starts = self._rows_of(added)
        units = self._units(starts)
        if self.units is None or units is None:
            self._adopt(longer)
            return
        self._arena.check(Placement(added))
        self.placement = longer
        self.cells += len(added) * self.block
        self._starts += starts
        self.units = np.concatenate([self.units, units])

    def row(self, token: int) -> tuple[int, int]:
        """The row of a token's first vector, and the distance to its next ones."""
        if self.block:
            index, within = divmod(token, self.block)
            return self._starts[index] + within, self.block
        for span, start in zip(self.placement.spans, self._starts, strict=True):
            if token < span.cells:
                return start + token, span.cells
            token -= span.cells
        raise AllocationError(f"a token is {token} cells beyond a placement of {self.cells}")

    def read(self, layer: int, half: int, tokens: int) -> Floats:
        """Keys (half 0) or values (half 1) ``[G, T, D]`` of the first tokens."""
        if self._views is not None:
            return self._views[layer][half][:, :tokens]
        if self.units is None:
            return self._arena.read_half(self.placement, layer, half, tokens)
        kv_heads, dim = self._arena.model.kv_heads, self._arena.model.head_dim
        units = self.head_units(tokens) + (layer * 2 + half) * kv_heads  # [G, blocks]
        copied: Floats = self._arena.units(self.block)[units].reshape(kv_heads, -1, dim)
        return copied[:, :tokens]

    def head_units(self, tokens: int) -> Ints:
        """Units ``[G, blocks]`` with the first tokens' keys in layer 0, if `units` are known."""
        assert self.units is not None
        blocks = self.units[: -(-tokens // self.block)]
        return blocks + np.arange(self._arena.model.kv_heads)[:, None]

    def _rows_of(self, spans: tuple[Span, ...]) -> list[int]:
        return [span.start * self._per_cell for span in spans]

    def _layer_views(self) -> list[tuple[Floats, Floats]]:
        """Keys and values ``[G, n, D]`` of each layer, not copied."""
        whole = self._arena.view(self.placement.spans[0])  # [L, 2, G, n, D]
        return [(layer[0], layer[1]) for layer in whole]

    def _units(self, starts: list[int]) -> Ints | None:
        """Which unit of `block` rows each block's first is; None when blocks are not aligned."""
        if not self.block or any(start % self.block for start in starts):
            return None
        return np.array(starts, np.int64) // self.block


def _common_size(spans: tuple[Span, ...]) -> int:
    sizes = {span.cells for span in spans}
    return sizes.pop() if len(sizes) == 1 else 0
