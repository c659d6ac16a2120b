"""When a tick that starts now ends.

Times come from integer totals converted once, never from adding up floats: the same work gives
the same time however it is divided into steps.
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import Protocol

from wastesim.engine.clock_table import PICO, StepTable
from wastesim.engine.cost import Cost


class Clock(Protocol):
    """`start` when the server wakes, then `after` once per tick."""

    kind: str

    def start(self, now_s: float) -> float:
        """When the first tick begins, at or after `now_s`."""

    def after(self, cost: Cost, wall_s: float) -> float:
        """When the tick ends that began at the last returned time."""

    def explain(self) -> str:
        """In a sentence, where its times come from; of a run that is over."""


class FixedClock:
    """The grid k * step_s, also when idle: an arrival waits for the next grid point."""

    kind = "fixed"

    def __init__(self, step_s: float) -> None:
        self.step_s = step_s
        self.k = 0

    def start(self, now_s: float) -> float:
        """The first grid point at or after `now_s`."""
        k = math.floor(now_s / self.step_s)
        while k * self.step_s < now_s:  # the quotient may be rounded either way
            k += 1
        self.k = max(k, self.k)
        return self.k * self.step_s

    def after(self, cost: Cost, wall_s: float) -> float:
        """The next grid point."""
        self.k += 1
        return self.k * self.step_s

    def explain(self) -> str:
        """Where times come from."""
        return "every tick takes the same time, whatever it does"


class RooflineClock:
    """dt = max(bytes / bandwidth, FLOP / peak) + overhead, of ideal or calibrated hardware.

    Bytes of memory-bound ticks and FLOP of compute-bound ticks are totalled since the server
    woke, and converted once.
    """

    kind = "roofline"

    def __init__(
        self,
        bytes_per_s: float,
        flop_per_s: float,
        overhead_s: float = 0.0,
        explanation: str = "times come from a roofline",
    ) -> None:
        self.bytes_per_s = bytes_per_s
        self.flop_per_s = flop_per_s
        self.overhead_s = overhead_s
        self.byte_weight, self.flop_weight = weights(bytes_per_s, flop_per_s)
        self._explanation = explanation
        self.start(0.0)

    def start(self, now_s: float) -> float:
        """Begin at once."""
        self._base_s = now_s
        self._bytes = self._flop = self._ticks = 0
        return now_s

    def after(self, cost: Cost, wall_s: float) -> float:
        """Whichever of memory and arithmetic takes longer."""
        if cost.moved_bytes * self.byte_weight >= cost.flop * self.flop_weight:
            self._bytes += cost.moved_bytes
        else:
            self._flop += cost.flop
        self._ticks += 1
        spent_s = self._bytes / self.bytes_per_s + self._flop / self.flop_per_s
        return self._base_s + spent_s + self._ticks * self.overhead_s

    def explain(self) -> str:
        """Where times come from."""
        return self._explanation


def weights(bytes_per_s: float, flop_per_s: float) -> tuple[int, int]:
    """Integers w, v with bytes / bytes_per_s >= flop / flop_per_s if and only if
    bytes w >= flop v: which of the two takes longer is decided without rounding.
    """
    ratio = Fraction(flop_per_s) / Fraction(bytes_per_s)
    return ratio.numerator, ratio.denominator


class TableClock:
    """Measured step times, interpolated; what lies beyond the table is counted.

    Each tick takes a whole number of picoseconds; they are totalled since the server woke, and
    converted once.
    """

    kind = "table"

    def __init__(self, table: StepTable, name: str) -> None:
        self._table = table
        self._name = name
        self._ticks = self._ticks_beyond = 0
        self._beyond: Counter[str] = Counter()
        self.start(0.0)

    def start(self, now_s: float) -> float:
        """Begin at once."""
        self._base_s = now_s
        self._picoseconds = 0
        return now_s

    def after(self, cost: Cost, wall_s: float) -> float:
        """As long as such a step took when it was measured."""
        if cost.decode_requests or cost.prefill_tokens:
            found = self._table.at(cost.decode_requests, cost.kv_tokens, cost.prefill_tokens)
            self._picoseconds += found.picoseconds
            self._ticks += 1
            self._ticks_beyond += bool(found.beyond)
            self._beyond.update(found.beyond)
        return self._base_s + self._picoseconds / PICO

    def explain(self) -> str:
        """Where times come from, and how many of them the table does not hold."""
        text = f"times are interpolated in the measured steps of {self._name}"
        if not self._ticks_beyond:
            return f"{text}; all {self._ticks:,} ticks lie within them"
        edges = ", ".join(f"{name} {count:,}" for name, count in sorted(self._beyond.items()))
        return (
            f"{text}; {self._ticks_beyond:,} of {self._ticks:,} ticks lie beyond them ({edges}),"
            " where straight lines were continued: measure those too before trusting their times"
        )


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

    def explain(self) -> str:
        """Where times come from."""
        return "times are those of the NumPy decode on this machine"
