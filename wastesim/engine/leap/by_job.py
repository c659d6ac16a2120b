"""Any policy under any scheduler: an object per running request, not touched by every tick."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from wastesim.engine.leap.closed import ClosedLine
from wastesim.engine.leap.line import Line
from wastesim.engine.leap.pool import LeapPool
from wastesim.engine.leap.rules import LeapRules, Step
from wastesim.engine.leap.running import Running
from wastesim.engine.leap.server import MOST_TICKS, LeapParts, LeapServer
from wastesim.engine.leap.tables import Requests, unfinished
from wastesim.engine.scheduler import Refusal
from wastesim.engine.simtime import SimTime
from wastesim.engine.stall import stall_message
from wastesim.records import RequestRow


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
        self._closed = line if isinstance(line, ClosedLine) else None

    @property
    def copied_tokens(self) -> int:  # type: ignore[override]
        """Stored tokens that had to move."""
        return self._pool.copied_tokens

    @property
    def double_residency_peak_cells(self) -> int:  # type: ignore[override]
        """The most that was held while something moved."""
        return self._pool.double_residency_peak_cells

    def running(self) -> int:
        """Those that prefill, too."""
        return len(self._running.jobs)

    def stretch(self, now_s: float) -> float:
        """Plan, compute, leap, deliver."""
        parts, tick = self.parts, self.ticks
        running, pool, line = self._running, self._pool, self._line
        step = self._rules.plan(tick, now_s)
        decoding, prefill = step.decoding, step.prefill
        if not (decoding or prefill or step.preempted):
            return self._stall(step, now_s)
        of_scheduled, first_s = self._begin(step, tick)
        stored = self.stored - step.lost + decoding + prefill
        many, reserved = len(running.jobs), pool.reserved
        ticks = self._length(step, tick)
        for job in step.sampled:
            if job.first_tick < 0:
                job.first_tick, job.first_s = tick, first_s
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
        self.ticks, self.stored = tick + ticks, stored
        finished = self._deliver(ends_s)
        parts.rows.add((*before, finished, pool.reserved))
        return ends_s

    def unfinished(self) -> Iterator[RequestRow]:
        """Whoever runs, and whoever waits."""
        self._requests.flush()
        for job in chain(self._running.jobs, self._line.rest()):
            held = self._pool.held
            yield unfinished(job, self.ticks - 1, self.stopped_because, held)

    def _begin(self, step: Step, tick: int) -> tuple[int, float]:
        """Tell the clock what ticks cost; returns of the first one the tokens stored of those with
        work, and its end.
        """
        running, pool, cost = self._running, self._pool, self.parts.cost
        running.stored += step.decoding
        of_scheduled = running.stored + step.before + step.prefill
        step.contexts += running.stored
        if step.sampled:
            running.decodes(step.sampled, tick)
            pool.joined(step.sampled, tick)
        tokens, many = step.decoding + step.prefill, len(running.jobs)
        of_all = running.stored + many
        weights, per_token = cost.weights_read_bytes, cost.kv_bytes_per_token
        flop, per_context = cost.flop_per_token, cost.attention_flop_per_context
        first_s = self.parts.clock.begin(
            (weights if tokens else 0) + per_token * of_scheduled,
            flop * tokens + per_context * step.contexts,
            weights + per_token * of_all,
            flop * many + per_context * of_all,
            per_token * many,
            per_context * many,
        )
        return of_scheduled, first_s

    def _length(self, step: Step, tick: int) -> int:
        """Ticks until something happens; the last of them is the one in which it does."""
        if step.again or not self._running.decoding:
            return 1
        most = self._running.first_end() - tick
        return self.length(1 + self._pool.ahead(tick, min(most, MOST_TICKS)))

    def _deliver(self, now_s: float) -> int:
        """Who sampled the last token in the latest tick is done; returns how many were."""
        tick = self.ticks - 1
        ended = self._running.ended(tick)
        if not ended:
            return 0
        released = self._rules.released(ended)
        self._pool.release(released, tick, now_s)
        for job in released:
            self.stored -= job.final
        self._requests.completed(ended, now_s)
        self.ended += len(ended)
        if self._closed is not None:  # at equal times, who was due comes before others are done
            self._closed.arrive(now_s)
            self._closed.left(len(ended), now_s)
        if not self._running.jobs:
            self.all_done(now_s)
        return len(ended)

    def _stall(self, step: Step, now_s: float) -> float:
        """Nothing can run, and nobody will ever give up: end the run and say why."""
        parts, head = self.parts, self._line.head
        assert head is not None  # somebody is here, and nobody runs
        self.stopped_because = stall_message(parts.policy, head.ask(), head.final, step.refusal)
        parts.rows.stall(now_s, parts.line.waiting, self._pool.fragmentation(), step.refusal)
        return now_s
