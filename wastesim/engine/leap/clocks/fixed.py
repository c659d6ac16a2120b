"""Equal steps, many at once."""

from __future__ import annotations

from array import array

import numpy as np

from wastesim.engine.clock import FixedClock
from wastesim.engine.leap.clocks.protocol import Expanded
from wastesim.records import Array


class FixedLeaps:
    """The grid ``k * step_s``."""

    def __init__(self, clock: FixedClock) -> None:
        self._clock = clock
        self._step_s = clock.step_s
        self._k = 0
        self._firsts = array("q")

    def start(self, now_s: float) -> float:
        """The first grid point at or after `now_s`."""
        starts_s = self._clock.start(now_s)
        self._k = self._clock.k
        return starts_s

    def begin(self, b0: int, f0: int, b1: int, f1: int, db: int, df: int) -> float:
        """Whatever it costs."""
        return (self._k + 1) * self._step_s

    def end(self, ticks: int) -> float:
        """So many grid points later."""
        return (self._k + ticks) * self._step_s

    def until(self, limit_s: float, most: int) -> int:
        """The first grid point at or after `limit_s`."""
        if self.end(most) < limit_s:
            return most
        ticks = max(1, min(most, int(limit_s / self._step_s) - self._k))
        return _settle(self, ticks, limit_s, most)

    def commit(self, ticks: int) -> float:
        """Move on."""
        self._firsts.append(self._k)
        self._k = self._clock.k = self._k + ticks
        return self._k * self._step_s

    def sleep(self) -> None:
        """Any point will do."""
        self._firsts.append(self._k)

    def columns(self, of: Expanded, moved: Array, flop: Array) -> tuple[Array, Array]:
        """Products, as the clock has them."""
        points = of.each(np.frombuffer(self._firsts, dtype=np.int64)) + of.k
        self._firsts = array("q")
        t_s: Array = points * self._step_s
        return t_s, (points + 1) * self._step_s - t_s

    def walk(self, moved: Array, flop: Array) -> Array:
        """Products, as the clock has them."""
        points = self._k + 1 + np.arange(len(moved))
        self._k = self._clock.k = self._k + len(moved)
        ends: Array = points * self._step_s
        return ends


def _settle(clock: FixedLeaps, ticks: int, limit_s: float, most: int) -> int:
    """Quotients may be rounded either way."""
    while ticks > 1 and clock.end(ticks - 1) >= limit_s:
        ticks -= 1
    while ticks < most and clock.end(ticks) < limit_s:
        ticks += 1
    return ticks
