"""The leaping server: one SimPy process whose loop is a stretch of ticks in which nothing happens.

A stretch begins like a tick of `engine.server`: arrivals, a plan, prompts.  Then every running
request stores one token per tick, until one of them ends, memory runs short, somebody comes who
may be let in, or it is time to stop.  The rows of all those ticks follow from a few integers, so
that a run costs per request and not per token.

`by_job` is the server for every policy and scheduler, `by_slot` the one for equal slots.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from math import inf

import simpy

from wastesim.allocation import Policy
from wastesim.engine.cost import CostModel
from wastesim.engine.leap.clocks import LeapClock
from wastesim.engine.leap.line import Arrivals
from wastesim.engine.leap.tables import Ticks
from wastesim.engine.observer import Observer
from wastesim.engine.simtime import SimTime
from wastesim.engine.spanlog import SpanLog
from wastesim.engine.stopwatch import Stopwatch
from wastesim.records import Recorder, RequestRow

#: The longest stretch: its rows are in memory at once.
MOST_TICKS = 1 << 15


@dataclass(frozen=True)
class LeapParts:
    """What every leaping server is made of."""

    line: Arrivals
    clock: LeapClock
    cost: CostModel
    recorder: Recorder
    rows: Ticks
    observer: Observer
    policy: Policy
    spans: SpanLog


class LeapServer(ABC):
    """Serves everybody in the line, to the end or until the observer says stop."""

    def __init__(self, env: SimTime, parts: LeapParts) -> None:
        self.env = env
        self.parts = parts
        self.ticks = 0
        self.stopped_because = ""
        self.decode_wall = Stopwatch()
        self.stored = 0  # tokens in cells, of whoever holds any
        self.ended = 0  # requests, one way or another
        self._watched = type(parts.observer) is not Observer
        self._idle_since_s = parts.line.first_s or 0.0

    @property
    def copied_tokens(self) -> int:
        """Stored tokens that had to move."""
        return 0

    @property
    def double_residency_peak_cells(self) -> int:
        """The most that was held while something moved."""
        return 0

    @abstractmethod
    def running(self) -> int:
        """How many run."""

    @abstractmethod
    def stretch(self, now_s: float) -> float:
        """A tick as it is planned, and all those after it in which nothing happens; its end."""

    @abstractmethod
    def unfinished(self) -> Iterator[RequestRow]:
        """Rows of those who are still here when the run is stopped; those that ended are handed
        over."""

    def run(self) -> Generator[simpy.Event, None, None]:
        """The main loop: sleep while nobody is there, else leap."""
        env, line, now_s = self.env, self.parts.line, self.env.now
        while not self.stopped_because:
            if line.next_s <= now_s:
                line.arrive(now_s)
            if line.refused_s <= now_s:
                self._refuse(now_s)
            if line.waiting or self.running():
                now_s = self.stretch(now_s)
                if not env.pass_to(now_s):
                    yield env.at(now_s)
                if self._watched:
                    self._tell(now_s)
            elif line.next_s < inf:
                yield from self._sleep()
                now_s = env.now
            else:
                break
        self._end()

    def length(self, most: int) -> int:
        """Ticks of a stretch in which nothing happens to those that run for `most`."""
        most = min(most, MOST_TICKS)
        if most == 1:
            return 1
        parts = self.parts
        limit_s = parts.observer.until_s
        if not parts.line.waiting and parts.line.next_s < limit_s:
            limit_s = parts.line.next_s
        return parts.clock.until(limit_s, most) if limit_s < inf else most

    def all_done(self, now_s: float) -> None:
        """Nobody runs any more."""
        self._idle_since_s = now_s

    def _sleep(self) -> Generator[simpy.Event, None, None]:
        """Wait for an arrival, then for the clock's next starting point."""
        yield self.env.at(self.parts.line.next_s)
        starts_s = self.parts.clock.start(self.env.now)
        if starts_s > self.env.now:
            yield self.env.at(starts_s)
        if starts_s > self._idle_since_s:
            self.parts.rows.sleep(self._idle_since_s, starts_s - self._idle_since_s)
            self.parts.observer.passed(starts_s, 0, 0, self.ended)

    def _tell(self, now_s: float) -> None:
        """Somebody looks on: say where the run is, and ask whether it is to stop."""
        observer = self.parts.observer
        observer.passed(now_s, self.running(), self.parts.line.waiting, self.ended)
        if observer.should_stop():
            self.stopped_because = "the run was stopped"

    def _refuse(self, until_s: float) -> None:
        """Record who came until then and was not let in."""
        for row in self.parts.line.refused(until_s):
            self.parts.recorder.request(row)
            self.ended += 1

    def _end(self) -> None:
        """The run is over: whoever is still here is unfinished."""
        parts, now_s = self.parts, self.env.now
        until_s = now_s if self.stopped_because else sys.float_info.max
        parts.line.arrive(until_s)
        parts.rows.flush()
        self._refuse(until_s)
        for row in self.unfinished():
            parts.recorder.request(row)
        parts.spans.end_all(now_s)
