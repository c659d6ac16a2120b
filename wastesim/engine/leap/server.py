"""The leaping server: one SimPy process whose loop is a stretch of ticks in which nothing happens.

A stretch begins like a tick of `engine.server`: arrivals, a plan, prompts.  Then every running
request stores one token per tick, until one of them ends, memory runs short, somebody comes who
may be let in, or it is time to stop.  The rows of all those ticks follow from a few integers, so
that a run costs per request and not per token.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from itertools import chain
from math import inf

import simpy

from wastesim.allocation import Policy
from wastesim.engine.cost import CostModel
from wastesim.engine.leap.clocks import Costs, LeapClock
from wastesim.engine.leap.line import Line
from wastesim.engine.leap.pool import LeapPool
from wastesim.engine.leap.rules import LeapRules, Step
from wastesim.engine.leap.running import Running
from wastesim.engine.leap.tables import Requests, Ticks, unfinished
from wastesim.engine.observer import Observer
from wastesim.engine.scheduler import Refusal
from wastesim.engine.simtime import SimTime
from wastesim.engine.spanlog import SpanLog
from wastesim.engine.stall import stall_message
from wastesim.engine.stopwatch import Stopwatch
from wastesim.records import Recorder

#: The longest stretch: its rows are in memory at once.
MOST_TICKS = 1 << 15


@dataclass(frozen=True)
class LeapParts:
    """What a leaping server is made of."""

    line: Line
    running: Running
    pool: LeapPool
    rules: LeapRules
    clock: LeapClock
    cost: CostModel
    recorder: Recorder
    observer: Observer
    policy: Policy
    spans: SpanLog


class LeapServer:
    """Serves everybody in the line, to the end or until the observer says stop."""

    def __init__(self, env: SimTime, parts: LeapParts) -> None:
        self.env = env
        self.parts = parts
        self.ticks = 0
        self.stopped_because = ""
        self.decode_wall = Stopwatch()
        self._requests = Requests(parts.recorder)
        self._rows = Ticks(
            parts.recorder,
            parts.clock,
            parts.cost,
            parts.pool,
            parts.line,
            parts.policy.capacity_cells,
        )
        self._ended = 0
        self._stored = 0  # tokens in cells, of whoever holds any
        self._idle_since_s = parts.line.first_s or 0.0

    @property
    def copied_tokens(self) -> int:
        """Stored tokens that had to move."""
        return self.parts.pool.copied_tokens

    @property
    def double_residency_peak_cells(self) -> int:
        """The most that was held while something moved."""
        return self.parts.pool.double_residency_peak_cells

    def run(self) -> Generator[simpy.Event, None, None]:
        """The main loop: sleep while nobody is there, else leap."""
        line, running, observer = self.parts.line, self.parts.running, self.parts.observer
        while not self.stopped_because:
            line.arrive(self.env.now)
            self._refuse(self.env.now)
            if len(running) or len(line):
                yield from self._stretch()
                if observer.should_stop():
                    self.stopped_because = "the run was stopped"
            elif line.next_s < inf:
                yield from self._sleep()
            else:
                break
        self._end()

    def _stretch(self) -> Generator[simpy.Event, None, None]:
        """A tick as it is planned, and all those after it in which nothing happens."""
        parts, tick = self.parts, self.ticks
        line, running, pool, clock = parts.line, parts.running, parts.pool, parts.clock
        step = parts.rules.plan(tick, self.env.now)
        if not (step.decoding or step.prefills or step.preempted):
            self._stall(step)
            return
        of_scheduled = self._begin(step, tick)
        stored = self._stored - step.lost + step.decoding + step.prefill
        ticks = self._length(step, tick)
        ends_s = clock.end(ticks)
        for job in step.sampled:
            if job.first_tick < 0:
                job.first_tick, job.first_s = tick, clock.end(1)
        clock.commit(ticks)
        before = (
            ticks, len(running), step.decoding + step.prefills, step.prefill, step.decoding,
            step.contexts, of_scheduled, stored, pool.reserved, pool.unused, pool.padding,
            step.refusal is Refusal.MEMORY, len(line), line.joined, step.admitted, step.preempted,
        )  # fmt: skip
        free = pool.fragmentation()
        if ticks > 1:
            pool.passed(tick, ticks - 1)
            running.stored += running.decoding * (ticks - 1)
            stored += running.decoding * (ticks - 1)
        yield self.env.at(ends_s)
        self.ticks += ticks
        self._stored = stored
        finished = self._deliver(ends_s)
        self._rows.add((*before, finished, pool.reserved, *free))
        parts.observer.passed(ends_s, len(running), len(line), self._ended)

    def _begin(self, step: Step, tick: int) -> int:
        """Tell the clock what ticks cost; returns tokens stored of those with work in the first."""
        running, cost = self.parts.running, self.parts.cost
        running.stored += step.decoding
        of_scheduled = running.stored + step.before + step.prefill
        step.contexts += running.stored
        for job in step.sampled:
            running.decodes(job, tick)
            self.parts.pool.joined(job, tick)
        tokens, many = step.decoding + step.prefill, len(running)
        weights = cost.weights_read_bytes
        of_all = running.stored + many
        self.parts.clock.begin(
            Costs(
                (weights if tokens else 0) + cost.kv_bytes_per_token * of_scheduled,
                cost.flop_per_token * tokens + cost.attention_flop_per_context * step.contexts,
                weights + cost.kv_bytes_per_token * of_all,
                cost.flop_per_token * many + cost.attention_flop_per_context * of_all,
                cost.kv_bytes_per_token * many,
                cost.attention_flop_per_context * many,
            )
        )
        return of_scheduled

    def _length(self, step: Step, tick: int) -> int:
        """Ticks until something happens; the last of them is the one in which it does."""
        parts = self.parts
        if step.again or not parts.running.decoding:
            return 1
        more = min(parts.running.first_end() - tick, MOST_TICKS - 1)
        ticks = 1 + parts.pool.ahead(tick, more)
        limit_s = parts.observer.until_s
        if not len(parts.line):
            limit_s = min(limit_s, parts.line.next_s)
        return parts.clock.until(limit_s, ticks) if limit_s < inf and ticks > 1 else ticks

    def _deliver(self, now_s: float) -> int:
        """Who sampled the last token in the latest tick is done; returns how many were."""
        parts, tick = self.parts, self.ticks - 1
        ended = parts.running.ended(tick)
        if not ended:
            return 0
        for job in parts.rules.released(ended):
            parts.pool.release(job, tick, now_s)
            self._stored -= job.final
        for job in ended:
            self._requests.completed(job, tick, now_s)
        self._ended += len(ended)
        if not len(parts.running):
            self._idle_since_s = now_s
        return len(ended)

    def _refuse(self, until_s: float) -> None:
        """Record who came until then and was not let in."""
        for row in self.parts.line.refused(until_s):
            self.parts.recorder.request(row)
            self._ended += 1

    def _sleep(self) -> Generator[simpy.Event, None, None]:
        """Wait for an arrival, then for the clock's next starting point."""
        yield self.env.at(self.parts.line.next_s)
        starts_s = self.parts.clock.start(self.env.now)
        if starts_s > self.env.now:
            yield self.env.at(starts_s)
        if starts_s > self._idle_since_s:
            self._rows.sleep(self._idle_since_s, starts_s - self._idle_since_s)
            self.parts.observer.passed(starts_s, 0, 0, self._ended)

    def _stall(self, step: Step) -> None:
        """Nothing can run, and nobody will ever give up: end the run and say why."""
        parts, head = self.parts, self.parts.line.head()
        assert head is not None  # somebody is here, and nobody runs
        self.stopped_because = stall_message(parts.policy, head.ask(), head.final, step.refusal)
        self._rows.stall(self.env.now, len(parts.line), parts.pool.fragmentation(), step.refusal)
        parts.observer.passed(self.env.now, 0, len(parts.line), self._ended)

    def _end(self) -> None:
        """The run is over: whoever is still here is unfinished."""
        parts, now_s = self.parts, self.env.now
        parts.line.arrive(now_s)
        self._rows.flush()
        self._refuse(now_s if self.stopped_because else inf)
        self._requests.flush()
        for job in chain(parts.running.jobs, parts.line.rest()):
            row = unfinished(job, self.ticks - 1, self.stopped_because, parts.pool)
            parts.recorder.request(row)
        parts.spans.end_all(now_s)
