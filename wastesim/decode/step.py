"""One tick's work at the arena's addresses: where to write, what to read, in what order.

A step holds the decodes first (one token each) and then the prompt chunks.  A decode in one
span reads a view of it; decodes in blocks are gathered several at a time.  Requests whose newest
tokens are read in full precision are all treated as chunks.

Letters are those of `arrays`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from wastesim.decode.addressing import Addresses
from wastesim.decode.arena import Arena
from wastesim.decode.arrays import Floats, Ints
from wastesim.decode.attention import FlatScores, causal_attention, flat_attention
from wastesim.decode.banded import KV, banded_attention
from wastesim.decode.recent import Recent
from wastesim.decode.scratch import Scratch

_GATHER_BYTES = 2**19  # about what stays in the second-level cache until it is multiplied


class Part:
    """One request's share of a step: `count` tokens after the `first` it has stored."""

    __slots__ = ("addresses", "count", "first", "recent", "stop")

    def __init__(
        self, addresses: Addresses, first: int, count: int, recent: Recent | None = None
    ) -> None:
        self.addresses = addresses
        self.recent = recent
        self.first = first
        self.count = count
        self.stop = first + count

    @property
    def tokens(self) -> range:
        """Positions of the tokens to compute."""
        return range(self.first, self.stop)


class Step:
    """Stores and reads K and V for a batch: the `attend` of `model.Transformer.forward`."""

    def __init__(self, arena: Arena, parts: Sequence[Part], scratch: Scratch) -> None:
        model = arena.model
        self._arena = arena
        self._decodes = sum(part.count == 1 and part.recent is None for part in parts)
        decodes, self._chunks = parts[: self._decodes], parts[self._decodes :]
        self._first_rows, self._hop = self._write_rows(parts)
        self._runs = _runs(arena, decodes, scratch)
        lengths = [part.stop for part in decodes]
        heads = (model.kv_heads, model.queries_per_kv_head)
        self._scores = FlatScores(lengths, *heads, scratch) if decodes else None

    def attend(self, layer: int, q: Floats, kv: Floats) -> Floats:
        """Write this layer's K and V ``[N, 2 * G, D]``, then let ``q [N, G, M, D]`` look."""
        self._arena.put(self._first_rows + layer * self._hop, kv)
        found = []
        if self._scores is not None:
            keys, values = self._read(layer, 0), self._read(layer, 1)
            found.append(flat_attention(q[: self._decodes], keys, values, self._scores))
        found += self._attend_chunks(layer, q[self._decodes :], kv[self._decodes :])
        return found[0] if len(found) == 1 else np.concatenate(found)  # [N, G, M, D]

    def _attend_chunks(self, layer: int, q: Floats, kv: Floats) -> Iterator[Floats]:
        done = 0
        for part in self._chunks:
            own = slice(done, done + part.count)
            done += part.count
            keys, values = (part.addresses.read(layer, half, part.stop) for half in (0, 1))
            if part.recent is None:
                yield causal_attention(q[own], keys, values)
            else:
                exact = part.recent.push(layer, kv[own])
                yield banded_attention(q[own], KV(keys, values), exact, part.recent.bands)

    def _read(self, layer: int, half: int) -> Iterator[Floats]:
        """Keys or values ``[G, T, D]`` of every decode, each valid until the next."""
        for run in self._runs:
            yield from run.read(layer, half)

    def _write_rows(self, parts: Sequence[Part]) -> tuple[Ints, Ints]:
        """Rows ``[N, 2 * G]`` of the tokens' K and V in layer 0, and the hop to the next layer."""
        rows = [part.addresses.row(token) for part in parts for token in part.tokens]
        first, apart = np.array(rows, np.int64).T[:, :, None]  # [N, 1]
        heads = 2 * self._arena.model.kv_heads
        return first + np.arange(heads) * apart, heads * apart


class _Single:
    """A decode that is read on its own."""

    def __init__(self, part: Part) -> None:
        self._part = part

    def read(self, layer: int, half: int) -> tuple[Floats]:
        return (self._part.addresses.read(layer, half, self._part.stop),)


class _Blocks:
    """Decodes in blocks of one size, gathered into one buffer.

    Measured on `tiny`, 128 requests with mean context 306, blocks of 16, ms per step (contiguous
    3.4): one `take` for groups of 512 KiB 4.6, for the whole batch 6.0 (5 MB leave the cache
    before they are multiplied), per request 6.4.  One layer's keys alone, from a warm cache:
    `take` of blocks 0.12 for the batch and 0.25 per request, of rows 0.33, `concatenate` of
    views 0.55, copies span by span 0.95.
    """

    def __init__(self, arena: Arena, parts: Sequence[Part], scratch: Scratch) -> None:
        model, block = arena.model, parts[0].addresses.block
        self._source = arena.units(block)  # [units, n * D]
        self._kv_heads = model.kv_heads
        units = [part.addresses.head_units(part.stop).ravel() for part in parts]  # [G * blocks]
        self._units = np.concatenate(units)
        width = block * model.head_dim
        # One buffer for all groups: each is used up before the next is gathered.
        self._buffer = scratch.get("blocks", len(self._units) * width).reshape(-1, width)
        stops = np.cumsum([len(own) for own in units])
        copies = np.split(self._buffer, stops[:-1])  # [G * blocks, n * D]
        self._views = [
            copy.reshape(model.kv_heads, -1, model.head_dim)[:, : part.stop]
            for copy, part in zip(copies, parts, strict=True)
        ]  # [G, T, D]

    def read(self, layer: int, half: int) -> list[Floats]:
        units = self._units + (layer * 2 + half) * self._kv_heads
        # mode="clip" lets take write straight into `out`; all units are in range
        np.take(self._source, units, axis=0, out=self._buffer, mode="clip")
        return self._views


def _runs(arena: Arena, decodes: Sequence[Part], scratch: Scratch) -> list[_Single | _Blocks]:
    """The decodes in order, neighbours in blocks taken together up to `_GATHER_BYTES`."""
    runs: list[_Single | _Blocks] = []
    group: list[Part] = []
    room = 0
    for part in decodes:
        size = part.stop * arena.model.kv_heads * arena.model.head_dim * 4
        alike = group and group[0].addresses.block == part.addresses.block
        if group and (part.addresses.units is None or not alike or size > room):
            runs.append(_Blocks(arena, group, scratch))
            group = []
        if part.addresses.units is None:
            runs.append(_Single(part))
            continue
        room = (room if group else _GATHER_BYTES) - size
        group.append(part)
    return [*runs, _Blocks(arena, group, scratch)] if group else runs
