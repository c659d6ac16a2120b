"""Two runs beside each other: their differences, paired where both served the same requests.

Requests that are the same in both are paired one by one, and levels window by window, so that
what both share (a long prompt, a busy minute) cancels.  Differences are second minus first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from wastesim.records import Array, Records
from wastesim.statistics.batches import BATCHES, FEWEST, of_series
from wastesim.statistics.intervals import LEVEL, Interval, of_mean
from wastesim.statistics.series import Window, integrals, latencies, output_tokens, reserved
from wastesim.statistics.steadiness import steady_part


class Difference(NamedTuple):
    """Of one number: `how` says what was paired."""

    name: str
    first: float | None
    second: float | None
    found: Interval
    how: str


def same_requests(one: Records, other: Records) -> bool:
    """Whether both were given the same requests at the same times, as far as there are rows."""
    if one.totals.requests.submitted != other.totals.requests.submitted:
        return False
    a, b = _common_rows(one, other)
    names = ("request_id", "arrival_s", "prompt_tokens")
    return all(np.array_equal(one.requests[n][a], other.requests[n][b]) for n in names)


def differences(one: Records, other: Records, level: float = LEVEL) -> list[Difference]:
    """Of latencies by request and of levels by window; empty where nothing can be paired."""
    if not same_requests(one, other):
        return []
    return [*_by_request(one, other, level), *_by_window(one, other, level)]


def common_window(one: Records, other: Records) -> Window | None:
    """The time in which both are steady."""
    first, second = steady_part(one).window, steady_part(other).window
    if first is None or second is None:
        return None
    window = Window(max(first.from_s, second.from_s), min(first.until_s, second.until_s))
    return window if window.length_s > 0 else None


def _common_rows(one: Records, other: Records) -> tuple[Array, Array]:
    """Rows of the same requests: all, or those that were drawn where a run was streamed."""
    a, b = one.requests["request_id"], other.requests["request_id"]
    if one.streamed is None and other.streamed is None:
        return np.arange(len(a)), np.arange(len(b))
    _, ours, theirs = np.intersect1d(a, b, assume_unique=True, return_indices=True)
    return ours, theirs


def _by_request(one: Records, other: Records, level: float) -> Iterator[Difference]:
    ours, theirs = _common_rows(one, other)
    done = one.requests["status"][ours] == "completed"
    done &= other.requests["status"][theirs] == "completed"
    ours, theirs = ours[done], theirs[done]
    order = np.argsort(one.requests["arrival_s"][ours], kind="stable")
    first, second = latencies(one, ours[order]), latencies(other, theirs[order])
    sampled = max(one.requests_per_row, other.requests_per_row) > 1
    kind = "drawn from all and paired; summaries are of all" if sampled else "paired"
    for name in first:
        known = ~(np.isnan(first[name]) | np.isnan(second[name]))
        a, b = first[name][known], second[name][known]
        found = of_series(b - a, level)
        how = f"{len(a):,} requests that both completed, {kind}"
        yield Difference(f"latency.{name}.mean", _mean(a), _mean(b), found, how)


def _by_window(one: Records, other: Records, level: float) -> Iterator[Difference]:
    window = common_window(one, other)
    if window is None:
        return
    edges = window.edges(BATCHES)
    how = f"{BATCHES} windows of {window.length_s / BATCHES:,.4g} s, paired"
    for name, first in _levels(one, edges).items():
        a, b = first, _levels(other, edges)[name]
        known = ~(np.isnan(a) | np.isnan(b))
        if known.sum() >= FEWEST:
            found = of_mean((b - a)[known], level, correlated=True)
            yield Difference(name, _mean(a[known]), _mean(b[known]), found, how)


def _levels(records: Records, edges: Array) -> dict[str, Array]:
    """Each window's levels; NaN where nothing was reserved."""
    seconds, ticks = np.diff(edges), records.ticks
    written = integrals(records, ticks["written"], edges)
    held = integrals(records, reserved(records), edges)
    ratio = np.divide(written, held, out=np.full(len(held), np.nan), where=held > 0)
    cells = records.facts.capacity_cells * seconds
    return {
        "memory.written_over_reserved.time": ratio,
        "memory.shares_of_pool.time.written": written / cells,
        "concurrency.mean": integrals(records, ticks["running"], edges) / seconds,
        "throughput.output_tokens_per_s": output_tokens(records, edges) / seconds,
    }


def _mean(values: Array) -> float | None:
    return float(values.mean()) if len(values) else None
