"""Sums over requests: what every number of a summary that is about requests follows from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from wastesim.records.rows import Array
from wastesim.records.sketch import Exact
from wastesim.records.sums import exact_sum

OUTSIDE = "outside"
LATENCIES = ("ttft_s", "tpot_s", "e2el_s")
_TIMES = ("arrival_s", "first_token_s", "finished_s")
#: Added up over completed requests.
SUMMED = (
    "prompt_tokens", "output_tokens", "generated_tokens", "stored_tokens", "scheduled_tokens",
)  # fmt: skip
#: Added up over those that ended, of their own accord or their clients'.
CELLS = ("reserved_cells", "written_cells")


class Values(Protocol):
    """Latencies, all of them or a sketch."""

    def add(self, values: Array) -> None:
        """Take values."""

    def mean(self) -> float | None:
        """None of nothing."""

    def quantiles(self, wanted: list[float]) -> list[float] | None:
        """None of nothing."""


def latencies(rows: dict[str, Array]) -> dict[str, Array]:
    """`ttft_s`, `tpot_s`, `e2el_s` of each completed request; tpot is NaN where O = 1."""
    done = rows["status"] == "completed"
    arrival, outputs = rows["arrival_s"][done], rows["output_tokens"][done]
    ttft = rows["first_token_s"][done] - arrival
    e2el = rows["finished_s"][done] - arrival
    tpot = np.full(len(outputs), np.nan)
    np.divide(e2el - ttft, outputs - 1, out=tpot, where=outputs > 1)
    return {"ttft_s": ttft, "tpot_s": tpot, "e2el_s": e2el}


def good(found: dict[str, Array], objectives: dict[str, float | None]) -> Array:
    """Which completed requests met every objective; None is none, NaN misses none."""
    met = np.ones(len(found["ttft_s"]), dtype=bool)
    for name, most in objectives.items():
        if most is not None:
            met &= ~(found[name] > most)
    return met


@dataclass
class RequestTotals:
    """Begins empty; `add` takes rows in any order, all at once or in chunks."""

    new_values: Callable[[], Values] = Exact
    objectives: dict[str, float | None] | None = None
    submitted: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    reasons: dict[str, dict[str, int]] = field(default_factory=dict)
    truncated: int = 0
    preempted: int = 0
    preemptions_most: int = 0
    generated_tokens: int = 0  # whatever became of the request
    completed: dict[str, int] = field(default_factory=lambda: dict.fromkeys(SUMMED, 0))
    ended: dict[str, int] = field(default_factory=lambda: dict.fromkeys(CELLS, 0))
    twice_written: int = 0  # o (2 p + o - 1), over completed requests
    first_arrival_s: float = np.inf
    last_arrival_s: float = -np.inf
    first_tokens: int = 0  # in the measured window
    newly_admitted: int = 0  # likewise: admissions less these follow a preemption
    good: int = 0
    latencies: dict[str, Values] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.latencies = {name: self.new_values() for name in LATENCIES}

    def add(self, rows: dict[str, Array], window: tuple[float, float] | None = None) -> None:
        """More requests; with a measured window, what happened in it is counted."""
        if not len(rows["status"]):
            return
        self.submitted += len(rows["status"])
        self.generated_tokens += exact_sum(rows["generated_tokens"])
        self.first_arrival_s = min(self.first_arrival_s, float(rows["arrival_s"].min()))
        self.last_arrival_s = max(self.last_arrival_s, float(rows["arrival_s"].max()))
        self._add_statuses(rows)
        done = rows["status"] == "completed"
        ended = done | (rows["status"] == "cancelled")
        for name in CELLS:
            self.ended[name] += exact_sum(rows[name][ended])
        self._add_completed({name: rows[name][done] for name in ("status", *SUMMED, *_TIMES)})
        if window is not None:
            self._add_events(rows, *window)

    def _add_statuses(self, rows: dict[str, Array]) -> None:
        status = rows["status"]
        self.statuses.update(status.tolist())
        for kind, why in zip(status.tolist(), rows["reason"].tolist(), strict=True):
            if why:
                by_reason = self.reasons.setdefault(kind, {})
                by_reason[why] = by_reason.get(why, 0) + 1
        counts = status != OUTSIDE
        lost = rows["preemptions"][counts]
        self.truncated += int((rows["truncated_tokens"][counts] > 0).sum())
        self.preempted += int((lost > 0).sum())
        self.preemptions_most = max(self.preemptions_most, int(lost.max(initial=0)))

    def _add_completed(self, done: dict[str, Array]) -> None:
        for name in SUMMED:
            self.completed[name] += exact_sum(done[name])
        p, o = done["prompt_tokens"], done["output_tokens"]
        self.twice_written += exact_sum(o * (2 * p + o - 1))
        found = latencies(done)
        for name, values in found.items():
            self.latencies[name].add(values[~np.isnan(values)])
        if self.objectives is not None:
            self.good += int(good(found, self.objectives).sum())

    def _add_events(self, rows: dict[str, Array], begin_s: float, end_s: float) -> None:
        first, admitted = rows["first_token_s"], rows["admitted_s"]
        self.first_tokens += int(((first > begin_s) & (first <= end_s)).sum())
        self.newly_admitted += int(((admitted >= begin_s) & (admitted < end_s)).sum())
