"""The schedulers again, for jobs that decode together: what happens in a stretch's first tick.

`scheduler.py` and `vllm.py` say the same rules one request at a time, and are the reference.
"""

from __future__ import annotations

from typing import Protocol

from wastesim.engine.leap.job import Job
from wastesim.engine.leap.line import Line
from wastesim.engine.leap.pool import LeapPool
from wastesim.engine.leap.running import Running
from wastesim.engine.scheduler import Refusal
from wastesim.engine.vllm import VAIN_PREEMPTIONS, VllmRules


class Step:
    """What the first tick of a stretch does.

    Of its prefills `prefill` is the number of tokens, `contexts` the attended ones, `before` those
    stored already; `sampled` are those that came to their end.  Preempted ones lost `lost` stored
    tokens.  With `again` the next tick has to be planned anew.
    """

    admitted = preempted = prefill = prefills = contexts = before = decoding = lost = 0
    refusal = Refusal.NONE
    again = False

    def __init__(self) -> None:
        self.sampled: list[Job] = []

    def compute(self, job: Job, new: int) -> None:
        """So many tokens of a prompt; whoever has all of them stored samples."""
        stored = job.stored
        self.prefills += 1
        self.prefill += new
        self.contexts += new * stored + new * (new + 1) // 2
        self.before += stored
        job.stored = stored = stored + new
        if stored == job.prompt + job.generated:
            self.sampled.append(job)


class LeapRules(Protocol):
    """A scheduler over jobs."""

    def plan(self, tick: int, now_s: float) -> Step:
        """Who comes and goes in `tick`, and what is computed beside the decoding ones."""

    def released(self, ended: list[Job]) -> list[Job]:
        """Of those that ended, and ended before, whose memory is given back."""


class LeapOrca:
    """As `scheduler.Orca`; with `batches` as `scheduler.Static`."""

    def __init__(
        self,
        line: Line,
        running: Running,
        pool: LeapPool,
        max_num_seqs: int,
        max_num_batched_tokens: int | None,
        *,
        batches: bool,
    ) -> None:
        self._line = line
        self._running = running
        self._pool = pool
        self._most = max_num_seqs
        self._budget = max_num_batched_tokens
        self._batches = batches
        self._lingering: list[Job] = []

    def plan(self, tick: int, now_s: float) -> Step:
        """Admissions from the head of the line."""
        step, jobs = Step(), self._running.jobs
        step.decoding = len(jobs)
        if self._batches and step.decoding:
            step.refusal = Refusal.BATCH if self._line.waiting else Refusal.NONE
            return step
        left = None if self._budget is None else self._budget - step.decoding
        line, pool = self._line, self._pool
        while (job := line.head) is not None:
            if len(jobs) >= self._most:
                step.refusal = Refusal.MAX_NUM_SEQS
            elif left is not None and job.prompt > left:
                step.refusal = Refusal.TOKEN_BUDGET
                step.again = step.admitted > 0  # without prompts the next tick has more to spend
            elif not pool.fits(job, job.prompt):
                step.refusal = Refusal.MEMORY
            else:
                line.take()
                pool.admit(job, job.prompt, tick, now_s)
                self._running.enter(job)
                step.admitted += 1
                step.compute(job, job.prompt)
                if job.admitted_tick < 0:
                    job.admitted_tick, job.admitted_s = tick, now_s
                left = None if left is None else left - job.prompt
                continue
            step.again = step.again or self._batches  # from then on it is the batch that refuses
            break
        return step

    def released(self, ended: list[Job]) -> list[Job]:
        """At once; of a batch, when all are done."""
        if not self._batches:
            return ended
        self._lingering += ended
        if self._running.jobs:
            return []
        done, self._lingering = self._lingering, []
        return done


class LeapVllm:
    """As `vllm.Vllm`, first come first served, without a threshold for long prefills."""

    def __init__(self, line: Line, running: Running, pool: LeapPool, rules: VllmRules) -> None:
        self._line = line
        self._running = running
        self._pool = pool
        self._rules = rules
        self.prefilling: Job | None = None  # whose prompt is begun and not done
        self._tick = 0
        self._now_s = 0.0
        self._preempted = self._lost = 0
        self._vain_victim: Job | None = None
        self._vain = 0

    def plan(self, tick: int, now_s: float) -> Step:
        """One step's work."""
        self._tick, self._now_s, self._preempted, self._lost = tick, now_s, 0, 0
        step, running = Step(), self._running
        self._pool.serve(tick, now_s, self._preempt_for_decode)
        step.decoding = running.decoding
        left = self._rules.max_num_batched_tokens - running.decoding
        if self.prefilling is not None:
            left = self._go_on(step, self.prefilling, left)
        if self._preempted:
            step.preempted, step.lost = self._preempted, self._lost
            step.refusal = Refusal.MEMORY
            step.again = True
        elif self._line.head is not None:
            self._admit(step, left)
        return step

    def released(self, ended: list[Job]) -> list[Job]:
        """At once."""
        return ended

    def _go_on(self, step: Step, job: Job, left: int) -> int:
        """The prompt that was begun and is not done; it is the newest of all."""
        if left <= 0:
            step.again = True
            return left
        new = min(job.known - job.stored, left)
        if not self._pool.make_room(job, job.stored + new, self._tick, self._now_s):
            self._note_vain(job)
            self._preempt()
            return left
        step.compute(job, new)
        self.prefilling = None if job.stored == job.known else job
        step.again = self.prefilling is not None
        return left - new

    def _admit(self, step: Step, left: int) -> None:
        """From the head of the line; the first failure ends it."""
        line, pool, running, tick = self._line, self._pool, self._running, self._tick
        jobs, rules = running.jobs, self._rules
        whole, chunked = rules.scheduler_reserve_full_isl, rules.enable_chunked_prefill
        while (job := line.head) is not None:
            known = job.prompt + job.generated
            new = known if known < left else left
            if len(jobs) >= rules.max_num_seqs:
                step.refusal = Refusal.MAX_NUM_SEQS
            elif job is self._vain_victim and self._vain >= VAIN_PREEMPTIONS:
                step.refusal = Refusal.MEMORY
            elif left <= 0 or (new < known and not chunked):
                step.refusal = Refusal.TOKEN_BUDGET
                step.again = step.again or step.prefill > 0  # of which the next tick has none
            elif not pool.fits(job, new, rules.watermark_cells if jobs else 0, whole=whole):
                step.refusal = Refusal.MEMORY
            else:
                line.take()
                pool.admit(job, new, tick, self._now_s)
                running.enter(job)
                step.admitted += 1
                step.compute(job, new)
                left -= new
                if job.admitted_tick < 0:
                    job.admitted_tick, job.admitted_s = tick, self._now_s
                if new < known:
                    self.prefilling, step.again = job, True
                continue
            return

    def _preempt_for_decode(self) -> Job:
        """The newest gives way; the pool asks until there is room."""
        self._note_vain(self._running.newest())
        return self._preempt()

    def _preempt(self) -> Job:
        job, tick = self._running.newest(), self._tick
        self._pool.evict(job, tick, self._now_s)
        self._running.evict(job, tick)
        self._lost += job.stored
        job.scheduled += job.stored
        job.held = 0
        job.stored, job.end = 0, -1
        job.preemptions += 1
        if job is self.prefilling:
            self.prefilling = None
        self._line.come_back(job)
        self._preempted += 1
        return job

    def _note_vain(self, victim: Job) -> None:
        """Count how often a job that had all memory to itself gave way to itself."""
        if len(self._running.jobs) > 1:
            return
        again = victim is self._vain_victim and victim.end < 0
        self._vain_victim, self._vain = victim, self._vain + 1 if again else 0
