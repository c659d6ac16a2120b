"""Any policy under any scheduler: an object per running request, not touched by every tick."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from math import inf

from wastesim.engine.leap.closed import ClosedLine
from wastesim.engine.leap.line import Line
from wastesim.engine.leap.pool import LeapPool
from wastesim.engine.leap.requests import Requests, unfinished
from wastesim.engine.leap.rules import LeapRules, Step
from wastesim.engine.leap.running import Running
from wastesim.engine.leap.server import MOST_TICKS, LeapParts, LeapServer
from wastesim.engine.scheduler import Refusal
from wastesim.engine.simtime import SimTime
from wastesim.engine.stall import stall_message
from wastesim.records import RequestRow

#: What is noted of a stretch, before what the pool says of it.
FIELDS = (
    "ticks", "running", "scheduled", "prefill", "decoding", "contexts", "of_scheduled", "stored",
    "short", "waiting", "joined", "admitted", "preempted", "finished", "reserved_end",
)  # fmt: skip


class JobServer(LeapServer):
    """`rules` say who comes and goes in a stretch's first tick, `pool` how long memory lasts."""

    def __init__(
        self,
        env: SimTime,
        parts: LeapParts,
        line: Line,
        running: Running,
        pool: LeapPool,
        rules: LeapRules,
    ) -> None:
        super().__init__(env, parts)
        self._line = line
        self._running = running
        self._pool = pool
        self._rules = rules
        self._requests = Requests(parts.recorder)
        self._bounded = parts.observer.until_s < inf
        self._closed = line if isinstance(line, ClosedLine) else None

    @property
    def copied_tokens(self) -> int:
        """Stored tokens that had to move."""
        return self._pool.copied_tokens

    @property
    def double_residency_peak_cells(self) -> int:
        """The most that was held while something moved."""
        return self._pool.double_residency_peak_cells

    def running(self) -> int:
        """Those that prefill, too."""
        return len(self._running.jobs)

    def stretch(self, now_s: float) -> float:
        """Plan, compute, leap, deliver."""
        parts, tick, cost = self.parts, self.ticks, self.parts.cost
        running, pool, line = self._running, self._pool, self._line
        step = self._rules.plan(tick, now_s)
        decoding, prefill, sampled = step.decoding, step.prefill, step.sampled
        if not (decoding or prefill or step.preempted):
            return self._stall(step, now_s)
        running.stored = decoded = running.stored + decoding
        contexts, of_scheduled = step.contexts + decoded, decoded + step.before + prefill
        if sampled:
            running.decodes(sampled, tick)
            pool.joined(sampled, tick)
        stored, many = self.stored - step.lost + decoding + prefill, len(running.jobs)
        tokens, of_all = decoding + prefill, running.stored + many
        per_token, per_context = cost.kv_bytes_per_token, cost.attention_flop_per_context
        first_s = parts.clock.begin(
            (cost.weights_read_bytes if tokens else 0) + per_token * of_scheduled,
            cost.flop_per_token * tokens + per_context * contexts,
            cost.weights_read_bytes + per_token * of_all,
            cost.flop_per_token * many + per_context * of_all,
            per_token * many,
            per_context * many,
        )
        for job in sampled:
            if job.first_tick < 0:
                job.first_tick, job.first_s = tick, first_s
        shares = pool.shares()
        ticks = 1 if step.again or not running.decoding else self._length(tick)
        waiting, joined = line.waiting, line.joined
        ends_s = parts.clock.commit(ticks)
        at_end = stored
        if ticks > 1:
            pool.passed(tick, ticks - 1)
            grown = many * (ticks - 1)
            running.stored += grown
            at_end += grown
        self.ticks, self.stored = tick + ticks, at_end
        finished = self._deliver(ends_s)
        parts.rows.add(
            (
                ticks, many, decoding + step.prefills, prefill, decoding, contexts, of_scheduled,
                stored, step.refusal is Refusal.MEMORY, waiting, joined, step.admitted,
                step.preempted, finished, pool.reserved, *shares,
            )
        )  # fmt: skip
        return ends_s

    def unfinished(self) -> Iterator[RequestRow]:
        """Whoever runs, and whoever waits."""
        self._requests.flush()
        for job in chain(self._running.jobs, self._line.rest()):
            held = self._pool.held
            yield unfinished(job, self.ticks - 1, self.stopped_because, held)

    def _length(self, tick: int) -> int:
        """Ticks until something happens; the last of them is the one in which it does."""
        most = self._running.first_end() - tick
        most = 1 + self._pool.ahead(tick, most if most < MOST_TICKS else MOST_TICKS)
        if most == 1 or (self._line.waiting and not self._bounded):
            return most
        return self.length(most)

    def _deliver(self, now_s: float) -> int:
        """Who sampled the last token in the latest tick is done; returns how many were."""
        tick, running = self.ticks - 1, self._running
        if running.first_end() != tick:
            return 0
        ended = running.ended(tick)
        released = self._rules.released(ended)
        if released:
            self._pool.release(released, tick, now_s)
            for job in released:
                self.stored -= job.final
        self._requests.completed(ended, now_s)
        self.ended += len(ended)
        if self._closed is not None:  # at equal times, who was due comes before others are done
            self._closed.arrive(now_s)
            self._closed.left(len(ended), now_s)
        if not running.jobs:
            self.all_done(now_s)
        return len(ended)

    def _stall(self, step: Step, now_s: float) -> float:
        """Nothing can run, and nobody will ever give up: end the run and say why."""
        parts, head = self.parts, self._line.head
        assert head is not None  # somebody is here, and nobody runs
        self.stopped_because = stall_message(parts.policy, head.ask(), head.final, step.refusal)
        parts.rows.stall(now_s, parts.line.waiting, self._pool.fragmentation(), step.refusal)
        return now_s
