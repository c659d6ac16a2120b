"""When a tick that starts now ends.

Times come from integer totals converted once, never from adding up floats: the same work gives
the same time however it is divided into steps.
"""

from __future__ import annotations

import math
from typing import Protocol

from wastesim.engine.cost import Cost


class Clock(Protocol):
    """`start` when the server wakes, then `after` once per tick."""

    kind: str

    def start(self, now_s: float) -> float:
        """When the first tick begins, at or after `now_s`."""

    def after(self, cost: Cost, wall_s: float) -> float:
        """When the tick ends that began at the last returned time."""


class FixedClock:
    """The grid k * step_s, also when idle: an arrival waits for the next grid point."""

    kind = "fixed"

    def __init__(self, step_s: float) -> None:
        self._step_s = step_s
        self._k = 0

    def start(self, now_s: float) -> float:
        """The first grid point at or after `now_s`."""
        k = math.floor(now_s / self._step_s)
        while k * self._step_s < now_s:  # the quotient may be rounded either way
            k += 1
        self._k = max(k, self._k)
        return self._k * self._step_s

    def after(self, cost: Cost, wall_s: float) -> float:
        """The next grid point."""
        self._k += 1
        return self._k * self._step_s


class RooflineClock:
    """dt = max(bytes / bandwidth, FLOP / peak) + overhead, of ideal or calibrated hardware.

    Bytes of memory-bound ticks and FLOP of compute-bound ticks are totalled since the server
    woke, and converted once.
    """

    kind = "roofline"

    def __init__(self, bytes_per_s: float, flop_per_s: float, overhead_s: float = 0.0) -> None:
        self._bytes_per_s = bytes_per_s
        self._flop_per_s = flop_per_s
        self._overhead_s = overhead_s
        self.start(0.0)

    def start(self, now_s: float) -> float:
        """Begin at once."""
        self._base_s = now_s
        self._bytes = self._flop = self._ticks = 0
        return now_s

    def after(self, cost: Cost, wall_s: float) -> float:
        """Whichever of memory and arithmetic takes longer."""
        if cost.moved_bytes * self._flop_per_s >= cost.flop * self._bytes_per_s:
            self._bytes += cost.moved_bytes
        else:
            self._flop += cost.flop
        self._ticks += 1
        spent_s = self._bytes / self._bytes_per_s + self._flop / self._flop_per_s
        return self._base_s + spent_s + self._ticks * self._overhead_s


class MeasuredClock:
    """A tick takes as long as the NumPy decode needed for it: not reproducible, by nature."""

    kind = "measured"

    def __init__(self) -> None:
        self._now_s = 0.0

    def start(self, now_s: float) -> float:
        """Begin at once."""
        self._now_s = now_s
        return now_s

    def after(self, cost: Cost, wall_s: float) -> float:
        """The decode's wall time later."""
        self._now_s += wall_s
        return self._now_s
