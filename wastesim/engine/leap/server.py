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
from wastesim.engine.leap.clocks import LeapClock
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
        self._watched = type(parts.observer) is not Observer
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
        env, line, running = self.env, self.parts.line, self.parts.running
        while not self.stopped_because:
            line.arrive(env.now)
            if line.refused_s <= env.now:
                self._refuse(env.now)
            if running.jobs or line.waiting:
                ends_s = self._stretch(env.now)
                if not env.pass_to(ends_s):
                    yield env.at(ends_s)
                if self._watched:
                    self._ask(ends_s)
            elif line.next_s < inf:
                yield from self._sleep()
            else:
                break
        self._end()

    def _stretch(self, now_s: float) -> float:
        """A tick as it is planned, and all those after it in which nothing happens; its end."""
        parts, tick = self.parts, self.ticks
        running, pool, line = parts.running, parts.pool, parts.line
        step = parts.rules.plan(tick, now_s)
        decoding, prefill = step.decoding, step.prefill
        if not (decoding or prefill or step.preempted):
            return self._stall(step, now_s)
        of_scheduled = self._begin(step, tick)
        stored = self._stored - step.lost + decoding + prefill
        many, reserved = len(running.jobs), pool.reserved
        ticks = self._length(step, tick)
        for job in step.sampled:
            if job.first_tick < 0:
                job.first_tick, job.first_s = tick, parts.clock.end(1)
        ends_s = parts.clock.commit(ticks)
        before = (
            ticks, many, decoding + step.prefills, prefill, decoding, step.contexts, of_scheduled,
            stored, reserved, pool.unused, pool.padding, step.refusal is Refusal.MEMORY,
            line.waiting, line.joined, step.admitted, step.preempted, *pool.fragmentation(),
        )  # fmt: skip
        if ticks > 1:
            pool.passed(tick, ticks - 1)
            running.stored += many * (ticks - 1)
            stored += many * (ticks - 1)
        self.ticks, self._stored = tick + ticks, stored
        finished = self._deliver(ends_s)
        self._rows.add((*before, finished, pool.reserved))
        return ends_s

    def _begin(self, step: Step, tick: int) -> int:
        """Tell the clock what ticks cost; returns tokens stored of those with work in the first."""
        running, pool, cost = self.parts.running, self.parts.pool, self.parts.cost
        running.stored += step.decoding
        of_scheduled = running.stored + step.before + step.prefill
        step.contexts += running.stored
        for job in step.sampled:
            running.decodes(job, tick)
            pool.joined(job, tick)
        tokens, many = step.decoding + step.prefill, len(running.jobs)
        of_all = running.stored + many
        weights, per_token = cost.weights_read_bytes, cost.kv_bytes_per_token
        flop, per_context = cost.flop_per_token, cost.attention_flop_per_context
        self.parts.clock.begin(
            (weights if tokens else 0) + per_token * of_scheduled,
            flop * tokens + per_context * step.contexts,
            weights + per_token * of_all,
            flop * many + per_context * of_all,
            per_token * many,
            per_context * many,
        )
        return of_scheduled

    def _length(self, step: Step, tick: int) -> int:
        """Ticks until something happens; the last of them is the one in which it does."""
        parts = self.parts
        if step.again or not parts.running.decoding:
            return 1
        more = min(parts.running.first_end() - tick, MOST_TICKS - 1)
        ticks = 1 + parts.pool.ahead(tick, more)
        if ticks == 1:
            return 1
        limit_s = parts.observer.until_s
        if not parts.line.waiting and parts.line.next_s < limit_s:
            limit_s = parts.line.next_s
        return parts.clock.until(limit_s, ticks) if limit_s < inf else ticks

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
        if not parts.running.jobs:
            self._idle_since_s = now_s
        return len(ended)

    def _ask(self, now_s: float) -> None:
        """Somebody looks on: tell where the run is, and ask whether it is to stop."""
        parts = self.parts
        parts.observer.passed(now_s, len(parts.running.jobs), parts.line.waiting, self._ended)
        if parts.observer.should_stop():
            self.stopped_because = "the run was stopped"

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

    def _stall(self, step: Step, now_s: float) -> float:
        """Nothing can run, and nobody will ever give up: end the run and say why."""
        parts, head = self.parts, self.parts.line.head
        assert head is not None  # somebody is here, and nobody runs
        self.stopped_because = stall_message(parts.policy, head.ask(), head.final, step.refusal)
        self._rows.stall(now_s, parts.line.waiting, parts.pool.fragmentation(), step.refusal)
        return now_s

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
