"""A cache that never grows: the newest tokens, and perhaps the first few (`sinks`) for ever.

Its ledger frees what falls out, and the arrays have no room for more, so a stream of any length
lives in W cells.  With `renumbered` positions K is stored as projected and turned at every read by
where its cell stands in the window, as StreamingLLM does; else it is turned once, by where the
token stood in the text.

=============  =========================  ==========================
token          its cell                   freed by
=============  =========================  ==========================
t < S          t                          nothing: it is a sink
t >= S         S + (t - S) mod (W - S)    token t + W - S, which takes it
=============  =========================  ==========================

Letters are those of `arrays`; ``W`` and ``S`` are the window and its sinks.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wastesim.decode.arrays import Floats, Ints
from wastesim.decode.attention import causal_attention
from wastesim.decode.model import Transformer, rotated
from wastesim.decode.weights import Weights
from wastesim.errors import AllocationError


class WindowLedger:
    """Which token each cell of the window holds."""

    def __init__(self, window: int, sinks: int) -> None:
        if not 0 <= sinks < window:
            raise AllocationError(f"a window of {window} tokens has no room beside {sinks} sinks")
        self.window, self.sinks = window, sinks
        self.seen = self.freed = 0
        self._cells: dict[int, int] = {}  # cell -> token, oldest first

    @property
    def written(self) -> int:
        """Cells that hold a token."""
        return len(self._cells)

    def admit(self) -> int:
        """A cell for the next token; whatever was in it is freed."""
        token, around = self.seen, self.window - self.sinks
        sink = token < self.sinks
        cell = token if sink else self.sinks + (token - self.sinks) % around
        self.freed += self._cells.pop(cell, None) is not None
        self._cells[cell] = token
        self.seen += 1
        return cell

    def held(self) -> list[tuple[int, int]]:
        """(token, cell) of everything held, in the order of the text."""
        return sorted((token, cell) for cell, token in self._cells.items())

    def check(self) -> None:
        """AllocationError with all numbers when tokens seen, held and freed do not add up."""
        if self.written + self.freed != self.seen or self.written > self.window:
            raise AllocationError(
                f"of {self.seen} tokens {self.written} are held in a window of {self.window}"
                f" and {self.freed} were freed"
            )


class StreamingCache:
    """One request's K and V in W cells, fed token by token."""

    def __init__(
        self, weights: Weights, window: int, sinks: int = 0, *, renumbered: bool = False
    ) -> None:
        self.ledger = WindowLedger(window, sinks)
        self._renumbered = renumbered
        self._transformer = Transformer(weights, turn_keys=not renumbered)
        model = weights.model
        shape = (model.layers, 2, model.kv_heads, window, model.head_dim)
        self._buffer: Floats = np.zeros(shape, np.float32)  # [L, 2, G, W, D]

    @property
    def nbytes(self) -> int:
        """Bytes of the window, however long the text is."""
        return self._buffer.nbytes

    def feed(self, token: int) -> Floats:
        """Store one more token; returns the logits ``[V]`` of what follows it."""
        cell = self.ledger.admit()
        self.ledger.check()
        cells = np.array([cell for _, cell in self.ledger.held()], np.int64)  # [T]
        position = len(cells) - 1 if self._renumbered else self.ledger.seen - 1

        def attend(layer: int, q: Floats, kv: Floats) -> Floats:
            self._buffer[layer, :, :, cell] = kv.reshape(2, -1, kv.shape[-1])
            keys, values = self._buffer[layer][:, :, cells]  # [G, T, D]
            return causal_attention(q, self._placed(keys), values)

        only = np.zeros(1, np.int64)
        where = np.array([position], np.int64)
        logits: Floats = self._transformer.forward(np.array([token]), where, only, attend)[0]
        return logits

    def _placed(self, keys: Floats) -> Floats:
        """Keys ``[G, T, D]`` turned by their place in the window, if they were stored unturned."""
        if not self._renumbered:
            return keys
        places: Ints = np.arange(keys.shape[1])
        return rotated(keys, self._transformer.turns(places)[:, 0])


def stream(
    weights: Weights, tokens: Sequence[int], window: int, sinks: int = 0, *, renumbered: bool
) -> Floats:
    """Logits ``[T, V]`` after each of `tokens`."""
    cache = StreamingCache(weights, window, sinks, renumbered=renumbered)
    return np.stack([cache.feed(token) for token in tokens])
