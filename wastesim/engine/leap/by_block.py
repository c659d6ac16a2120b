"""Paged blocks under vLLM's scheduler: many who wait come in at once while memory lasts."""

from __future__ import annotations

import numpy as np

from wastesim.engine.leap.block_crowd import (
    Comers,
    Everybody,
    blocks_held,
    gather,
    rows,
    with_comers,
)
from wastesim.engine.leap.blocks import BlockPool
from wastesim.engine.leap.by_job import JobServer
from wastesim.engine.leap.crowd import FEWEST, MOST
from wastesim.engine.leap.job import Job
from wastesim.engine.leap.line import Line
from wastesim.engine.leap.requests import columns_of
from wastesim.engine.leap.rules import LeapVllm
from wastesim.engine.leap.running import Running
from wastesim.engine.leap.server import LeapParts
from wastesim.engine.simtime import SimTime
from wastesim.engine.vllm import VllmRules
from wastesim.records import Array

#: After crowds of hardly anybody, so many end at most before another is tried.
_LONGEST = 1 << 14


class BlockServer(JobServer):
    """What `by_job` does one at a time, for thousands where that can be."""

    def __init__(
        self,
        env: SimTime,
        parts: LeapParts,
        line: Line,
        running: Running,
        pool: BlockPool,
        rules: LeapVllm,
        limits: VllmRules,
    ) -> None:
        super().__init__(env, parts, line, running, pool, rules)
        self._blocks, self._vllm, self._limits = pool, rules, limits
        self._spare = pool.blocks(limits.watermark_cells)
        self._crowds = limits.enable_chunked_prefill and not self._bounded
        self._again = 0  # no crowd before so many have ended
        self._patience = FEWEST

    def stretch(self, now_s: float) -> float:
        """A crowd, or what happens to one at a time."""
        if self._crowds and self._line.waiting >= FEWEST and self.ended >= self._again:
            ends_s = self._crowd(now_s)
            if ends_s is not None:
                return ends_s
        return super().stretch(now_s)

    def _crowd(self, now_s: float) -> float | None:
        """Let many in at once; None if somebody is in between, or memory is short at once."""
        line, pool, limits, tick = self._line, self._blocks, self._limits, self.ticks
        if self._vllm.prefilling is not None or line.returned:
            return None
        taken, jobs = line.joined - line.waiting, list(self._running.jobs)
        before = _before(jobs, tick)
        free = [0] * (limits.max_num_seqs - len(jobs)) + (before.end + 1).tolist()
        entries = line.withdraw(min(line.waiting, MOST))
        comers = gather(entries, free, limits.max_num_seqs, limits.max_num_batched_tokens)
        everybody = with_comers(before, comers, pool.size)
        held = blocks_held(pool.taken, everybody, comers, pool.size)
        comers = self._while_memory_lasts(comers, held)
        line.give_back(entries[len(comers.entries) :])
        if not comers.ticks:
            return None
        n, everybody = comers.ticks, with_comers(before, comers, pool.size)
        found = rows(comers, everybody, held[:n], self.stored, self.parts.cost, pool.size)
        self.parts.rows.flush()
        ends_s = self.parts.clock.walk(found["moved_bytes"], found["flop"])
        t_s = np.append(now_s, ends_s[:-1])
        line.arrive(float(t_s[-1]))
        self.parts.rows.add_ticks(found, (t_s, ends_s), taken, 0)
        self.ticks = tick + n
        self._settle(jobs, comers, everybody, t_s, ends_s)
        return float(ends_s[-1])

    def _while_memory_lasts(self, comers: Comers, held: Array) -> Comers:
        """Those who come before blocks are so few that somebody might be refused.

        Where those are hardly any, memory is what holds people up, and will be for long as a rule:
        the next crowd is tried ever later.
        """
        pool = self._blocks
        margin = self._spare + pool.blocks(int(comers.prompt.max(initial=0)))
        short = np.flatnonzero(pool.num_blocks - held < margin)
        if short.size:
            comers = comers.until(int(short[0]))
        if len(comers.entries) >= FEWEST:
            self._patience = FEWEST
        else:
            self._again = self.ended + self._patience
            self._patience = min(2 * self._patience, _LONGEST)
        return comers

    def _settle(
        self, jobs: list[Job], comers: Comers, everybody: Everybody, t_s: Array, ends_s: Array
    ) -> None:
        """Who is done is done; the others run on as if they had come one by one."""
        self._hand_over(jobs, comers, everybody, t_s, ends_s)
        n, tick = comers.ticks, self.ticks - comers.ticks
        still = [job for job in jobs if job.end >= self.ticks]
        for i in np.flatnonzero(comers.end >= n).tolist():
            job = Job(comers.entries[i])
            start, sampled = int(comers.start[i]), int(comers.sampled[i])
            job.admitted_tick, job.admitted_s = tick + start, float(t_s[start])
            job.first_tick, job.first_s = tick + sampled, float(ends_s[sampled])
            job.end = tick + int(comers.end[i])
            job.pad = int(everybody.pad[len(jobs) + i])
            job.pad_tick = tick + int(everybody.pad_tick[len(jobs) + i])
            still.append(job)
        self._running.begin_anew(still, self.ticks)
        self._blocks.begin_anew(still, self.ticks)
        self.stored = self._running.stored
        if not still:
            self.all_done(float(ends_s[-1]))

    def _hand_over(
        self, jobs: list[Job], comers: Comers, everybody: Everybody, t_s: Array, ends_s: Array
    ) -> None:
        """Rows in order of their ends, and of admission where they end together."""
        over = np.flatnonzero(everybody.end < comers.ticks)
        old = [jobs[i] for i in over[over < len(jobs)]]
        for job in old:
            job.held = job.final + job.pad
        done = over[over >= len(jobs)] - len(jobs)
        new = _columns(comers, done, t_s, ends_s, self.ticks - comers.ticks)
        new["reserved_cells"] = new["stored_tokens"] + everybody.pad[len(jobs) + done]
        before = columns_of(old) if old else {name: column[:0] for name, column in new.items()}
        ends = everybody.end[over]
        order = np.argsort(ends, kind="stable")
        both = {name: np.append(before[name], column)[order] for name, column in new.items()}
        self._requests.flush()
        self._requests.hand_over(both, ends_s[ends[order]])
        self.ended += len(over)


def _before(jobs: list[Job], tick: int) -> Everybody:
    """Those that run, and decode from now on."""
    of_jobs = [(0, job.end - tick, job.final, job.pad, job.pad_tick - tick) for job in jobs]
    return Everybody(*np.array(of_jobs, dtype=np.int64).reshape(-1, 5).T)


def _columns(comers: Comers, done: Array, t_s: Array, ends_s: Array, tick: int) -> dict[str, Array]:
    """Of rows of requests, for those who are done."""
    entries = [comers.entries[i] for i in done.tolist()]
    request_id, arrival_s, _, _, truncated, *_ = zip(*entries, strict=True) if entries else [()] * 7
    start, sampled, nothing = comers.start[done], comers.sampled[done], np.zeros_like(done)
    return {
        "request_id": np.array(request_id, dtype=np.int64),
        "arrival_s": np.array(arrival_s, dtype=np.float64),
        "prompt_tokens": comers.prompt[done],
        "output_tokens": comers.outputs[done],
        "stored_tokens": comers.final[done],
        "truncated_tokens": np.array(truncated, dtype=np.int64),
        "preemptions": nothing,
        "scheduled_tokens": nothing,
        "admitted_s": t_s[start],
        "first_token_s": ends_s[sampled],
        "admitted_tick": start + tick,
        "first_token_tick": sampled + tick,
        "finished_tick": comers.end[done] + tick,
    }
