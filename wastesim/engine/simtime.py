"""SimPy's environment with events at absolute times.

SimPy schedules by delay, and ``now + (t - now)`` is not always ``t`` in floating point; our
clocks compute times from integer totals and mean them exactly.
"""

from __future__ import annotations

from heapq import heappush

import simpy
from simpy.events import NORMAL, URGENT

__all__ = ["NORMAL", "URGENT", "At", "SimTime"]


class SimTime(simpy.Environment):
    """An environment whose events can be given the time at which they happen."""

    def at(self, time_s: float, *, urgent: bool = False) -> At:
        """An event at exactly `time_s`; urgent ones come before all others of that time."""
        return At(self, time_s, URGENT if urgent else NORMAL)

    def pass_to(self, time_s: float) -> bool:
        """Let time pass without an event, if nothing else happens before or at `time_s`.

        An event and its way through the heap take longer than a stretch of ticks is worth.
        """
        if self._queue and self._queue[0][0] <= time_s:
            return False
        self._now = time_s
        return True

    def schedule_at(self, event: simpy.Event, time_s: float, priority: int) -> None:
        """What `schedule` does, without the detour over a delay."""
        if time_s < self._now:
            raise ValueError(f"cannot go back from {self._now} s to {time_s} s")
        heappush(self._queue, (time_s, priority, next(self._eid), event))  # type: ignore[misc]


class At(simpy.Event):
    """An event that succeeds at an absolute time."""

    def __init__(self, env: SimTime, time_s: float, priority: int) -> None:
        super().__init__(env)
        self._ok = True
        self._value = None
        env.schedule_at(self, time_s, priority)
