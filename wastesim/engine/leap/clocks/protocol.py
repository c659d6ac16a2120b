"""Times of many ticks at once: what `Clock.after` would say, tick by tick, in closed form.

A *stretch* is a row of ticks between two happenings.  Its first tick may compute prompts; from
the second on every running request stores one token more, so that bytes and FLOP rise evenly::

    bytes:  b0, b1, b1 + db, b1 + 2 db, ...        FLOP:  f0, f1, f1 + df, f1 + 2 df, ...
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from wastesim.records import Array


class Expanded(NamedTuple):
    """Ticks of many stretches: how many each has, and of every tick its stretch and its place."""

    ticks: Array
    k: Array

    def each(self, values: Array) -> Array:
        """A value per stretch, for each of its ticks."""
        found: Array = np.repeat(values, self.ticks)
        return found


class LeapClock(Protocol):
    """`begin` a stretch, ask how long it may be, `commit` to a number of ticks."""

    def start(self, now_s: float) -> float:
        """As `Clock.start`."""

    def begin(self, b0: int, f0: int, b1: int, f1: int, db: int, df: int) -> float:
        """The ticks from now on cost so much; returns the end of the first."""

    def end(self, ticks: int) -> float:
        """When the stretch ends if it has so many ticks."""

    def until(self, limit_s: float, most: int) -> int:
        """The fewest ticks, 1 to `most`, after which it is `limit_s` or later; else `most`."""

    def commit(self, ticks: int) -> float:
        """So many ticks it is; returns its end."""

    def sleep(self) -> None:
        """A row without a tick: what `columns` says of it means nothing."""

    def columns(self, of: Expanded, moved: Array, flop: Array) -> tuple[Array, Array]:
        """Begin and length of every tick since the last call, from its bytes and FLOP."""

    def walk(self, moved: Array, flop: Array) -> Array:
        """Ends of so many ticks, which pass; `columns` has been asked for all before them."""
