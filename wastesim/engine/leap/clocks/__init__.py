"""Clocks for many ticks at once."""

from __future__ import annotations

from wastesim.engine.clock import Clock, FixedClock, RooflineClock
from wastesim.engine.leap.clocks.fixed import FixedLeaps
from wastesim.engine.leap.clocks.protocol import Expanded, LeapClock
from wastesim.engine.leap.clocks.roofline import RooflineLeaps

__all__ = ["Expanded", "LeapClock", "leaping"]


def leaping(clock: Clock) -> LeapClock | None:
    """The same clock for many ticks at once; None where each tick must be looked at."""
    if isinstance(clock, FixedClock):
        return FixedLeaps(clock)
    return RooflineLeaps(clock) if isinstance(clock, RooflineClock) else None
