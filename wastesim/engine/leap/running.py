"""Who runs, and who ends when: jobs in order of their latest admission, ends by tick."""

from __future__ import annotations

import heapq

from wastesim.engine.leap.job import Job


class Running:
    """Jobs that decode have an `end`; at most those admitted last have none yet: they prefill."""

    def __init__(self) -> None:
        self.jobs: dict[Job, None] = {}
        self.decoding = 0
        self.stored = 0  # tokens of those that decode
        self._ends: dict[int, list[Job]] = {}
        self._ticks: list[int] = []  # a heap of the keys
        self._order = 0

    def enter(self, job: Job) -> None:
        """A job was admitted."""
        self._order += 1
        job.order = self._order
        self.jobs[job] = None

    def decodes(self, jobs: list[Job], tick: int) -> None:
        """In `tick` they have sampled a token; their next ones follow tick by tick."""
        ends = self._ends
        for job in jobs:
            job.end = end = tick + job.outputs - job.generated - 1
            self.stored += job.stored
            if end in ends:
                ends[end].append(job)
            else:
                ends[end] = [job]
                heapq.heappush(self._ticks, end)
        self.decoding += len(jobs)

    def begin_anew(self, jobs: list[Job], tick: int) -> None:
        """Before `tick` these decode, in order of admission, and nobody else is here."""
        self.jobs, self._ends = {}, {}
        for job in jobs:
            self.enter(job)
            self._ends.setdefault(job.end, []).append(job)
        self._ticks = sorted(self._ends)
        self.decoding = len(jobs)
        self.stored = sum(job.final - (job.end - tick + 1) for job in jobs)

    def newest(self) -> Job:
        """Who was admitted last."""
        return next(reversed(self.jobs))

    def first_end(self) -> int:
        """The next tick in which a job that decodes ends; -1 when none does."""
        ticks, ends = self._ticks, self._ends
        while ticks and not ends[ticks[0]]:
            del ends[heapq.heappop(ticks)]
        return ticks[0] if ticks else -1

    def ended(self, tick: int) -> list[Job]:
        """Who ends in `tick`, which is the next in which anybody does; they are gone."""
        ended = self._ends.pop(tick)
        heapq.heappop(self._ticks)
        for job in ended:
            del self.jobs[job]
            self.stored -= job.final
        self.decoding -= len(ended)
        return ended

    def evict(self, job: Job, tick: int) -> None:
        """It is preempted in `tick`, before that tick's token: it waits with what it generated."""
        del self.jobs[job]
        if job.end >= 0:
            left = job.end - tick + 1
            job.generated, job.stored = job.outputs - left, job.final - left
            self._ends[job.end].remove(job)
            self.decoding -= 1
            self.stored -= job.stored
