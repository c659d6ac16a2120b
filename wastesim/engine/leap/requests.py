"""From jobs to the rows of requests, many at once."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter

import numpy as np

from wastesim.engine.leap.job import Job
from wastesim.records import Array, Recorder, RequestRow

#: Rows are handed over when so many are ready, while the jobs are in a processor's cache.
CHUNK = 1 << 9


def unfinished(job: Job, tick: int, reason: str, cells: Callable[[Job, int], int]) -> RequestRow:
    """The row of a job that still waits or runs after `tick`, the last one."""
    generated, stored = job.generated, job.stored
    if job.end >= 0:
        left = job.end - tick
        generated, stored = job.outputs - left, job.final - left
    held = cells(job, stored) if stored else 0
    admitted, first = job.admitted_tick >= 0, job.first_tick >= 0
    return RequestRow(
        request_id=job.request_id,
        status="unfinished",
        reason=reason,
        arrival_s=job.arrival_s,
        prompt_tokens=job.prompt,
        output_tokens=job.outputs,
        truncated_tokens=job.truncated,
        generated_tokens=generated,
        stored_tokens=stored,
        reserved_cells=held,
        written_cells=stored,
        preemptions=job.preemptions,
        scheduled_tokens=job.scheduled + stored,
        admitted_s=job.admitted_s if admitted else None,
        first_token_s=job.first_s if first else None,
        finished_s=None,
        admitted_tick=job.admitted_tick if admitted else None,
        first_token_tick=job.first_tick if first else None,
        finished_tick=None,
    )


#: Columns of requests that are fields of jobs.
_SAME = {
    "request_id": "request_id",
    "arrival_s": "arrival_s",
    "prompt_tokens": "prompt",
    "output_tokens": "outputs",
    "stored_tokens": "final",
    "truncated_tokens": "truncated",
    "reserved_cells": "held",
    "preemptions": "preemptions",
    "scheduled_tokens": "scheduled",
    "admitted_s": "admitted_s",
    "first_token_s": "first_s",
    "admitted_tick": "admitted_tick",
    "first_token_tick": "first_tick",
    "finished_tick": "end",
}

_fields = attrgetter(*_SAME.values())


def columns_of(jobs: list[Job]) -> dict[str, Array]:
    """What jobs say of their rows; at least one must be there."""
    found = zip(*map(_fields, jobs), strict=True)
    return {name: np.array(values) for name, values in zip(_SAME, found, strict=True)}


class Requests:
    """One row per job that has ended."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._jobs: list[Job] = []
        self._finished_s: list[float] = []

    def completed(self, jobs: list[Job], now_s: float) -> None:
        """They sampled their last token in the tick that was over at `now_s`."""
        self._jobs += jobs
        self._finished_s += [now_s] * len(jobs)
        if len(self._jobs) >= CHUNK:
            self.flush()

    def flush(self) -> None:
        """Hand all rows over."""
        if not self._jobs:
            return
        jobs, finished_s = self._jobs, np.array(self._finished_s)
        self._jobs, self._finished_s = [], []
        self.hand_over(columns_of(jobs), finished_s)

    def hand_over(self, columns: dict[str, Array], finished_s: Array) -> None:
        """Rows of those that have ended, after all that were noted before."""
        outputs, final = columns["output_tokens"], columns["stored_tokens"]
        self._recorder.requests(
            {
                **columns,
                "status": np.full(len(outputs), "completed", dtype=object),
                "reason": np.full(len(outputs), "", dtype=object),
                "generated_tokens": outputs,
                "written_cells": final,
                "scheduled_tokens": columns["scheduled_tokens"] + final,
                "finished_s": finished_s,
            }
        )
